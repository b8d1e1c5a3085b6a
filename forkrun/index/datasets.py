"""Dataset of each input file."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from forkrun.config.datasets import DatasetConfig
from forkrun.errors import ConfigError
from forkrun.index.files import expand
from forkrun.index.model import FileIndex


def with_datasets(
    index: Sequence[FileIndex], datasets: Sequence[DatasetConfig], prefixes: Sequence[str]
) -> list[FileIndex]:
    """Index with the dataset number of each file; 0 for a file "", which another node reads. Raises
    ConfigError for files without a dataset."""
    if not datasets:
        return list(index)
    of = {f: n for n, dataset in enumerate(datasets) for f in expand(dataset.files, prefixes)}
    strange = [file.path for file in index if file.path and file.path not in of]
    if strange:
        raise ConfigError([f"datasets: {file} belongs to no dataset" for file in strange[:10]])
    return [replace(file, dataset=of.get(file.path, 0)) for file in index]
