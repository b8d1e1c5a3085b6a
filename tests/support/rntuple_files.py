"""RNTuples as uproot and ROOT read them, and files of them that ROOT writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from forkrun import _core
from forkrun.formats.column_types import ColumnType

Lists = Mapping[str, list[Any]]
"""Values of each entry by column, lists as lists."""


def types_of(path: str, ntuple: str) -> dict[str, str]:
    """Types of its columns by name."""
    index = _core.index_tree(path, ntuple, "", "", "")
    assert index["format"] == "rntuple"
    return {name: kind for name, kind, _ in index["branches"]}


def by_forkrun(path: str, ntuple: str, step: int = 0) -> Lists:
    """All columns; `step`: so many entries at a time, 0: all of them."""
    types = {n: kind for n, kind in types_of(path, ntuple).items() if not kind.startswith("other:")}
    n_entries = _core.index_tree(path, ntuple, "", "", "")["n_entries"]
    opened = _core.OpenTree(path, ntuple)
    found: dict[str, list[Any]] = {name: [] for name in types}
    for first in range(0, n_entries, step or n_entries or 1):
        columns = opened.read(list(types), first, min(n_entries, first + (step or n_entries)))
        for name, column in columns.items():
            found[name] += as_lists(column, types[name])
    return found


def as_lists(column: Any, kind: str) -> list[Any]:
    """Values of a plain column."""
    if not isinstance(column, tuple):
        return list(column.tolist())
    offsets = column[0].tolist()
    if len(column) == 2 and ColumnType.of(kind).is_text:
        characters = column[1].tobytes()
        return [characters[first:last].decode() for first, last in pairwise(offsets)]
    inner = as_lists(column[1] if len(column) == 2 else column[1:], kind)
    return [inner[first:last] for first, last in pairwise(offsets)]


def by_uproot(path: str, ntuple: str, names: Sequence[str]) -> Lists:
    """These columns; those that are only other names of members of lists are taken from there."""
    import awkward as ak
    import uproot

    with uproot.open(path) as file:
        table = file[ntuple]
        tops = set(table.keys(recursive=False))
        of = {name: _top(name, tops) for name in names}
        counted = {name: name[1:] for name in names if not of[name] and name[1:] in tops}
        # One by one: for each field of a table that it reads in one go, uproot looks through all.
        arrays = {top: table[top].array() for top in {*of.values(), *counted.values()} if top}
        found = {}
        for name, top in of.items():
            if top:
                array = arrays[top]
                members = name[len(top) + 1 :].replace("_", ".") if name[len(top) :] else ""
                for member in _members(array, name[len(top) + 1 :] if members else ""):
                    array = array[member]
                found[name] = ak.to_list(array)
            elif name in counted:
                found[name] = ak.num(arrays[counted[name]], axis=1).tolist()
        return found


def _top(name: str, tops: Collection[str]) -> str:
    """The longest name of a field that a column is one of, or a member of; or ""."""
    ends = [len(name), *(at for at in reversed(range(len(name))) if name[at] in "._")]
    return next((name[:end] for end in ends if name[:end] in tops), "")


def _members(array: Any, path: str) -> list[str]:
    """The fields that a path of names goes through; uproot has those of pairs without "_"."""
    return [part.lstrip("_") if part[:1] == "_" else part for part in path.split(".") if part]


def by_root(path: str, ntuple: str, names: Sequence[str]) -> Lists:
    """As RDataFrame reads them. In a process of its own."""
    from tests.server.root_program import call_root

    found: Lists = call_root(_read_by_root, path, ntuple, list(names))
    return found


def _read_by_root(path: str, ntuple: str, names: list[str]) -> Lists:
    import ROOT

    frame = ROOT.RDataFrame(ntuple, path)
    known = {str(name) for name in frame.GetColumnNames()}
    columns = frame.AsNumpy([name for name in names if name in known])
    return {name: [_plain(value) for value in values] for name, values in columns.items()}


def by_entries_of_root(path: str, ntuple: str, names: Sequence[str]) -> Lists:
    """Numbers as ROOT reads each entry: RDataFrame opens no file with a bitset."""
    from tests.server.root_program import call_root

    found: Lists = call_root(_read_entries, path, ntuple, list(names))
    return found


def _read_entries(path: str, ntuple: str, names: list[str]) -> Lists:
    import ROOT

    reader = ROOT.RNTupleReader.Open(ntuple, path)
    values, found = reader.CreateEntry(), dict[str, list[Any]]((name, []) for name in names)
    for entry in range(reader.GetNEntries()):
        reader.LoadEntry(entry, values)
        for name in names:
            found[name].append(values[name])
    return found


def _plain(value: Any) -> Any:
    """A value of C++ as JSON has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, str | int | float | bool):
        return value
    if type(value).__name__ in ("std::string", "string"):
        return str(value)
    return [_plain(each) for each in value]
