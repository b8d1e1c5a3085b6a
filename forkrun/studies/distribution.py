"""`forkrun measure distribution`: utilization and dispersion of real children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from forkrun.base.quantities import percent, plural, seconds
from forkrun.config.model import JobConfig
from forkrun.monitoring.report.children import measure_balance
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.jobs import EndedJob, run_way
from forkrun.studies.frame.repeats import Row, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study, published

GUIDED, LUMI, MAX = "guided", "lumi", "contiguous (N = max)"
COLUMNS = (
    Column("utilization", "utilization", "share"),
    Column("dispersion", "dispersion", "share"),
    Column("first_s", "first child ends", "time"),
    Column("last_s", "last child ends", "time"),
    Column("n_stretches", "stretches", "count"),
    Column("times", "bytes × fewest", "ratio"),
)
FIRST_LARGE = "utilization, large events first"


def measure_distribution(
    config: JobConfig, folder: Path, turns: Sequence[int], n_repeats: int, *, quiet: bool
) -> Study:
    """Runs the job with its children, in each distribution. `turns`: events per turn of
    round-robin; `folder`: for the runs. Raises the job's errors."""
    runs: dict[str, list[EndedJob]] = {}

    def once(name: str, settings: Sequence[str]) -> Mapping[str, float]:
        runs.setdefault(name, []).append(run_way(config, folder, settings))
        return _values(runs[name][-1])

    ways = {name: partial(once, name, settings) for name, settings in _settings(turns).items()}
    rows, load = measure_ways(ways, n_repeats, quiet=quiet)
    fewest = min(row["bytes"] for row in rows.values()) or 1.0
    rows = {name: row.with_ratio("times", "bytes", fewest) for name, row in rows.items()}
    durations = {name: _durations(of_way) for name, of_way in runs.items()}
    ends = {name: [child.end_s for child in of[-1].children] for name, of in runs.items()}
    return Study(
        "distribution", config.job.name, COLUMNS, rows, load, _conclusions(rows), _remarks(config),
        _figures(rows, turns), _plot(config, rows, durations),
        {"processing_s": durations, "end_s": ends},
    )  # fmt: skip


def name_of(turn: int) -> str:
    """Name of a way: `round-robin, N = 1`."""
    return f"round-robin, N = {turn}"


def _settings(turns: Sequence[int]) -> dict[str, list[str]]:
    fixed = {GUIDED: "guided", LUMI: "lumi", MAX: "contiguous"}
    ways = {name: [f"forking.distribution={how}"] for name, how in fixed.items()}
    for turn in turns:
        settings = ["forking.distribution=round-robin", f"forking.events_per_turn={turn}"]
        ways[name_of(turn)] = settings
    return ways


def _values(ran: EndedJob) -> dict[str, float]:
    balance = measure_balance([ran.children])
    times, ends = balance.processing_times, balance.end_times
    begin_s = min((c.first_event_s for c in ran.children if c.first_event_s is not None), default=0)
    values = {
        "utilization": balance.utilization or 0.0,
        "dispersion": (times.relative_std if times else None) or 0.0,
        "n_stretches": len(ran.records.ledger),
        "bytes": ran.read_bytes,
    }
    return {
        **values,
        **({"first_s": ends.min_s - begin_s, "last_s": ends.max_s - begin_s} if ends else {}),
    }


def _durations(runs: Sequence[EndedJob]) -> list[float]:
    """Processing time of each child, the median of the repeats [s]."""
    each = zip(*([child.processing_s for child in ran.children] for ran in runs), strict=False)
    return [median(times) for times in each]


def _remarks(config: JobConfig) -> list[str]:
    children = plural(config.forking.children, "child")
    return [
        f"{children}. Utilization: sum of their processing times over the longest, over their"
        " number; dispersion: standard deviation of these times over their mean. Ends: since the"
        " first event"
    ]


def _conclusions(rows: Mapping[str, Row]) -> list[str]:
    best = max(rows.values(), key=lambda row: row["utilization"])
    soonest = min(rows.values(), key=lambda row: row["last_s"])
    return [
        f"{best.name} keeps children busiest: utilization {percent(best['utilization'])}",
        f"{soonest.name} ends first: after {seconds(soonest['last_s'])} s",
    ]


def _figures(rows: Mapping[str, Row], turns: Sequence[int]) -> list[Figure]:
    whole = rows[MAX]["utilization"]
    samples = ("high-pt QCD", "tt̄", "minimum bias")
    figures = [Figure.of("P1.7", f"utilization, {name}, N = max", whole) for name in samples]
    figures.append(Figure.of("P1.8", f"{FIRST_LARGE}, N = max", whole))
    if 1 in turns:
        single = rows[name_of(1)]["utilization"]
        figures.append(Figure.of("P1.8", f"{FIRST_LARGE}, N = 1", single))
    return figures


def _plot(config: JobConfig, rows: Mapping[str, Row], durations: Mapping[str, list[float]]) -> Plot:
    """Processing time of each child relative to the longest, in order; the mean of a curve is the
    utilization, which has published values."""
    curves = []
    for name, row in rows.items():
        times = sorted(durations[name], reverse=True)
        longest = times[0] or 1.0
        points = [(float(n + 1), time_s / longest) for n, time_s in enumerate(times)]
        curves.append(Curve(f"{name}: mean {row['utilization']:.2f}", points))
    n_children = float(max(len(times) for times in durations.values()))
    for name in ("N = max", "N = 1"):
        value = published("P1.8", f"{FIRST_LARGE}, {name}").value
        points = [(1.0, value), (n_children, value)]
        curves.append(Curve(f"CMS 2010, {name}: mean {value:.2f}", points, theirs=True))
    children = plural(config.forking.children, "child")
    return Plot(
        "Processing time of the children", f"{config.job.name}, {children}",
        "children, the longest first", "time, relative to the longest", curves,
    )  # fmt: skip
