"""Which dataset each input file belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from forkrun.config import JobConfig
from forkrun.errors import ConfigError
from forkrun.index.files import expand


def dataset_numbers(config: JobConfig, files: Sequence[str]) -> list[int]:
    """(n_files,) number of the dataset of each, 0 for a file "", which another node reads. Raises
    ConfigError for files that are of none."""
    of = {
        file: number
        for number, dataset in enumerate(config.datasets)
        for file in expand(dataset.files)
    }
    strange = [file for file in files if file and file not in of]
    if strange:
        raise ConfigError([f"datasets: {file} belongs to no dataset" for file in strange[:10]])
    return [of[file] if file else 0 for file in files]


def data_files(config: JobConfig, files: Sequence[str]) -> list[int] | None:
    """Numbers of the files with data; None if the job has no datasets."""
    if not config.datasets:
        return None
    numbers = dataset_numbers(config, files)
    return [file for file, number in enumerate(numbers) if config.datasets[number].is_data]
