"""Datasets of a job: their files and the weights of their events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from forkrun.config.datasets import WEIGHT, DatasetConfig
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError
from forkrun.index.find import (
    WEIGHT as EVENT_WEIGHT,
)
from forkrun.index.find import (
    Share,
    StoredSums,
    WantedWeights,
    shares_of_weights,
    sums_of_weights,
    total_of,
)
from forkrun.index.model import FileIndex
from forkrun.modules.datasets.dataset import Dataset, Datasets
from forkrun.plan.model import Units
from forkrun.plan.select import EventCounts


def find_datasets(
    config: JobConfig,
    files: Sequence[FileIndex],
    units: Units,
    counts: EventCounts | None,
    known_sums: Mapping[str, float] | None,
) -> Datasets | None:
    """Returns the job's datasets, or None without any. `counts`: None if all events of the files
    count; `known_sums`: sums of weights of the events read, by dataset, if known. Raises
    ConfigError listing everything that weights lack, and InputError."""
    if not config.datasets:
        return None
    of_file = [file.dataset for file in files]
    sums = known_sums
    if sums is None:
        sums = _given_sums(config, files, counts)
        sums |= _stored_sums(config, files, units, counts) if config.job.luminosity else {}
    datasets = Datasets([_dataset(config, each, sums) for each in config.datasets], of_file)
    if config.job.luminosity:
        _check(config, datasets)
    return datasets


def _dataset(config: JobConfig, given: DatasetConfig, sums: Mapping[str, float]) -> Dataset:
    return Dataset(
        given.name, given.cross_section, given.is_data, given.metadata,
        sums.get(given.name, given.sum_of_weights), config.job.luminosity,
    )  # fmt: skip


def _given_sums(
    config: JobConfig, files: Sequence[FileIndex], counts: EventCounts | None
) -> dict[str, float]:
    """Sums of weights given in the configuration, scaled to the share of events read."""
    return {
        dataset.name: dataset.sum_of_weights * _share_of(counts, _files_of(files, number))
        for number, dataset in _simulated(config)
        if dataset.sum_of_weights
    }


def _share_of(counts: EventCounts | None, files: Sequence[int]) -> float:
    """Fraction of the distinct events that skip_events and max_events leave."""
    n_read = int(counts.read[files].sum()) if counts else 0
    return n_read / int(counts.left[files].sum()) if counts and n_read else 1.0


def _stored_sums(
    config: JobConfig, files: Sequence[FileIndex], units: Units, counts: EventCounts | None
) -> dict[str, float]:
    """Sums of weights stored in the files read, each counted once, scaled to the share read."""
    of = {
        dataset.name: [n for n in _files_of(files, number) if not files[n].unreadable]
        for number, dataset in _simulated(config)
        if not dataset.sum_of_weights
    }
    found = sums_of_weights(files[n].path for numbers in of.values() for n in numbers)
    problems = [
        f'datasets: "{name}": {files[n].path} has no tree Runs with genEventSumw; give'
        " sum_of_weights of the dataset, or is_data = true"
        for name, numbers in of.items()
        for n in numbers
        if files[n].path not in found
    ]
    if problems:
        raise ConfigError(problems[:10])
    sums = {}
    for name, numbers in of.items():
        stored = {files[n].path: found[files[n].path] for n in numbers}
        parts = _parts(config, files, numbers, units, counts)
        sums[name] = total_of(stored, _shares(parts, stored))
        if numbers and (not sums[name] or not isfinite(sums[name])):
            problems.append(
                f'datasets: "{name}": its sum of weights in the trees Runs is {sums[name]:g}; give'
                " sum_of_weights of the dataset"
            )
    if problems:
        raise ConfigError(problems)
    return sums


class _Part(NamedTuple):
    """Part of a file that is read. `wanted`: request for its share by weight, where available."""

    n_read: int
    n_counted: int
    wanted: WantedWeights | None = None


def _parts(
    config: JobConfig,
    files: Sequence[FileIndex],
    numbers: Sequence[int],
    units: Units,
    counts: EventCounts | None,
) -> dict[str, _Part]:
    """Parts by path of a dataset's files; whole files if no events are read, since the weight is
    then unused. A file has several numbers if several of its trees are read."""
    found: dict[str, _Part] = {}
    is_read = counts is not None and counts.read[list(numbers)].any()
    for n in numbers:
        file = files[n]
        n_all = file.n_entries
        n_read = int(counts.read[n]) if counts and is_read else n_all
        n_counted = int(counts.counted[n]) if counts and is_read else n_all
        has_weights = any(branch.name == EVENT_WEIGHT for branch in file.branches)
        wanted = None
        if file.path not in found and has_weights and 0 < n_read < n_counted == n_all:
            tree = file.tree or config.source.tree
            wanted = WantedWeights(file.path, tree, n_all, _pieces(units, n))
        before = found.get(file.path, _Part(0, 0))
        both = (before.n_read + n_read, before.n_counted + n_counted)
        found[file.path] = _Part(*both, wanted)
    return found


def _shares(parts: Mapping[str, _Part], stored: StoredSums) -> dict[str, Share]:
    wanted = [part.wanted for part in parts.values() if part.wanted]
    of_weights = shares_of_weights(wanted, stored)
    return {
        path: Share(part.n_read, part.n_counted, of_weights.get(path))
        for path, part in parts.items()
    }


def _pieces(units: Units, file: int) -> list[tuple[int, int]]:
    own = units.file == file
    return list(zip(units.first[own].tolist(), units.last[own].tolist(), strict=True))


def _simulated(config: JobConfig) -> list[tuple[int, DatasetConfig]]:
    """Simulated datasets that are read, with their numbers."""
    chosen = config.source.datasets
    return [
        (number, dataset)
        for number, dataset in enumerate(config.datasets)
        if not dataset.is_data and (not chosen or dataset.name in chosen)
    ]


def _files_of(files: Sequence[FileIndex], dataset: int) -> list[int]:
    return [number for number, file in enumerate(files) if file.dataset == dataset and file.path]


def _check(config: JobConfig, datasets: Datasets) -> None:
    chosen = config.source.datasets
    problems = [
        f'datasets: "{d.name}": {WEIGHT} needs its cross_section (pb), or is_data = true'
        for d in datasets.datasets
        if not (d.is_data or d.cross_section) and (not chosen or d.name in chosen)
    ]
    if problems:
        raise ConfigError(problems)


def is_made_with(
    wanted: str, column: str, products: Mapping[str, tuple[str, Sequence[str], Sequence[str]]]
) -> bool:
    """Whether a column is the wanted one, or made from it by modules. `products`: kind, names
    consumed and names made of each module."""
    makers = {made: reads for _, reads, makes in products.values() for made in makes}
    seen: set[str] = set()
    left = [column]
    while left:
        if (name := left.pop()) == wanted:
            return True
        if name not in seen:
            seen.add(name)
            left += makers.get(name, ())
    return False
