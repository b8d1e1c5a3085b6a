"""Which branches and produced columns an output keeps, and whether all files have them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from forkrun.base.nearest import suggestion
from forkrun.config import OutputConfig
from forkrun.index import Branch, FileIndex

_SHOWN = 5
_MOST_NAMED = 20
"""Branches that a person would name in a list."""


def all_branches(index: Sequence[FileIndex]) -> dict[str, Branch]:
    """Every branch of the input by name, in order of first appearance; of files with events, or of
    the first whose tree has branches if none has any. Of several branches with one name the
    first."""
    files = [file for file in index if file.n_entries] or [f for f in index if f.clusters][:1]
    branches: dict[str, Branch] = {}
    for file in files:
        for branch in file.branches:
            branches.setdefault(branch.name, branch)
    return branches


def kept(names: Iterable[str], output: OutputConfig) -> list[str]:
    """Names that match a keep pattern and no drop pattern, in the same order."""
    return [
        name
        for name in names
        if any(fnmatchcase(name, p) for p in output.keep)
        and not any(fnmatchcase(name, p) for p in output.drop)
    ]


def types_of(file: FileIndex) -> dict[str, str]:
    """Type of each branch of a file by name; of several with one name all of them, in order."""
    types = {branch.name: branch.type for branch in file.branches}
    if len(types) < len(file.branches):
        for name in types:
            types[name] = " and ".join(b.type for b in file.branches if b.name == name)
    return types


def pattern_problems(output: OutputConfig, names: Sequence[str]) -> list[str]:
    """Exact names in keep that do not exist, and outputs of which nothing is left."""
    where = f'outputs "{output.label}"'
    problems = [
        f'{where}: keep: neither the input nor a module has "{name}"' + suggestion(name, names)
        for name in output.keep
        if not set(name) & set("*?[") and name not in names
    ]
    if not problems and not names:
        problems.append(f"{where}: the input has no events, and its trees no branches")
    elif not problems and not kept(names, output):
        problems.append(f"{where}: keep and drop leave nothing to write")
    return problems


def with_counters(names: Iterable[str], branches: dict[str, Branch]) -> list[str]:
    """`names` and the counting branches that jagged ones among them need, in input order."""
    wanted = set(names)
    wanted |= {branches[name].counter for name in wanted if branches[name].counter}
    return [name for name in branches if name in wanted]


def disagreements(
    index: Sequence[FileIndex], used: Iterable[str], may_lack: Collection[str] = ()
) -> list[str]:
    """Used branches that some file lacks or has with another type, one line per file, with what to
    do. Files without events are not looked at. `may_lack`: those that are filled then."""
    files = [file for file in index if file.n_entries]
    branches = all_branches(index)
    names = [name for name in branches if name in set(used)]
    types = [types_of(file) for file in files]
    first = {name: kind for each in reversed(types) for name, kind in each.items()}
    return [
        problem
        for file, own in zip(files, types, strict=True)
        for problem in _of_file(file, own, names, first, branches, may_lack)
    ]


def _of_file(
    file: FileIndex,
    own: Mapping[str, str],
    names: Sequence[str],
    types: Mapping[str, str],
    branches: dict[str, Branch],
    may_lack: Collection[str],
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
    if missing:
        problems.append(
            f"{file.path}: this file lacks {_shown(missing)}, which other files have and the job"
            f" reads or keeps; {_remedy(missing)}, or say what it is there:"
            f" source.branches = {{ fill = {_filled(missing, branches)} }}"
        )
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
    """An example for the configuration."""
    name = names[0]
    return f'{{ "{name}" = {"false" if branches[name].type.startswith("bool") else 0} }}'
