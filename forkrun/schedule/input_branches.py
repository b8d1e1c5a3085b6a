"""Branches of the input as the job sees them, where files differ in them: eras have different
trigger menus. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.column_types import ColumnType
from forkrun.config import FilledBranches
from forkrun.errors import ConfigError
from forkrun.index import Branch, FileIndex
from forkrun.schedule.branches import all_branches, types_of

_EXACT = 2**53
"""Whole numbers up to this one are exact as fills."""
Fill = tuple[float, str]
"""A value, and the branch that counts the values of a jagged column, or ""."""


class InputBranches(Struct, frozen=True):
    """`branches`: by name, in order of first appearance; `fills`: of those that some file lacks;
    `left_out`: names of those that are not common to all files; `friends`: by column, number of the
    friend that has it, and its branch there."""

    branches: dict[str, Branch]
    fills: Mapping[str, Fill] = {}
    left_out: Sequence[str] = ()
    friends: Mapping[str, tuple[int, Branch]] = {}

    @classmethod
    def of(cls, index: Sequence[FileIndex], rule: FilledBranches | str = "same") -> InputBranches:
        """`rule`: source.branches. Raises ConfigError for values that columns cannot hold."""
        files = [file for file in index if file.n_entries] or list(index)
        branches = all_branches(index)
        friends = {
            name: (number, branch)
            for number, part in enumerate(files[0].friends if files else ())
            for name, branch in part.columns.items()
        }
        if isinstance(rule, FilledBranches):
            return cls(branches, _fills(files, branches, rule.fill), friends=friends)
        if rule == "common":
            common = _common(files, branches)
            left_out = [name for name in branches if name not in common]
            return cls(common, {}, left_out, friends)
        return cls(branches, friends=friends)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Name and type of those that can be read, and of those of friends."""
        own = [(b.name, b.type) for b in self.branches.values() if b.readable]
        return own + [(name, branch.type) for name, (_, branch) in self.friends.items()]

    def without(self, names: Collection[str]) -> InputBranches:
        """All others."""
        others = {name: branch for name, branch in self.branches.items() if name not in names}
        friends = {name: found for name, found in self.friends.items() if name not in names}
        return replace(self, branches=others, friends=friends)

    def friend_columns(self, patterns: Iterable[str]) -> list[tuple[str, str]]:
        """Columns of friends that patterns other than "*" name: an output has them as new
        columns."""
        wanted = [pattern for pattern in patterns if pattern != "*"]
        return [
            (name, branch.type)
            for name, (_, branch) in self.friends.items()
            if any(fnmatchcase(name, pattern) for pattern in wanted)
        ]

    def filled_columns(self, kept: Iterable[str]) -> list[tuple[str, str]]:
        """Kept columns that files may lack: an output has them as new columns, with
        counters of their own."""
        names = set(kept) & self.fills.keys()
        counters = {
            counter
            for name in names
            if (counter := self.fills[name][1]) == f"n{name.partition('_')[0]}"
        }
        columns = ((name, self.branches[name].type) for name in self.branches)
        return [(name, kind) for name, kind in columns if name in names - counters]

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


def _fills(
    files: Sequence[FileIndex], branches: Mapping[str, Branch], values: Mapping[str, bool | float]
) -> dict[str, Fill]:
    """By column that some file lacks, what the first pattern says that it matches."""
    names = [{branch.name for branch in file.branches} for file in files]
    lacking = [
        branch
        for branch in branches.values()
        if branch.readable and not all(branch.name in each for each in names)
    ]
    fills = {}
    problems: list[str] = []
    for branch in lacking:
        pattern = next((p for p in values if fnmatchcase(branch.name, p)), None)
        if pattern is not None:
            problems += _problems(pattern, branch, values[pattern])
            fills[branch.name] = (float(values[pattern]), branch.counter)
    if problems:
        raise ConfigError(problems)
    return fills


def _problems(pattern: str, branch: Branch, value: bool | float) -> Iterator[str]:
    kind = ColumnType.of(branch.type)
    if not kind.is_text and not _holds(kind.element, value):
        shown = str(value).lower() if isinstance(value, bool) else value
        yield (
            f'source.branches.fill."{pattern}": "{branch.name}" is {branch.type}, which cannot be'
            f" {shown}; give it a value of its own before this pattern"
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
