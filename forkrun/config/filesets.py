"""Filesets of coffea, from files of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forkrun.base.user_text import parse_json
from forkrun.config.anchor import anchored
from forkrun.config.metadata import all_described
from forkrun.errors import ConfigError

_TREES = ("treename", "treeName", "tree")
_NO_METADATA = ("files", "metadata", "form", "compressed_form", *_TREES)


def read_fileset(path: str) -> list[dict[str, Any]]:
    """The datasets of a fileset of coffea, a JSON file: {"ttbar": {"files": {"a.root": "Events"},
    "metadata": {"xsec": 831.8}}}, or {"ttbar": ["a.root"]}. Relative paths are relative to its
    folder. Raises ConfigError."""
    file = Path(path)
    try:
        fileset = parse_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"datasets: cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"datasets: {path} is not valid JSON: {error}") from None
    if not isinstance(fileset, dict) or not fileset:
        raise ConfigError(f'datasets: {path} is not a fileset: {{"name": {{"files": […]}}, …}}')
    datasets = [_dataset(path, name, entry) for name, entry in fileset.items()]
    return all_described(
        datasets, lambda problems: ConfigError([f"{path}: {problem}" for problem in problems])
    )


def _dataset(path: str, name: str, entry: Any) -> dict[str, Any]:
    described = entry if isinstance(entry, Mapping) and "files" in entry else {"files": entry}
    files = described["files"]
    files = [files] if isinstance(files, str) else files
    trees = set(_trees(described, files))
    is_list = isinstance(files, Mapping | list) and all(isinstance(file, str) for file in files)
    if not is_list or len(trees) > 1:
        raise ConfigError(f'datasets: {path}: "{name}" has no list of files of one tree')
    return {
        "name": name,
        "files": [anchored(file, Path(path).parent) for file in files],
        "metadata": _metadata(f'datasets: {path}: "{name}"', described),
        "tree": trees.pop() if trees else None,
    }


def _metadata(place: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a dataset, those outside its metadata included."""
    given = described.get("metadata") or {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place}: metadata has to be a table of names and values")
    described_keys = {key: value for key, value in described.items() if key not in _NO_METADATA}
    for key in sorted(described_keys.keys() & given.keys()):
        if described_keys[key] != given[key]:
            raise ConfigError(f'{place}: "{key}" is another in metadata; only one can be meant')
    return {**described_keys, **given}


def _trees(described: Mapping[str, Any], files: Any) -> Iterator[str]:
    """Names of trees, which a fileset has with each file, or for all of them."""
    of_files = files.values() if isinstance(files, Mapping) else ()
    of_all = [described[key] for key in _TREES if key in described]
    for value in (*of_files, *of_all):
        tree = value.get("object_path") if isinstance(value, Mapping) else value
        if isinstance(tree, str):
            yield tree
