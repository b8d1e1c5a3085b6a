"""The input as a whole: its format, dataset and digest of each file, and whether its other trees
and objects can be carried to outputs, checked before the first event, not after the last. Names
that are not columns are answered with the nearest.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.nearest import close_to, suggestion
from forkrun.config.anchor import is_url
from forkrun.config.datasets import DatasetConfig
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError, InputError
from forkrun.formats import OTHER, Format, format_named
from forkrun.index.files import expand
from forkrun.index.model import Branch, FileIndex, LumiRanges
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


_MOST_LISTED = 12
_SHOWN = 3
_NOT_MADE = re.compile(r'(?P<asked>.*\bconsumes) "(?P<name>[^"]+)", which no module makes')


class ColumnNames(Struct, frozen=True):
    """`others`: class and reason for each input branch that is not a column, by name; `reasons`:
    only the reason; `holders`: names of branches that contain columns; `command`: lists all
    columns; "" if no file is known."""

    others: Mapping[str, str] = {}
    command: str = ""
    reasons: Mapping[str, str] = {}
    holders: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, branches: Mapping[str, Branch], form: Format, file: FileIndex | None, tree: str
    ) -> ColumnNames:
        """Makes the names. `branches`: of the input, and columns within them, by name; `file`: one
        that has them; `tree`: the job's."""
        within: dict[str, list[str]] = {}
        for branch in branches.values():
            if branch.top and branch.readable:
                within.setdefault(branch.top, []).append(branch.name)
        kinds = {
            name: branch.type.removeprefix(OTHER)
            for name, branch in branches.items()
            if not branch.readable
        }
        reasons = {
            name: _members(within[name]) if name in within else form.why_no_column(kind)
            for name, kind in kinds.items()
        }
        others = {
            name: f"of type {kind}, which is not a column ({reasons[name]})"
            for name, kind in kinds.items()
        }
        command = ""
        if file is not None:
            of_tree = "" if tree == "Events" else f" --tree {shlex.quote(tree)}"
            command = f"forkrun columns {shlex.quote(file.path)}{of_tree}"
        return cls(others, command, reasons, frozenset(within))

    def without(self, names: Iterable[str], dataset: str) -> ColumnNames:
        """Names for events of a dataset that lacks these columns."""
        why = (
            f'but not in the dataset "{dataset}": ask for it where events.dataset says that it is'
            " there, or say what it is here: source.branches.fill"
        )
        return replace(self, others={**self.others, **dict.fromkeys(names, why)})

    def no_column(self, name: str) -> str:
        """Reason why a name in the input is not a column; "" if the input does not have it."""
        branch = name if name in self.others else name.partition(".")[0]
        if branch not in self.others or (branch != name and branch in self.holders):
            return ""
        is_it = f'"{name}" exists' if branch == name else f'"{name}" may be within "{branch}"'
        return f"{is_it}, {self.others[branch]}"

    def missing(
        self, name: str, known: Iterable[str], who: str = "neither the input nor a module has"
    ) -> str:
        """Message about a name that is not among the `known` columns and collections."""
        return self.no_column(name) or f'{who} "{name}"{self.hint(name, known)}'

    def hint(self, name: str, known: Iterable[str]) -> str:
        """Most likely intended name, and the command that lists all."""
        names = list(dict.fromkeys([*known, *self.others]))
        if not self.command or (len(names) <= _MOST_LISTED and not close_to(name, names)):
            return suggestion(name, names)
        if close := close_to(name, names):
            return f'; did you mean "{close}"? All columns: {self.command}'
        return f"; all columns: {self.command}"

    def explained(self, problem: str) -> str:
        """A problem reported by the core, with the input's object in place of a column."""
        match = _NOT_MADE.match(problem)
        if match is None:
            return problem
        if text := self.no_column(match["name"]):
            return f"{match['asked']} {text.replace(' exists, ', ', which exists and is ', 1)}"
        return f"{problem} (all columns: {self.command})" if self.command else problem


def _members(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"objects, whose members are the columns {shown}{more}"
