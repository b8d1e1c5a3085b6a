"""Input branches as seen by the job when files differ (eras have different trigger menus), and
checks that all files have the branches in use. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.config.source import FilledBranches
from forkrun.errors import ConfigError
from forkrun.formats import Format
from forkrun.formats.column_types import ColumnType
from forkrun.index.model import Branch, FileIndex, FriendPart
from forkrun.index.whole_input import ColumnNames, format_of_input

_EXACT = 2**53
"""Largest whole number that is exact as a fill."""
Fill = tuple[float, str]
"""A value, and the counter branch of a jagged column, or ""."""


class KnownBranches(Struct, frozen=True):
    """Branches of a whole input, for nodes that each open a part of its files: fields as in
    `InputBranches`. `filled`: names that some file lacks; `apart`: by number, datasets with other
    branches."""

    branches: tuple[Branch, ...]
    filled: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    members: tuple[Branch, ...] = ()
    apart: Mapping[int, KnownBranches] = {}


class InputBranches(Struct, frozen=True, dict=True):
    """`files`: of the input; `branches`: by name, in order of first appearance; `fills`: values of
    branches that some file lacks; `left_out`: names not common to all files; `friends`: by column,
    the friend's number and its branch there; `is_checked`: agreement of all files has been checked
    already."""

    files: Sequence[FileIndex]
    branches: dict[str, Branch]
    fills: Mapping[str, Fill] = {}
    left_out: Sequence[str] = ()
    friends: Mapping[str, tuple[int, Branch]] = {}
    is_checked: bool = False
    tree: str = ""
    """Name of the event tree in messages."""
    with_events: Sequence[InputBranches] = ()
    """Trees that accompany the events, with their branches by column name."""
    prefix: str = ""
    """Prefix of the column names; "" for the event tree."""
    members: Mapping[str, Branch] = {}
    """Columns within branches, by name; outputs keep these branches unchanged."""
    fills_of_friends: Mapping[str, float] = {}
    """By column of a friend, its value for events without a partner."""
    apart: Mapping[int, InputBranches] = {}
    """By dataset number, branches of its own files where they differ from the whole input."""

    @classmethod
    def of(
        cls,
        index: Sequence[FileIndex],
        rule: FilledBranches | str = "same",
        known: KnownBranches | None = None,
        tree: str = "",
    ) -> InputBranches:
        """`rule`: source.branches; `known`: branches of the whole input, if `index` is a part.
        Raises ConfigError for values that columns cannot hold."""
        whole = cls._of_files(index, rule, known, tree)
        return replace(whole, apart=cls._apart(whole, rule, known))

    @classmethod
    def _apart(
        cls, whole: InputBranches, rule: FilledBranches | str, known: KnownBranches | None
    ) -> dict[int, InputBranches]:
        """Datasets that differ from the whole input. A dataset without events is treated like that
        of the first file with events, whose structure its outputs take."""
        files_of: dict[int, list[FileIndex]] = {}
        for file in whole.files:
            files_of.setdefault(file.dataset, []).append(file)
        if known is not None:
            return {
                number: cls._of_files(files_of.get(number, whole.files), rule, each, whole.tree)
                for number, each in known.apart.items()
            }
        if len(files_of) < 2 or rule == "common":
            return {}
        first = next((file.dataset for file in whole.files if file.n_entries), 0)
        has_events = {n: any(file.n_entries for file in own) for n, own in files_of.items()}
        apart = {
            number: cls._of_files(own, rule, None, whole.tree)
            for number, own in files_of.items()
            if has_events[number]
        }
        found = {n: apart.get(n if has_events[n] else first, whole) for n in files_of}
        return {n: each for n, each in found.items() if not each._is_like(whole)}

    def _is_like(self, other: InputBranches) -> bool:
        """Whether both give outputs the same contents."""
        trees = [[each.branches for each in of.with_events] for of in (self, other)]
        mine, its = ((of.branches, of.members, of.fills) for of in (self, other))
        return mine == its and trees[0] == trees[1]

    @classmethod
    def _of_files(
        cls,
        index: Sequence[FileIndex],
        rule: FilledBranches | str,
        known: KnownBranches | None,
        tree: str,
    ) -> InputBranches:
        of_events = cls._of_tree(index, rule, known, tree)
        with_events = tuple(cls._with_events(index, rule))
        fills = _fills_of_friends(of_events.files[0].friends if of_events.files else ())
        return replace(of_events, with_events=with_events, fills_of_friends=fills)

    @classmethod
    def _with_events(
        cls, index: Sequence[FileIndex], rule: FilledBranches | str
    ) -> Iterator[InputBranches]:
        """Accompanying trees; only branches of the event tree are filled."""
        for parts in zip(*(file.friends for file in index), strict=True):
            files = [part.own for part in parts if part.own is not None]
            if files:
                own_rule = rule if isinstance(rule, str) else "same"
                found = cls._of_tree(files, own_rule, None, parts[0].in_outputs)
                yield replace(found, prefix=parts[0].prefix)

    @classmethod
    def _of_tree(
        cls,
        index: Sequence[FileIndex],
        rule: FilledBranches | str,
        known: KnownBranches | None,
        tree: str,
    ) -> InputBranches:
        files = [file for file in index if file.n_entries] or list(index)
        friends = {
            name: (number, branch)
            for number, part in enumerate(files[0].friends if files else ())
            for name, branch in part.columns.items()
        }
        values = rule.fill if isinstance(rule, FilledBranches) else {}
        if known is not None:
            branches = {branch.name: branch for branch in known.branches}
            members = {branch.name: branch for branch in known.members}
            lacking = [(branches | members)[name] for name in known.filled]
            fills = _fills(lacking, values)
            lacked = known.left_out
            return cls(index, branches, fills, lacked, friends, True, tree, members=members)
        held = all_branches(index)
        fills = _fills(_lacking(files, held), values) if values else {}
        left_out: list[str] = []
        if rule == "common":
            common = _common(files, held)
            left_out = [name for name in held if name not in common]
            held = common
        branches = {name: branch for name, branch in held.items() if not branch.top}
        members = {name: branch for name, branch in held.items() if branch.top}
        return cls(index, branches, fills, left_out, friends, tree=tree, members=members)

    @property
    def known(self) -> KnownBranches:
        """Facts that nodes need about files that they do not open."""
        filled, left_out = tuple(self.fills), tuple(self.left_out)
        members = tuple(self.members.values())
        apart = {number: each.known for number, each in self.apart.items()}
        return KnownBranches(tuple(self.branches.values()), filled, left_out, members, apart)

    @cached_property
    def lacked(self) -> Mapping[int, frozenset[str]]:
        """By dataset number, columns absent from all its files but present in others, except filled
        ones."""
        all_of = self.readable.keys() - self.fills.keys()
        lacked = {n: all_of - each.readable.keys() for n, each in self.apart.items()}
        return {n: frozenset(names) for n, names in lacked.items() if names}

    @property
    def format(self) -> Format:
        """The common format of all files. Raises InputError if there are several."""
        return format_of_input(self.files)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Name and type of readable columns, friends included."""
        own = [(name, branch.type) for name, branch in self.readable.items()]
        return own + [(name, branch.type) for name, (_, branch) in self.friends.items()]

    @property
    def names_of_trees(self) -> list[str]:
        """Names of the trees that accompany the events, without their folder."""
        return [tree.prefix.removesuffix(".") for tree in self.with_events]

    @property
    def types_of_friends(self) -> dict[str, str]:
        """Type of each friend column that does not accompany the events to outputs."""
        with_events = {name for tree in self.with_events for name in tree.branches}
        return {n: b.type for n, (_, b) in self.friends.items() if n not in with_events}

    @cached_property
    def readable(self) -> dict[str, Branch]:
        """Columns of the input itself, by name."""
        held = self.branches | dict(self.members)
        return {name: branch for name, branch in held.items() if branch.readable}

    @cached_property
    def names(self) -> ColumnNames:
        """Explanations of unknown names, for messages."""
        file = next((file for file in self.files if file.path and file.n_entries), None)
        held = self.branches | dict(self.members)
        return ColumnNames.of(held, self.format, file, self.tree)

    def explained(self, problems: Iterable[str]) -> list[str]:
        """Adds the reason to problems about branches that are left out."""
        return [
            _explained(problem)
            if any(f'"{name}"' in problem for name in self.left_out)
            else problem
            for problem in problems
        ]


def _explained(problem: str) -> str:
    first, *others = problem.split("\n")
    why = 'some files lack it, and source.branches = "common" leaves it out'
    return "\n".join([f"{first}; {why}", *others])


def _common(files: Sequence[FileIndex], branches: Mapping[str, Branch]) -> dict[str, Branch]:
    """Branches that all files have, with one type."""
    held = [types_of(file) for file in files]
    first = {name: kind for each in reversed(held) for name, kind in each.items()}
    return {
        name: branch
        for name, branch in branches.items()
        if all(each.get(name) == first[name] for each in held)
    }


def _lacking(files: Sequence[FileIndex], branches: Mapping[str, Branch]) -> list[Branch]:
    """Columns that some file lacks."""
    names = [{branch.name for branch in file.all_branches} for file in files]
    return [
        branch
        for branch in branches.values()
        if branch.readable and not all(branch.name in each for each in names)
    ]


def _fills_of_friends(parts: Sequence[FriendPart]) -> dict[str, float]:
    """Values for events without a partner, by column that a pattern matches. Lists are empty there,
    and their counters 0."""
    fills: dict[str, float] = {}
    for number, part in enumerate(parts):
        key = f"source.friends[{number}].missing.fill"
        counters = {branch.counter for branch in part.columns.values()}
        counted = {n: b for n, b in part.columns.items() if b.name not in counters}
        named = [branch._replace(name=name) for name, branch in counted.items()]
        values = _fills(named, part.fills, key)
        fills |= {name: value for name, (value, _) in values.items()}
        if part.fills:
            fills |= {n: 0.0 for n, branch in part.columns.items() if branch.name in counters}
    return fills


def _fills(
    lacking: Sequence[Branch],
    values: Mapping[str, bool | float],
    key: str = "source.branches.fill",
) -> dict[str, Fill]:
    """By column that some file lacks, the value of the first matching pattern. `key`: names the
    patterns in the configuration."""
    fills = {}
    problems: list[str] = []
    for branch in lacking:
        pattern = next((p for p in values if fnmatchcase(branch.name, p)), None)
        if pattern is not None:
            problems += _problems(f'{key}."{pattern}"', branch, values[pattern])
            fills[branch.name] = (float(values[pattern]), branch.counter)
    if problems:
        raise ConfigError(problems)
    return fills


def _problems(key: str, branch: Branch, value: bool | float) -> Iterator[str]:
    kind = ColumnType.of(branch.type)
    if not kind.is_text and not _holds(kind.element, value):
        shown = str(value).lower() if isinstance(value, bool) else value
        yield (
            f'{key}: "{branch.name}" is {branch.type}, which cannot be {shown}; give it a value of'
            " its own before this pattern"
        )


def _holds(kind: str, value: bool | float) -> bool:
    if kind == "bool":
        return value in (0, 1)
    if kind.startswith("float"):
        return True
    if not math.isfinite(value) or value != int(value) or abs(value) > _EXACT:
        return False
    limits = np.iinfo(kind)
    return bool(limits.min <= value <= limits.max)


def all_branches(index: Sequence[FileIndex]) -> dict[str, Branch]:
    """Every input branch and inner column by name, in order of first appearance, from files with
    events, or else from the first whose tree has branches. Among branches of one name, the first
    counts."""
    files = [file for file in index if file.n_entries] or [f for f in index if f.clusters][:1]
    branches: dict[str, Branch] = {}
    different: dict[tuple[int, int], FileIndex] = {}
    for file in files:
        different.setdefault((id(file.branches), id(file.members)), file)
    for file in different.values():
        for branch in file.all_branches:
            branches.setdefault(branch.name, branch)
    return branches


def types_of(file: FileIndex, kept: Collection[str] = ()) -> dict[str, str]:
    """Type of each branch and inner column of a file by name; for repeated names all types, in
    order; for those that are `kept` as bytes also their counter."""
    types = {branch.name: branch.type for branch in file.all_branches}
    counted = [b for b in file.branches if b.counter and b.name in kept]
    types |= {b.name: f"{b.type} counted by {b.counter}" for b in counted}
    if len(types) < len(file.all_branches):
        for name in types:
            types[name] = " and ".join(b.type for b in file.all_branches if b.name == name)
    return types
