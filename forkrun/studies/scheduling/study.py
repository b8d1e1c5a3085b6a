"""`forkrun measure scheduling`: ratios between ways of running the same modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from forkrun.base.quantities import percent
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.published import published
from forkrun.studies.frame.repeats import Row, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study
from forkrun.studies.replay.model import ReplayJob
from forkrun.studies.scheduling.ways import THREADS, Sizes, ways

COLUMNS = (
    Column("rate", "events/s", "rate"),
    Column("cpu", "CPUs used", "ratio"),
    Column("speedup", "speed-up", "ratio"),
    Column("of_path", "of the critical path", "share"),
    Column("time_s", "time", "time"),
)


class Ratio(Struct, frozen=True):
    """Ratio of two ways: `best` is the value for an ideal scheduler on idle cores."""

    name: str
    value: float
    best: float


_RATIOS: tuple[tuple[str, str, str, str, float], ...] = (
    ("empty modules: tasks, one thread", "empty:\ntasks", "empty: 1 × 1", "empty: serial", 1),
    ("empty modules: an idle thread", "empty:\nidle", "empty: 2 × 1", "empty: 1 × 1", 1),
    ("empty modules: two threads, two events", "empty:\n2 × 2", "empty: 2 × 2", "empty: 1 × 1", 2),
    ("no work: tasks, one thread", "", "no work: 1 × 1", "no work: serial", 1),
    ("no work: an idle thread", "", "no work: 2 × 1", "no work: 1 × 1", 1),
    ("no work: two threads, two events", "", "no work: 2 × 2", "no work: 1 × 1", 2),
    ("busy: two threads, two events", "busy:\n2 × 2", "busy: 2 × 2", "busy: serial", 2),
    ("busy: coroutines", "busy:\ncorout.", "busy: 2 × 2, coroutines", "busy: 2 × 2", 1),
    ("busy: all modules unsafe", "busy:\nunsafe", "busy: 2 × 2, all unsafe", "busy: serial", 1),
    ("ten sleeping: 15 threads", "10 ev.\n15 thr.", "ten sleeping: 15 threads",
     "ten sleeping: 80 threads", 1),
    ("ten sleeping: 20 threads", "10 ev.\n20 thr.", "ten sleeping: 20 threads",
     "ten sleeping: 80 threads", 1),
)  # fmt: skip
"""Name, label in the plot (omitted if empty), the way, the way compared with, the best possible
ratio."""
_OF_PATH = "one sleeping: of the critical path"


def ratios(rows: Sequence[Row]) -> dict[str, Ratio]:
    """All ratios of the study, by name."""
    by_name = {row.name: row for row in rows}
    found = [
        Ratio(name, by_name[way]["rate"] / by_name[other]["rate"], best)
        for name, _, way, other, best in _RATIOS
    ]
    found.append(Ratio(_OF_PATH, by_name["one sleeping: 40 threads"]["of_path"], 1))
    return {ratio.name: ratio for ratio in found}


def idle_cpu(rows: Sequence[Row]) -> float:
    """CPU time divided by wall time of eight threads with one sleeping event: they only wait."""
    return next(row for row in rows if row.name == "one sleeping: 8 threads")["cpu"]


def measure_scheduling(
    job: ReplayJob, sizes: Sizes, n_repeats: int, *, quiet: bool = False
) -> Study:
    """Measures all ways. `job`: provides graph and times of the modules. Raises ConfigError and
    JobError."""
    rows, load = measure_ways(ways(job, sizes), n_repeats, quiet=quiet)
    by_name = {row.name: row for row in rows}
    found = ratios(rows)
    return Study(
        "scheduling", job.name, COLUMNS, rows, load,
        [f"{ratio.name}: {ratio.value:.2f} of {ratio.best:g}" for ratio in found.values()],
        [
            "N × M: threads × events in flight. empty: a filter and three producers; no work: all"
            " modules of the job; busy, sleeping: these take (parts of) their times. Of the"
            " critical path: the least time that any number of threads takes, over the time",
            f"eight threads that wait use {percent(idle_cpu(rows))} of one CPU",
        ],
        _figures(by_name, found), _plot(job, found),
    )  # fmt: skip


def _figures(by_name: Mapping[str, Row], found: Mapping[str, Ratio]) -> list[Figure]:
    values: list[tuple[str, str, Callable[[], float]]] = [
        ("P4.4", "empty modules, single-threaded", lambda: by_name["empty: serial"]["rate"]),
        ("P4.4", "empty modules, TBB", lambda: by_name["empty: 1 × 1"]["rate"]),
        ("P4.4", "empty modules, TBB over single-threaded",
         lambda: found["empty modules: tasks, one thread"].value),
        ("P2.1", "thread-unsafe over single-threaded",
         lambda: found["busy: all modules unsafe"].value),
        ("P2.1", "re-entrant over single-threaded, 16 events",
         lambda: found["busy: two threads, two events"].value / 2),
        ("P2.4", "measured speed-up", lambda: by_name["one sleeping: 40 threads"]["speedup"]),
        *(("P4.2", f"10 events on {n} threads, of the maximum",
           lambda n=n: found[f"ten sleeping: {n} threads"].value)
          for n in (15, 20)),
    ]  # fmt: skip
    return [Figure.of(line, name, value()) for line, name, value in values]


def _plot(job: ReplayJob, found: Mapping[str, Ratio]) -> Plot:
    """Plot of each ratio relative to the best."""
    ticks = {name: tick for name, tick, *_ in _RATIOS if tick} | {_OF_PATH: "1 ev.\npath"}
    names = [*ticks]
    ours = [(float(x), found[name].value / found[name].best) for x, name in enumerate(names)]
    theirs = {
        "empty modules: tasks, one thread": ("P4.4", "empty modules, TBB over single-threaded"),
        "busy: two threads, two events": ("P2.1", "re-entrant over single-threaded, 16 events"),
        "busy: all modules unsafe": ("P2.1", "thread-unsafe over single-threaded"),
        **{f"ten sleeping: {n} threads": ("P4.2", f"10 events on {n} threads, of the maximum")
           for n in THREADS.values() if n < 80},
    }  # fmt: skip
    points = [(float(names.index(name)), published(*what).value) for name, what in theirs.items()]
    return Plot(
        "Scheduling, over the best that can be", job.name, "", "share of the best",
        [Curve("here", ours), Curve("published (TBB, libdispatch)", points, theirs=True)],
        ticks=[*ticks.values()], ideal=1.0,
    )  # fmt: skip
