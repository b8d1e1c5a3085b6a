"""The datasets of a job: which file is of which, and what their events weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forkrun.config import JobConfig
from forkrun.config.datasets import WEIGHT, DatasetConfig
from forkrun.errors import ConfigError
from forkrun.index import FileIndex
from forkrun.index.generated import sums_of_weights, total_of
from forkrun.modules.datasets.dataset import Dataset, Datasets


def find_datasets(
    config: JobConfig, files: Sequence[FileIndex], known_sums: Mapping[str, float] | None
) -> Datasets | None:
    """None if the job has none. `known_sums`: sums of weights, by dataset, if they are known.
    Raises ConfigError with all that is missing for weights."""
    if not config.datasets:
        return None
    of_file = [file.dataset for file in files]
    sums = known_sums
    if sums is None:
        sums = _sums(config) if config.job.luminosity else {}
    datasets = Datasets([_dataset(config, each, sums) for each in config.datasets], of_file)
    if config.job.luminosity:
        _check(config, datasets)
    return datasets


def _dataset(config: JobConfig, given: DatasetConfig, sums: Mapping[str, float]) -> Dataset:
    return Dataset(
        given.name, given.cross_section, given.is_data, given.metadata,
        given.sum_of_weights or sums.get(given.name), config.job.luminosity,
    )  # fmt: skip


def _sums(config: JobConfig) -> dict[str, float]:
    """By dataset, of all its files, once each, whichever of them this node or job reads."""
    from forkrun.index.files import expand

    files = {
        d.name: expand(d.files, config.source.prefixes)
        for d in config.datasets
        if not (d.is_data or d.sum_of_weights)
        and (not config.source.datasets or d.name in config.source.datasets)
    }
    found = sums_of_weights(file for of_one in files.values() for file in of_one)
    problems = [
        f'datasets: "{name}": {file} has no tree Runs with genEventSumw; give sum_of_weights of the'
        " dataset, or is_data = true"
        for name, of_one in files.items()
        for file in of_one
        if file not in found
    ]
    if problems:
        raise ConfigError(problems[:10])
    return {name: total_of(of_one, found) for name, of_one in files.items()}


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
    """Whether a column is the wanted one, or some module makes it of what is. `products`: kind,
    names consumed and names made of each module."""
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
