"""The input as a whole: its format, dataset and digest of each file, and whether its other trees
and objects can be carried to outputs, checked before the first event, not after the last."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from forkrun.config.anchor import is_url
from forkrun.config.datasets import DatasetConfig
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError, InputError
from forkrun.formats import Format, format_named
from forkrun.index.files import expand
from forkrun.index.model import FileIndex, LumiRanges
from forkrun.index.partners import FriendFile
from forkrun.index.read import ask_workers


def check_carried(index: Sequence[FileIndex], config: JobConfig) -> None:
    """Joins the first file of each kind, like the later merge of all, in a helper process: per
    dataset, where an output has only one. Files of the same kind, as most are, are skipped unless
    their objects may refer to others. Raises InputError, which names conflicts and the remedy."""
    for dataset in {d.dataset for d in config.destinations if d.label in config.carrying}:
        _check([file for file in index if dataset in (None, file.dataset)], config)


def _check(index: Sequence[FileIndex], config: JobConfig) -> None:
    problems = [f"{file.path}: {line}" for file in index for line in file.other_objects.problems]
    if problems:
        remedy = "make outputs without other trees and objects of the input: merge.carry = false"
        raise InputError("; ".join([*problems, remedy]))
    files = _first_of_each_kind(index, config.merge.keep_first)
    if len(files) > 1 or any(file.other_objects.may_refer for file in index):
        by_entry = {p.files[0].tree for file in index for p in file.friends if p.own is not None}
        trees = config.source.tree_names.of_entries([file.tree for file in index])
        _join(files, config, [*trees, *sorted(by_entry)])


def _first_of_each_kind(index: Sequence[FileIndex], keep_first: bool) -> list[str]:
    first: dict[str, str] = {}
    for file in index:
        if file.path and not file.unreadable:
            kind = file.other_objects.forms if keep_first else file.other_objects.contents
            first.setdefault(kind, file.path)
    return list(dict.fromkeys(first.values()))


def _join(files: list[str], config: JobConfig, by_entry: Sequence[str]) -> None:
    source = config.source
    request: dict[str, Any] = {
        "path": files[-1],
        "carried": files,
        "exclude": by_entry,
        "keep_first": config.merge.keep_first,
        "common_branches": source.branches == "common",
    }
    for _, answer in ask_workers([request]):
        if "error" in answer:
            message = str(answer["error"])
            named = message if any(file in message for file in files) else f"{files[-1]}: {message}"
            raise InputError(named)


def input_digests(index: Sequence[FileIndex], ranges: LumiRanges) -> dict[str, str]:
    """Digest of each file's identity and ranges, by name, and of the friends."""
    digests = {
        input_name(file): _input_digest(file, held)
        for file, held in zip(index, ranges.bytes_by_file(len(index)), strict=True)
    }
    of_friends = (each for file in index for part in file.friends for each in part.files)
    return digests | {friend_name(each): each.digest for each in of_friends}


def input_name(file: FileIndex) -> str:
    """Name of a file among digests. A remote file is the same on any server: its UUID and size name
    it."""
    if not is_url(file.path):
        return file.name
    return f"{file.uuid}, {file.n_bytes} bytes" + f": {file.tree}" * bool(file.tree)


def friend_name(file: FriendFile) -> str:
    """Name of a friend's file among digests."""
    return f'friend "{file.tree}" in {file.path}'


def _input_digest(file: FileIndex, held: memoryview) -> str:
    """Digest of the file's identity and of `held`, the records of its lumi ranges."""
    size = None if is_url(file.path) else file.n_bytes
    digest = hashlib.sha256(repr((file.uuid, file.n_entries, size)).encode())
    digest.update(held)
    return digest.hexdigest()


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


def format_of_input(index: Sequence[FileIndex]) -> Format:
    """The one format of all files. Raises InputError if there are several."""
    first = {file.format: file.path for file in reversed(index) if file.path and not file.absent}
    if len(first) > 1:
        (one, path), (other, its), *_ = first.items()
        raise InputError(f"{path} is of format {one}, {its} of format {other}: a job reads one")
    return format_named(next(iter(first), "ttree"))
