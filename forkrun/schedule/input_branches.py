"""Branches of the input as the job sees them, where files differ in them: eras have different
trigger menus; and whether all files have those that it uses. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.config import FilledBranches
from forkrun.errors import ConfigError
from forkrun.formats import Format
from forkrun.formats.column_types import ColumnType
from forkrun.index import Branch, ColumnNames, FileIndex, format_of_input
from forkrun.index.model import FriendPart

_SHOWN = 5
_MOST_NAMED = 20
"""Branches that a person would name in a list."""
_EXACT = 2**53
"""Whole numbers up to this one are exact as fills."""
Fill = tuple[float, str]
"""A value, and the branch that counts the values of a jagged column, or ""."""


class KnownBranches(Struct, frozen=True):
    """Branches of a whole input, for nodes, each of which opens a part of its files: as
    `InputBranches` has them. `filled`: names of those that some file lacks."""

    branches: tuple[Branch, ...]
    filled: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    members: tuple[Branch, ...] = ()


class InputBranches(Struct, frozen=True, dict=True):
    """`files`: of the input; `branches`: by name, in order of first appearance; `fills`: of those
    that some file lacks; `left_out`: names of those that are not common to all files; `friends`: by
    column, number of the friend that has it, and its branch there; `is_checked`: whoever knew all
    files has seen that they agree."""

    files: Sequence[FileIndex]
    branches: dict[str, Branch]
    fills: Mapping[str, Fill] = {}
    left_out: Sequence[str] = ()
    friends: Mapping[str, tuple[int, Branch]] = {}
    is_checked: bool = False
    tree: str = ""
    """That of the events, as messages name it."""
    with_events: Sequence[InputBranches] = ()
    """Trees that go with the events, with the names that their branches have as columns."""
    prefix: str = ""
    """Before the names of columns; "": the tree is that of the events."""
    members: Mapping[str, Branch] = {}
    """Columns within branches, by name; outputs keep these branches as they are."""
    fills_of_friends: Mapping[str, float] = {}
    """By column of a friend, its value where an event has no partner."""

    @classmethod
    def of(
        cls,
        index: Sequence[FileIndex],
        rule: FilledBranches | str = "same",
        known: KnownBranches | None = None,
        tree: str = "",
    ) -> InputBranches:
        """`rule`: source.branches; `known`: of the whole input, if `index` is of a part. Raises
        ConfigError for values that columns cannot hold."""
        of_events = cls._of_tree(index, rule, known, tree)
        with_events = tuple(cls._with_events(index, rule))
        fills = _fills_of_friends(of_events.files[0].friends if of_events.files else ())
        return replace(of_events, with_events=with_events, fills_of_friends=fills)

    @classmethod
    def _with_events(
        cls, index: Sequence[FileIndex], rule: FilledBranches | str
    ) -> Iterator[InputBranches]:
        """What is filled is so in the tree of events alone."""
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
        """What nodes have to know of files that they do not open."""
        filled, left_out = tuple(self.fills), tuple(self.left_out)
        members = tuple(self.members.values())
        return KnownBranches(tuple(self.branches.values()), filled, left_out, members)

    @property
    def format(self) -> Format:
        """The one format of all files. Raises InputError if there are several."""
        return format_of_input(self.files)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Name and type of those that can be read, and of those of friends."""
        own = [(name, branch.type) for name, branch in self.readable.items()]
        return own + [(name, branch.type) for name, (_, branch) in self.friends.items()]

    @property
    def names_of_trees(self) -> list[str]:
        """Names of the trees that go with the events, without their folder."""
        return [tree.prefix.removesuffix(".") for tree in self.with_events]

    @property
    def types_of_friends(self) -> dict[str, str]:
        """Type of each column of a friend that does not go with the events to outputs."""
        with_events = {name for tree in self.with_events for name in tree.branches}
        return {n: b.type for n, (_, b) in self.friends.items() if n not in with_events}

    @cached_property
    def readable(self) -> dict[str, Branch]:
        """Columns of the input itself, by name."""
        held = self.branches | dict(self.members)
        return {name: branch for name, branch in held.items() if branch.readable}

    @cached_property
    def names(self) -> ColumnNames:
        """What messages say of other names."""
        file = next((file for file in self.files if file.path and file.n_entries), None)
        held = self.branches | dict(self.members)
        return ColumnNames.of(held, self.format, file, self.tree)

    def explained(self, problems: Iterable[str]) -> list[str]:
        """Problems, with the reason where one is about a branch that is left out."""
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
    """Those that all files have, of one type."""
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
    """Values of events without a partner, by column that a pattern matches. A list is empty there,
    and what counts its values is 0."""
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
    """By column that some file lacks, what the first pattern says that it matches. `key`: names the
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
    """Every branch of the input by name, and the columns within them, in order of first appearance;
    of files with events, or of the first whose tree has branches if none has any. Of several
    branches with one name the first."""
    files = [file for file in index if file.n_entries] or [f for f in index if f.clusters][:1]
    branches: dict[str, Branch] = {}
    for file in files:
        for branch in file.all_branches:
            branches.setdefault(branch.name, branch)
    return branches


def types_of(file: FileIndex) -> dict[str, str]:
    """Type of each branch of a file by name, and of columns within them; of several with one name
    all of them, in order."""
    types = {branch.name: branch.type for branch in file.all_branches}
    if len(types) < len(file.all_branches):
        for name in types:
            types[name] = " and ".join(b.type for b in file.all_branches if b.name == name)
    return types


def disagreements(given: InputBranches, used: Iterable[str]) -> list[str]:
    """Used branches that some file lacks or has with another type, one line per file, with what to
    do. Files without events are not looked at, nor branches that are filled."""
    if given.is_checked:
        return []
    wanted = set(used)
    of_trees = [problem for tree in given.with_events for problem in disagreements(tree, wanted)]
    of_trees += _without_value(given, wanted)
    files = [file for file in given.files if file.n_entries]
    branches, may_lack = all_branches(given.files), given.fills
    names = [name for name in branches if name in wanted]
    types = [types_of(file) for file in files]
    first = {name: kind for each in reversed(types) for name, kind in each.items()}
    return [
        problem
        for file, own in zip(files, types, strict=True)
        for problem in _of_file(file, own, names, first, branches, may_lack, given.prefix)
    ] + of_trees


def _without_value(given: InputBranches, used: set[str]) -> Iterator[str]:
    """Columns of a friend for which no pattern has a value where an event has no partner."""
    parts = given.files[0].friends if given.files else ()
    for number, part in enumerate(parts):
        names = [n for n in part.columns if n in used and n not in given.fills_of_friends]
        if part.is_filled and names:
            yield (
                f"source.friends[{number}].missing.fill: {_shown(names)}, which the job reads or"
                f' keeps, has no value where an event has no partner; add "{names[0]}" = 0, or the'
                " like"
            )


def _of_file(
    file: FileIndex,
    own: Mapping[str, str],
    names: Sequence[str],
    types: Mapping[str, str],
    branches: dict[str, Branch],
    may_lack: Collection[str],
    prefix: str,
) -> list[str]:
    missing = [name for name in names if name not in own and name not in may_lack]
    other = [name for name in names if name in own and own[name] != types[name]]
    short = [name for name in file.short_branches if name in names]
    problems = []
    if short:
        problems.append(
            f"{file.path}: {_shown(short)}, which the job reads or keeps, has fewer entries than"
            f" its tree: it was made when that had some already; {_remedy(short)}"
        )
    if missing and prefix:
        problems.append(
            f"{file.path}: this file lacks {_shown(missing)}, which other files have and the job"
            f" reads or keeps; trees that go with the events are not filled: {_remedy(missing)}"
        )
    elif missing:
        problems.append(missing_branches(file, missing, branches))
    twice = [name for name in may_lack if " and " in own.get(name, "")]
    if twice:
        problems.append(
            f"{file.path}: {_shown(twice)} is there more than once, which others lack: it cannot be"
            f" filled; leave it out of the outputs: drop = {_quoted(twice)}"
        )
    if other:
        name = other[0]
        problems.append(
            f'{file.path}: branch "{name}" is {own[name]}, but {types[name]} in other'
            f" files; {_remedy_of_other(other, names, branches)}"
        )
    return problems


def missing_branches(file: FileIndex, names: Sequence[str], branches: dict[str, Branch]) -> str:
    """What is said of branches that a file lacks, and others have."""
    return (
        f"{file.path}: this file lacks {_shown(names)}, which other files have and the job reads or"
        f" keeps; say what it is there: source.branches = {{ fill = {_filled(names, branches)} }}"
        " (functions know data by block.dataset.is_data, if their dataset has is_data = true), or"
        f" {_remedy(names)}"
    )


def _remedy_of_other(
    other: Sequence[str], names: Sequence[str], branches: dict[str, Branch]
) -> str:
    """A counter is kept as long as lists that it counts are."""
    if set(other) & {branches[name].counter for name in names}:
        return (
            "it counts the values of others, which are read and kept with either, if this is left"
            ' out as a column: source.branches = "common"'
        )
    return f"leave it out of the outputs: drop = {_quoted(other)}"


def _remedy(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return f"leave it out of the outputs: drop = {_quoted(names)}"
    return 'leave out what not all files have: source.branches = "common"'


def _shown(names: Sequence[str]) -> str:
    text = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"branch{'es' if len(names) > 1 else ''} {text}{more}"


def _quoted(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _filled(names: Sequence[str], branches: dict[str, Branch]) -> str:
    """An example for the configuration. Weights are multiplied with others."""
    name = names[0]
    number = 1 if "weight" in name.lower() else 0
    return f'{{ "{name}" = {"false" if branches[name].type.startswith("bool") else number} }}'
