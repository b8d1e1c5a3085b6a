"""Columns read by a module, and messages about others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

from msgspec import Struct

from forkrun.base.nearest import close_to, suggestion
from forkrun.base.quantities import plural
from forkrun.modules.objects.collections import Columns, NoSuchColumnError, NoSuchNameError


class Reader(Protocol):
    """Access of an event block to columns."""

    @property
    def known(self) -> Columns:
        """All columns of the job."""

    @property
    def made(self) -> Collection[str]:
        """Columns of modules in Python, whose numbers may be missing."""

    def objects(self, block: Any, name: str) -> Any:
        """Objects of a collection. Raises AttributeError, KeyError."""

    def offsets(self, block: Any, name: str) -> Any:
        """(n_events + 1,) offsets of a collection; None if none of its columns can be read."""

    def without(self, lacked: frozenset[str], dataset: str) -> Reader:
        """The reader for events of a dataset whose files lack some columns."""

    def not_read(self, column: str, message: str) -> str:
        """Message about a column that the module may not read."""

    def no_attribute(self, name: str) -> str:
        """Message about a name that is neither a collection nor a column."""


class ModuleColumns(Struct, frozen=True):
    """Columns of a job as one module may read them. `known`: all columns; `read`: those of the
    module; `n_tried`: number of events with which these were found, None if they are declared;
    `made`: columns of modules in Python, whose numbers may be missing."""

    known: Columns
    read: frozenset[str]
    n_tried: int | None = None
    made: Collection[str] = frozenset()

    @classmethod
    def of_names(cls, names: Iterable[str]) -> ModuleColumns:
        """Reader that knows no columns except those of the module."""
        return cls(Columns({}), frozenset(names))

    def without(self, lacked: frozenset[str], dataset: str) -> ModuleColumns:
        """The reader for events of a dataset whose files lack some columns."""
        known = self.known.without(lacked, dataset)
        return ModuleColumns(known, self.read - lacked, self.n_tried, self.made)

    def objects(self, block: Any, name: str) -> Any:
        """Objects of a collection, with a field for each column that is read."""
        from forkrun.modules.objects.records import make_objects

        collection = self.known.collection(name)
        if collection is None:
            raise NoSuchNameError(self.no_attribute(name))
        columns = {f: column for f, column in collection.columns.items() if column in self.read}
        if not columns:
            some = next(iter(collection.columns.values()))
            raise NoSuchColumnError(self.not_read(some, f"the module reads no column of {name}"))
        return make_objects(block, collection, columns)

    def offsets(self, block: Any, name: str) -> Any:
        """(n_events + 1,) offsets of a collection; None if none of its columns is read."""
        collection = self.known.collection(name)
        if collection is None or not collection.is_jagged:
            return None
        column = next((c for c in collection.columns.values() if c in self.read), None)
        return block.plain(column)[0] if column else None

    def load_objects(self, names: Collection[str], *, any_name: bool) -> None:
        """Loads the classes of objects that the module reads and names into this process, to be
        shared by children, and the library of vectors if all coordinates of a vector are read.
        `names`: found in its code; `any_name`: it may compute further names."""
        of_read = self.known.collections_of(self.read)
        for name in of_read if any_name else of_read & {*names}:
            collection = self.known.collection(name)
            columns = collection.columns if collection else {}
            fields = {field for field, column in columns.items() if column in self.read}
            if collection and fields:
                from forkrun.modules.objects.records import load_behaviour

                load_behaviour(collection, fields)

    def not_read(self, column: str, message: str) -> str:
        """Message about a column that the module may not read."""
        if self.n_tried is None:
            return explain_column(column, self.read, self.known) if self.known.types else message
        return (
            f'"{column}" was not read with the first {plural(self.n_tried, "event")}, by which'
            f" forkrun finds out what a module reads; declare it: consumes = (…, {column!r})"
        )

    def no_attribute(self, name: str) -> str:
        """Message about a name that is neither a collection nor a column."""
        return no_such_name(name, self.known)


def no_such_name(name: str, known: Columns) -> str:
    """Message about a name that is neither a collection nor a column."""
    names = [*known.names, *known.types]
    return known.names_there.missing(name, names)


def explain_column(name: str, consumes: Collection[str], known: Columns) -> str:
    """Message about a column that the module cannot have, with a remedy."""
    start, there = f'"{name}" is not in `consumes` of the module', known.names_there
    if name in known.types:
        names = ", ".join(f'"{column}"' for column in [*sorted(consumes), name])
        return f"{start}; write consumes = ({names},)"
    is_near = close_to(name, consumes)
    hint = suggestion(name, consumes) if is_near else there.hint(name, sorted(known.types))
    return there.no_column(name) or f"{start}, and no column of the input or of a module{hint}"
