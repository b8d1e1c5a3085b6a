"""Jobs with increasing numbers of one thing: modules, histograms, lumis, files and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun import _core

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


def _of_histograms(n: int, folder: Path) -> Job:
    booked = [_histogram(i) for i in range(n)]
    return _job(_events(folder), booked, {"all": [module["label"] for module in booked]})


def _of_bins(n: int, folder: Path) -> Job:
    return _job(_events(folder), [_histogram(0, n)], {"all": ["h0"]})


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


def _of_children(n: int, folder: Path) -> Job:
    return {**_of_histograms(1, folder), "forking": {"children": n}}


SERIES: Mapping[str, Series] = {
    "modules": Series(2000, _of_modules),
    "histograms": Series(10_000, _of_histograms),
    "bins": Series(10_000_000, _of_bins),
    "paths": Series(200, _of_paths),
    "outputs": Series(200, _of_outputs),
    "lumis": Series(100_000, _of_lumis),
    "files": Series(10_000, _of_files),
    "branches": Series(10_000, _of_branches),
    "datasets": Series(500, _of_datasets),
    "children": Series(256, _of_children),
}
