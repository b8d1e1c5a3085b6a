"""`forkrun measure growth`: cost of one more part of a job, for few and many parts."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun import _core
from forkrun.base.quantities import duration
from forkrun.config.model import JobConfig
from forkrun.monitoring.records import read_records
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.jobs import RunningJob, run_jobs
from forkrun.studies.frame.repeats import Repeated, Row, measure_ways
from forkrun.studies.frame.study import Study

Job = dict[str, Any]
"""A configuration, in its JSON form."""

_IDS = ("run", "luminosityBlock", "event")
_AXES = [{"bins": 50, "low": 0.0, "high": 200.0}]
_N_EVENTS = 20_000


class Series(Struct, frozen=True):
    """`job`: makes the job of a given size, with its input in a folder; `most`: largest size in a
    full measurement."""

    most: int
    job: Callable[[int, Path], Job]


def write_events(
    file: Path, n_events: int, per_lumi: int, n_columns: int = 1, first: int = 0
) -> str:
    """Writes events with columns x0, x1, … from event `first`, `per_lumi` events in each lumi."""
    numbers = np.arange(first, first + n_events)
    values = (numbers % 200).astype(np.float32)
    columns: dict[str, npt.NDArray[Any]] = {
        "run": np.ones(n_events, np.uint32),
        "luminosityBlock": (numbers // per_lumi + 1).astype(np.uint32),
        "event": numbers.astype(np.uint64),
        **{f"x{n}": values for n in range(n_columns)},
    }
    types = [(name, str(column.dtype)) for name, column in columns.items()]
    writer = _core.TreeWriter(str(file), "Events", types, "auto", "Events")
    writer.write(columns)
    writer.close()
    return str(file)


def _histogram(number: int, bins: int = 50) -> Job:
    axes = [{**_AXES[0], "bins": bins}]
    named = {"label": f"h{number}", "name": f"h{number}"}
    return {**named, "type": "expression:x0", "kind": "histogram", "axes": axes}


def _job(files: list[str], modules: list[Job], paths: Mapping[str, list[str]], **more: Any) -> Job:
    forking = {"children": 4, **more.pop("forking", {})}
    job = {"job": {"name": "growth"}, "source": {"files": files}, "forking": forking}
    return {**job, "modules": modules, "paths": dict(paths), **more}


def _events(folder: Path) -> list[str]:
    return [write_events(folder / "events.root", _N_EVENTS, 100)]


def _of_modules(n: int, folder: Path) -> Job:
    made = [
        {"label": f"m{i}", "type": f"expression:x0 + {i}", "kind": "producer"} for i in range(n)
    ]
    return _job(_events(folder), made, {}, outputs=[{"label": "all", "keep": [*_IDS, "m*"]}])


def _of_histograms(n: int, folder: Path, bins: int = 50) -> Job:
    booked = [_histogram(i, bins) for i in range(n)]
    return _job(_events(folder), booked, {"all": [module["label"] for module in booked]})


def _of_paths(n: int, folder: Path) -> Job:
    filters = [
        {"label": f"f{i}", "type": f"expression:x0 > {i % 100}", "kind": "filter"} for i in range(n)
    ]
    return _job(_events(folder), filters, {f"p{i}": [f"f{i}"] for i in range(n)})


def _of_outputs(n: int, folder: Path) -> Job:
    kept = [{"label": f"o{i}", "paths": [f"p{i}"], "keep": [*_IDS, "x0"]} for i in range(n)]
    return {**_of_paths(n, folder), "outputs": kept}


def _of_lumis(n: int, folder: Path) -> Job:
    files = [write_events(folder / "lumis.root", 5 * n, 5)]
    forking = {"distribution": "lumi"}
    return _job(files, [_histogram(0)], {"all": ["h0"]}, forking=forking)


def _of_files(n: int, folder: Path) -> Job:
    files = [write_events(folder / f"{i:06d}.root", 5, 5, first=5 * i) for i in range(n)]
    return _job(files, [_histogram(0)], {"all": ["h0"]})


def _of_branches(n: int, folder: Path) -> Job:
    files = [write_events(folder / "wide.root", 1000, 100, n)]
    kept = [{"label": "some", "paths": ["some"], "keep": ["*"]}]
    chosen = [{"label": "f", "type": "expression:x0 > 20", "kind": "filter"}]
    return _job(files, chosen, {"some": ["f"]}, outputs=kept)


def _of_datasets(n: int, folder: Path) -> Job:
    datasets = [
        {"name": f"d{i}", "files": [write_events(folder / f"{i:06d}.root", 100, 20, first=100 * i)]}
        for i in range(n)
    ]
    job = _job([], [_histogram(0)], {"all": ["h0"]}, datasets=datasets)
    return {key: value for key, value in job.items() if key != "source"}


SERIES: Mapping[str, Series] = {
    "modules": Series(2000, _of_modules),
    "histograms": Series(10_000, _of_histograms),
    "bins": Series(10_000_000, lambda n, folder: _of_histograms(1, folder, n)),
    "paths": Series(200, _of_paths),
    "outputs": Series(200, _of_outputs),
    "lumis": Series(100_000, _of_lumis),
    "files": Series(10_000, _of_files),
    "branches": Series(10_000, _of_branches),
    "datasets": Series(500, _of_datasets),
    "children": Series(
        256, lambda n, folder: {**_of_histograms(1, folder), "forking": {"children": n}}
    ),
}


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
    most = {name: max(round(SERIES[name].most * part), 4) for name in names}
    sizes = {name: [n // 4, n // 2, n] for name, n in most.items()}
    ways = {
        f"{size:,} {name}": partial(_run, SERIES[name], size, folder)
        for name in names
        for size in sizes[name]
    }
    measured, load = measure_ways(ways, n_repeats, quiet=quiet)
    rows, conclusions = dict[str, Row](), []
    for name in names:
        of_series = with_steps({n: measured[f"{n:,} {name}"] for n in sizes[name]})
        rows |= {row.name: row for row in of_series}
        conclusions.append(verdict(name, of_series))
    title = f"{', '.join(names)}; {part:g} of the most"
    return Study("growth", title, COLUMNS, rows, load, conclusions)


def _run(series: Series, size: int, folder: Path) -> Mapping[str, float]:
    """CPU time of all processes of the job, with uncached input, and the largest private memory of
    a child. Raises the job's errors."""
    inputs, run, cache = folder / "input", folder / "run", folder / "cache"
    inputs.mkdir()
    config = JobConfig.checked(series.job(size, inputs))
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
    first, *_, last = rows.values()
    found, adds_enough = [first], last["cpu_s"] - first["cpu_s"] > _SEEN_S
    for (few, one), (many, other) in pairwise(rows.items()):
        pairs = zip(one.values["cpu_s"].repeats, other.values["cpu_s"].repeats, strict=True)
        step_s = Repeated(tuple((after - before) / (many - few) for before, after in pairs))
        before = found[-1].values.get("step_s")
        found.append(other.plus(step_s=step_s))
        if before is not None and before.value > 0 and adds_enough:
            found[-1] = found[-1].plus(growth=Repeated((step_s.value / before.value,)))
    return found


def verdict(name: str, rows: Sequence[Row]) -> str:
    """Whether a series grows more than linearly."""
    last = rows[-1]
    costs = f"{name}: one more costs {duration(max(last['step_s'], 0.0))} of CPU time"
    if "growth" not in last.values:
        return f"{costs}, too little to tell how it grows"
    if last["growth"] <= MOST_GROWTH:
        return f"{costs}, and grows linearly"
    return f"{costs}, {last['growth']:.1f} times as much as where there are half: MORE than linear"
