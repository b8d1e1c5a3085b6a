"""`forkrun measure io`: number and size of read calls, and bytes read more than once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from forkrun.base.quantities import percent, plural, size
from forkrun.config.anchor import is_url
from forkrun.config.model import JobConfig
from forkrun.index.files import input_files
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.jobs import run_way
from forkrun.studies.frame.machine import COLD_SHARE, cached_share, drop_from_cache, warm_cache
from forkrun.studies.frame.repeats import Row, Way, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study, published

ONE_CHILD, ONE, MAX, GUIDED = "one child", "N = 1", "N = max", "guided"
COLUMNS = (
    Column("calls", "read calls", "count"),
    Column("calls_per_s", "calls per second", "rate"),
    Column("read_bytes", "size of a read", "size"),
    Column("bytes", "bytes read", "size"),
    Column("times", "× once", "ratio"),
    Column("cached_bytes", "put in cache", "size"),
    Column("time_s", "event loops", "time"),
)


def measure_reading(
    config: JobConfig,
    folder: Path,
    consecutive: Sequence[int | None],
    caches: Sequence[str],
    n_repeats: int,
    *,
    quiet: bool = False,
) -> Study:
    """Measures the job with `config.forking.children` children. `consecutive`: events in a row for
    a child, None: an equal part for each (N = max); `caches`: "cold", "warm" or both; `folder`: for
    the runs. Raises the job's errors."""
    files = [Path(file) for file in input_files(config.source) if not is_url(file)]
    stayed: list[float] = []
    ways: dict[str, Way] = {}
    for cache in caches:
        for name, settings in _settings(config, consecutive).items():
            run = partial(_run, config, folder, settings)
            ways[f"{name}, {cache}"] = partial(_with_cache, cache, files, run, stayed)
    rows, load = measure_ways(ways, n_repeats, quiet=quiet)
    once = rows[f"{ONE_CHILD}, {caches[0]}"]["bytes"] or 1.0
    rows = {name: row.with_ratio("times", "bytes", once) for name, row in rows.items()}
    remarks = _remarks(files, config, stayed)
    return Study(
        "io", config.job.name, COLUMNS, rows, load, _conclusions(rows, caches[-1]), remarks,
        _figures(rows, caches[-1]), _plot(config, rows, consecutive, caches[-1]),
    )  # fmt: skip


def _settings(config: JobConfig, consecutive: Sequence[int | None]) -> dict[str, list[str]]:
    """Changes of the configuration, by name of a way."""
    children = f"forking.children={config.forking.children}"
    ways = {ONE_CHILD: ["forking.children=1", "forking.distribution=contiguous"]}
    for n_events in consecutive:
        ways[name_of(n_events)] = [
            children,
            "forking.distribution=" + ("contiguous" if n_events is None else "round-robin"),
            *([] if n_events is None else [f"forking.events_per_turn={n_events}"]),
        ]
    return {**ways, GUIDED: [children, "forking.distribution=guided"]}


def name_of(n_events: int | None) -> str:
    """Name of a way: `N = 10`."""
    return MAX if n_events is None else f"N = {n_events}"


def _with_cache(
    cache: str, files: Sequence[Path], run: Way, stayed: list[float]
) -> Mapping[str, float]:
    """Runs with files in memory or not; appends to `stayed` the share that could not be dropped."""
    if cache == "warm":
        warm_cache(files)
        return run()
    stayed.append(drop_from_cache(files))
    values = run()
    n_bytes = sum(file.stat().st_size for file in files)
    came = max(cached_share(files) - stayed[-1], 0.0)
    return {**values, "cached_bytes": came * n_bytes}


def _run(config: JobConfig, folder: Path, settings: Sequence[str]) -> Mapping[str, float]:
    ran = run_way(config, folder, settings)
    calls, n_bytes = ran.read_calls, ran.read_bytes
    return {
        "calls": calls,
        "calls_per_s": calls / ran.loop_s if ran.loop_s else 0.0,
        "read_bytes": n_bytes / calls if calls else 0.0,
        "bytes": n_bytes,
        "time_s": ran.loop_s,
    }


def _remarks(files: Sequence[Path], config: JobConfig, stayed: Sequence[float]) -> list[str]:
    remarks = [
        f"{plural(config.forking.children, 'child')}; reads of input by event loops, as they asked"
        " for them; calls per second: of all children together; × once: relative to one child. Put"
        " in cache: how much of the input the job brought into memory, from the disk"
    ]
    if stayed and not files:
        remarks.append("cold: the input is not on this machine, so its cache is not that of a disk")
    elif stayed and max(stayed) > COLD_SHARE:
        remarks.append(
            f"cold: could not be had: up to {percent(max(stayed))} of the input stayed in memory"
            " (another process uses it, or the file system keeps it)"
        )
    return remarks


def _conclusions(rows: Mapping[str, Row], cache: str) -> list[str]:
    """Reads of each way relative to one child, for the last cache: bytes are the same for all."""
    one = rows[f"{ONE_CHILD}, {cache}"]
    return [
        f"{name}: {row['times']:.2f} times the bytes that are read once, in reads of"
        f" {size(row['read_bytes'])}; {one['time_s'] / max(row['time_s'], 1e-9):.2f} times as fast"
        " as one child"
        for name, row in rows.items()
        if name.endswith(f", {cache}") and row is not one
    ]


def _figures(rows: Mapping[str, Row], cache: str) -> list[Figure]:
    return [
        Figure.of("P1.9", f"{what}, {name}", rows[f"{name}, {cache}"][key])
        for name in (MAX, ONE)
        if f"{name}, {cache}" in rows
        for what, key in (("read calls", "calls_per_s"), ("size of a read", "read_bytes"))
    ]


def _plot(
    config: JobConfig, rows: Mapping[str, Row], consecutive: Sequence[int | None], cache: str
) -> Plot:
    """Plot of the mean size of a read by events in a row; the cache changes it little."""
    names = [*map(name_of, consecutive), GUIDED]
    ours = [
        (float(x), row["read_bytes"] / 1e3, row.values["read_bytes"].noise)
        for x, name in enumerate(names)
        for row in [rows[f"{name}, {cache}"]]
    ]
    theirs = [
        (float(names.index(name)), published("P1.9", f"size of a read, {name}").value / 1e3)
        for name in (ONE, MAX)
        if name in names
    ]
    children = plural(config.forking.children, "child")
    return Plot(
        "Mean size of a read", f"{config.job.name}, {children}; N: events in a row",
        "how events are shared among children", "size of a read [kB]",
        [Curve("here", ours), Curve("CMS 2010, 32 children", theirs, theirs=True)],
        ticks=names, y_log=True,
    )  # fmt: skip
