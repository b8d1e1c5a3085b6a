"""Checks that other trees and objects of the input can be carried to outputs: before the first
event, not after the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forkrun.config import JobConfig
from forkrun.errors import InputError
from forkrun.index.model import FileIndex
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
