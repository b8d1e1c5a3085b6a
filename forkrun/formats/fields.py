"""Fields of the tables of a merge whose files differ in them: which are kept, filled or widened."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from forkrun import _core
from forkrun.errors import InputError
from forkrun.formats.column_types import ColumnType, flat_names
from forkrun.formats.described import OTHER
from forkrun.formats.events import NO_IDS

Form = tuple[str, str]
"""Type and counter of a field."""
Aligned = tuple[list[str], list[tuple[str, str, str]]]
"""Names of the fields that all files have alike; name, type and counter of those that are written
by their values."""
_RECORD_OF_ORIGINS = "forkrun_origins"
_COUNT = "uint32"
"""Type of the numbers of items in lists of RNTuples."""


class FileFields(NamedTuple):
    """Changes of the fields of one table of a file by a merge. `filled`: fields that the file
    lacks, which are 0, false or empty for its entries; `widened`: new types, by field; `left_out`:
    fields that some other file lacks, or has of a type that does not fit."""

    table: str
    file: str
    n_entries: int
    filled: list[str]
    widened: dict[str, str]
    left_out: list[str]


@dataclass(frozen=True)
class _Part:
    """Table of a file. `tree`: its name there, with a cycle if it is not the newest."""

    file: str
    tree: str
    format: str
    n_entries: int

    @cached_property
    def index(self) -> Mapping[str, Any]:
        return _core.index_tree(self.file, self.tree, *NO_IDS)

    @cached_property
    def members(self) -> dict[str, Form]:
        """Columns within branches."""
        return {name: (kind, "") for name, kind, _ in self.index["members"]}

    @cached_property
    def named_twice(self) -> dict[str, Form]:
        """By name; those that are "Jet.pt" and "Jet_pt" under both."""
        forms: dict[str, Form] = {}
        for name, kind, counter in self.index["branches"]:
            if name in forms:  # of several branches of a tree
                kind = f"{OTHER}{forms[name][0].removeprefix(OTHER)} and {kind}"
            forms[name] = kind, counter
        return forms

    def fields(self, as_members: bool) -> dict[str, Form]:
        """The same once, as trees name them. `as_members`: single values in records, "HLT.Mu",
        stay there."""
        held = self.named_twice
        second = {
            flat if as_members and not ColumnType.of(held[name][0]).is_list else name
            for name, flat in flat_names(held).items()
        }
        return {name: form for name, form in held.items() if name not in second}


def align(
    inputs: Sequence[str],
    rule: str,
    trees: Sequence[str] | None,
    format: str | None,
    exclude: Sequence[str] = (),
) -> tuple[dict[str, Aligned], list[FileFields]]:
    """Fields of each table whose files differ in them, by path, and the changes of each file.
    `rule`: "union", "common", or "alike": those that all files have alike; `trees`, `format`: as
    for the merge; `exclude`: tables that are not merged. Raises InputError."""
    aligned: dict[str, Aligned] = {}
    changes: list[FileFields] = []
    for path, parts in _tables(inputs, trees, {_RECORD_OF_ORIGINS, *exclude}).items():
        with_entries = [part for part in parts if part.n_entries]
        table = _Table(path, with_entries, rule, format or parts[0].format)
        if with_entries and not table.is_uniform:
            aligned[path] = table.aligned
            changes += table.changes
    return aligned, changes


def _tables(
    inputs: Sequence[str], trees: Sequence[str] | None, exclude: Container[str]
) -> dict[str, list[_Part]]:
    """Parts of each table that is merged."""
    asked = None if trees is None else {tree.partition(";")[0]: tree for tree in trees}
    tables: dict[str, list[_Part]] = {}
    for file in inputs:
        for path, format, n_entries in _core.stored_tables(file):
            if path not in exclude and (asked is None or path in asked):
                tree = path if asked is None else asked[path]
                tables.setdefault(path, []).append(_Part(file, tree, format, n_entries))
    return tables


@dataclass(frozen=True)
class _Table:
    """Table of several files, which becomes one of `format`."""

    path: str
    parts: Sequence[_Part]
    rule: str
    format: str

    @cached_property
    def held(self) -> list[dict[str, Form]]:
        """Fields of each part. A tree that becomes an RNTuple gives its columns alone, also those
        within branches of objects."""
        if self.format == "ttree":
            return [part.fields(as_members=False) for part in self.parts]
        if all(part.format == self.format for part in self.parts):
            return [part.fields(as_members=True) for part in self.parts]
        every = [part.fields(as_members=False) | part.members for part in self.parts]
        counters = {counter for each in every for _, counter in each.values()}
        return [
            {name: (_COUNT, "") if name in counters else form for name, form in each.items()
             if not form[0].startswith(OTHER)}
            for each in every
        ]  # fmt: skip

    @property
    def is_uniform(self) -> bool:
        """Whether all parts have the same fields."""
        return all(each == self.held[0] for each in self.held)

    @cached_property
    def forms(self) -> dict[str, list[Form]]:
        """Forms of each field in the parts that have it."""
        names = dict.fromkeys(name for each in self.held for name in each)
        return {name: [each[name] for each in self.held if name in each] for name in names}

    @cached_property
    def counters(self) -> set[str]:
        return {counter for forms in self.forms.values() for _, counter in forms}

    @cached_property
    def aligned(self) -> Aligned:
        n_parts = len(self.parts)
        alike = {n for n, f in self.forms.items() if len(f) == n_parts and len(set(f)) == 1}
        kept = [n for n in self.forms if n in alike and self._has_counter_of(n, alike)]
        known = set(kept)
        others = [name for name in self.forms if name not in known]
        written = {name: kind for name in others if (kind := self._written_type(name))}
        in_order = sorted(written, key=lambda name: name not in self.counters)
        known |= written.keys()
        return kept, [(name, written[name], self._counter(name, known)) for name in in_order]

    def _has_counter_of(self, name: str, names: Iterable[str]) -> bool:
        """Whether a list's counter is among these, or is no field."""
        counter = self.forms[name][0][1]
        return not counter or counter in names or counter not in self.forms

    def _written_type(self, name: str) -> str:
        """Type that holds the values of all parts; "" if the field is left out. Raises
        InputError."""
        forms = self.forms[name]
        if self.rule == "alike" or (self.rule == "common" and len(forms) < len(self.parts)):
            return ""
        kinds = list(dict.fromkeys(kind for kind, _ in forms))
        if found := wider_type(kinds, name in self.counters):
            return found
        if self.rule == "common":
            return ""
        raise InputError(self._problem(name, kinds))

    def _counter(self, name: str, known: set[str]) -> str:
        """Counter of a written list: that of all parts, or in a tree one of its own."""
        counters = {counter for _, counter in self.forms[name]}
        counter = counters.pop()
        if not counters and counter in known:
            return counter
        own = f"n{name}" if self.format == "ttree" else ""
        while own in self.forms:
            own += "_"
        return own

    def _problem(self, name: str, kinds: Sequence[str]) -> str:
        have = {each[name][0]: part for each, part in zip(self.held, self.parts, strict=True)
                if name in each}  # fmt: skip
        kind = kinds[0].removeprefix(OTHER)
        start = f'{have[kinds[0]].file}: "{self.path}": field "{name}" is {kind}'
        if len(kinds) > 1:
            other = kinds[1].removeprefix(OTHER)
            why = f"and {other} in {have[kinds[1]].file}: no type holds both without loss"
        else:
            lacking = next(
                part for each, part in zip(self.held, self.parts, strict=True) if name not in each
            )
            why = f"which has no default, and {lacking.file} lacks it"
        return f"{start}, {why}; leave such fields out: --fields common"

    @property
    def changes(self) -> Iterator[FileFields]:
        """Changes of each part that has any."""
        kept, written = self.aligned
        types = {name: kind for name, kind, _ in written}
        known = {*kept, *types}
        for part, own in zip(self.parts, self.held, strict=True):
            change = FileFields(
                self.path, part.file, part.n_entries,
                filled=[name for name in types if name not in own],
                widened={n: types[n] for n, (kind, _) in own.items() if types.get(n, kind) != kind},
                left_out=[name for name in own if name not in known],
            )  # fmt: skip
            if change.filled or change.widened or change.left_out:
                yield change


def wider_type(kinds: Sequence[str], counts: bool = False) -> str:
    """Type of columns that holds the values of all these without loss; "" if there is none.
    `counts`: they are numbers of values, which all 32-bit integers hold."""
    import numpy as np  # longer to load than most files take to merge

    if any(kind.startswith(OTHER) for kind in kinds):
        return ""
    if len(kinds) == 1:
        return kinds[0]
    if counts and set(kinds) == {"int32", "uint32"}:
        return "int32"
    types = [ColumnType.of(kind) for kind in kinds]
    if len({type._replace(element="") for type in types}) > 1 or any(t.is_text for t in types):
        return ""
    dtypes = [np.dtype(type.element) for type in types]
    wide = np.result_type(*dtypes)
    if wide.kind == "f" and any(each.kind in "iu" and each.itemsize == 8 for each in dtypes):
        return ""
    return str(types[0]._replace(element=wide.name))
