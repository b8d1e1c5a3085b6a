"""`forkrun measure growth`: cost of one more part of a job, for few and many parts."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from forkrun.base.quantities import duration
from forkrun.config import JobConfig
from forkrun.monitoring.records import read_records
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.repeats import Repeated, Row, measure_ways
from forkrun.studies.frame.study import Study
from forkrun.studies.growth.series import SERIES, Series
from forkrun.studies.measure.jobs import RunningJob, run_jobs

COLUMNS = (
    Column("cpu_s", "CPU", "time"),
    Column("step_s", "CPU of one more", "time"),
    Column("growth", "over that before", "ratio"),
    Column("private", "private memory a child", "size"),
)
MOST_GROWTH = 1.5
"""Ratio of the cost of one more part to that at half the number: 1 is linear, 2 is quadratic."""
_CACHE = "FORKRUN_CACHE"
_SEEN_S = 0.3
"""Minimum CPU time added by a series for a known growth."""


def measure_growth(
    names: Sequence[str], part: float, folder: Path, n_repeats: int, *, quiet: bool = False
) -> Study:
    """Runs jobs of three doubling sizes per series; `part`: fraction of the largest size."""
    sizes = {name: _sizes(SERIES[name], part) for name in names}
    ways = {
        f"{size:,} {name}": partial(_run, SERIES[name], size, folder)
        for name in names
        for size in sizes[name]
    }
    measured, load = measure_ways(ways, n_repeats, quiet=quiet)
    by_name = {row.name: row for row in measured}
    rows, conclusions = [], []
    for name in names:
        of_series = with_steps({n: by_name[f"{n:,} {name}"] for n in sizes[name]})
        rows += of_series
        conclusions.append(verdict(name, of_series))
    title = f"{', '.join(names)}; {part:g} of the most"
    return Study("growth", title, COLUMNS, rows, load, conclusions)


def _sizes(series: Series, part: float) -> list[int]:
    most = max(round(series.most * part), 4)
    return [most // 4, most // 2, most]


def _run(series: Series, size: int, folder: Path) -> Mapping[str, float]:
    """CPU time of all processes of the job, with uncached input, and the largest private memory of
    a child. Raises the job's errors."""
    inputs, run, cache = folder / "input", folder / "run", folder / "cache"
    inputs.mkdir()
    config = JobConfig.model_validate(series.job(size, inputs))
    before_s = _children_s()
    with _caching_in(cache):
        run_jobs([RunningJob(config, run, [], merges=True)], f"{size} of them")
    cpu_s = _children_s() - before_s
    samples = [sample for sample in read_records(run).samples if sample.child is not None]
    private = max((sample.private_bytes for sample in samples), default=0)
    for used in (run, inputs, cache):
        shutil.rmtree(used)
    return {"cpu_s": cpu_s, "private": private}


@contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    """Keeps thousands of measurement files out of the user's own cache."""
    before = os.environ.get(_CACHE)
    os.environ[_CACHE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(_CACHE)
        if before is not None:
            os.environ[_CACHE] = before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def with_steps(rows: Mapping[int, Row]) -> list[Row]:
    """Rows by size, with the cost per additional part since the previous size, and its growth."""
    found = [next(iter(rows.values()))]
    for (few, one), (many, other) in pairwise(rows.items()):
        pairs = zip(one.values["cpu_s"].repeats, other.values["cpu_s"].repeats, strict=True)
        step_s = Repeated(tuple((after - before) / (many - few) for before, after in pairs))
        values = {**other.values, "step_s": step_s}
        before = found[-1].values.get("step_s")
        if before is not None and before.value > 0 and _adds_enough(rows):
            values["growth"] = Repeated((step_s.value / before.value,))
        found.append(Row(other.name, values))
    return found


def _adds_enough(rows: Mapping[int, Row]) -> bool:
    first, *_, last = rows.values()
    return last["cpu_s"] - first["cpu_s"] > _SEEN_S


def verdict(name: str, rows: Sequence[Row]) -> str:
    """Whether a series grows more than linearly."""
    last = rows[-1]
    costs = f"{name}: one more costs {duration(max(last['step_s'], 0.0))} of CPU time"
    if "growth" not in last.values:
        return f"{costs}, too little to tell how it grows"
    if last["growth"] <= MOST_GROWTH:
        return f"{costs}, and grows linearly"
    return f"{costs}, {last['growth']:.1f} times as much as where there are half: MORE than linear"
