"""Writing of samples as ROOT files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from forkrun import _core
from forkrun.base.durable import published
from forkrun.studies.sample.collections import Array, Column
from forkrun.studies.sample.events import clusters, gen_weights, ids, make_cluster
from forkrun.studies.sample.settings import SampleSettings


def write_sample(
    path: Path, settings: SampleSettings, progress: Callable[[int], None] | None = None
) -> list[Path]:
    """Writes the sample's files and returns their paths: `path`, or, for several files,
    `STEM_0.root`, `STEM_1.root`, … in the same folder. `progress` gets the number of events written
    so far. Only one cluster is in memory at a time; a file gets its name when complete."""
    columns = column_types(settings)
    parts = sample_parts(path, settings)
    for file, (first, last) in parts.items():
        with published(file) as temporary:
            _write_events(temporary, settings, columns, first, last, progress)
            _write_runs(temporary, settings, first, last)
    return list(parts)


def sample_parts(path: Path, settings: SampleSettings) -> dict[Path, tuple[int, int]]:
    """First event of each file and the one after its last; names are padded for sorting."""
    n_files, width = settings.n_files, len(str(settings.n_files - 1))
    names = [f"{path.stem}_{i:0{width}d}{path.suffix}" for i in range(n_files)]
    bounds = pairwise(settings.n_events * i // n_files for i in range(n_files + 1))
    return dict(zip(map(path.with_name, names) if n_files > 1 else [path], bounds, strict=True))


def column_types(settings: SampleSettings) -> list[tuple[str, str]]:
    """Name and type ("float32[]") of each column of the Events tree, without counters."""
    return [(name, _type(column)) for name, column in make_cluster(settings, 0, 0).items()]


def _type(column: Column) -> str:
    return f"{column[1].dtype}[]" if isinstance(column, tuple) else str(column.dtype)


def _write_events(
    path: Path,
    settings: SampleSettings,
    columns: list[tuple[str, str]],
    first: int,
    last: int,
    progress: Callable[[int], None] | None,
) -> None:
    writer = _core.TreeWriter(str(path), "Events", columns, settings.compression, "Events")
    done = first
    for cluster in clusters(settings, first, last):
        writer.write(cluster)
        done += len(cluster["event"])
        if progress:
            progress(done)
    writer.close()


def _write_runs(path: Path, settings: SampleSettings, first: int, last: int) -> None:
    """Writes `Runs`, with the sums of generator weights of this file's events, and
    `LuminosityBlocks`."""
    runs, lumis = run_sums(settings, first, last), lumis_of(settings, first, last)
    for tree, values in (("Runs", runs), ("LuminosityBlocks", lumis)):
        types = [(name, str(column.dtype)) for name, column in values.items()]
        writer = _core.TreeWriter(
            str(path), tree, types, settings.compression, tree, append_tree=True
        )
        writer.write(values)
        writer.close()


def run_sums(settings: SampleSettings, first: int, last: int) -> dict[str, Array]:
    """Columns with one row per run: number of events, sums of weights and of their squares."""
    number = np.arange(first, last)
    weights = gen_weights(settings, number).astype(np.float64)
    runs, index = np.unique(ids(settings, number)["run"], return_inverse=True)
    return {
        "run": runs,
        "genEventCount": np.bincount(index, minlength=runs.size).astype(np.int64),
        "genEventSumw": np.bincount(index, weights, runs.size),
        "genEventSumw2": np.bincount(index, weights**2, runs.size),
    }


def lumis_of(settings: SampleSettings, first: int, last: int) -> dict[str, Array]:
    """Columns with one row per lumi with events in [first, last)."""
    found = ids(settings, np.arange(first, last))
    pairs = np.unique(np.stack([found["run"], found["luminosityBlock"]]), axis=1)
    return {"run": pairs[0], "luminosityBlock": pairs[1]}
