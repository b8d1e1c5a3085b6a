"""An event block that records the columns requested by a module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.formats.column_types import ColumnType
from forkrun.formats.plain import Plain, rows_of
from forkrun.modules.columns import spans_left
from forkrun.modules.objects.collections import Collection as Objects
from forkrun.modules.objects.collections import Columns, NoSuchNameError
from forkrun.modules.objects.links import SUFFIX
from forkrun.modules.objects.reading import no_such_name
from forkrun.schedule.trial.first_events import FirstEvents


class TrialBlock:
    """Stand-in for the core's block in an EventBlock. `column_of` returns any column of the job,
    for all events; `left`: (n_events,) bool, events of the block; `touched`: requested columns."""

    iov = 0

    def __init__(
        self,
        events: FirstEvents,
        column_of: Callable[[str], Plain],
        left: npt.NDArray[np.bool_],
        iov: int,
    ) -> None:
        self._events = events
        self._column_of = column_of
        self._left = left
        self._rows = None if left.all() else np.flatnonzero(left)
        self.iov = iov
        self.file = events.ranges[0].file if events.ranges else 0
        self.n_events = int(np.count_nonzero(left))
        self.mask = np.ones(self.n_events, dtype=bool)
        self.n_lumis = len({lumi[:2] for lumi in events.lumis})
        self.run, self.lumi = events.lumis[0][:2] if events.lumis else (1, 1)
        self.touched: dict[str, None] = {}

    @property
    def events(self) -> npt.NDArray[np.uint64]:
        return self._events.events[self._left]

    def lumi_spans(self) -> npt.NDArray[np.int64]:
        """(n_lumis, 4), in the core's form."""
        spans = np.array(self._events.lumis, dtype=np.int64).reshape(-1, 4)
        return spans_left(spans, self._left)

    def random(self) -> _core.BlockRandom:
        """Arbitrary random numbers: reads do not depend on them."""
        return _core.BlockRandom(0, "", self.run, self.lumi, self.events)

    def column(self, name: str) -> Plain:
        plain = self.peek(name)
        self.touched[name] = None
        return plain

    def peek(self, name: str) -> Plain:
        """Returns the column without recording it."""
        plain = self._column_of(name)
        return plain if self._rows is None else rows_of(plain, self._rows)


class NotingColumns:
    """Lets a module read all columns and records which. `is_guess`: some were recorded because no
    event showed which collection is meant."""

    def __init__(self, known: Columns, block: TrialBlock, made: Collection[str]) -> None:
        self.known, self.made = known, made
        self._block = block
        self._counted: dict[str, Objects] = {}
        self._named: set[str] = set()
        self.is_guess = False

    def without(self, lacked: frozenset[str], dataset: str) -> NotingColumns:
        """Returns itself, adapted to events of a dataset whose files lack some columns."""
        self.known = self.known.without(lacked, dataset)
        return self

    def objects(self, block: Any, name: str) -> Any:
        """Returns all objects; only touched fields are read."""
        from forkrun.modules.objects.records import make_virtual

        collection = self.known.collection(name)
        if collection is None:
            raise NoSuchNameError(self.no_attribute(name))
        types = {
            field: ColumnType.of(self.known.types[column])
            for field, column in collection.columns.items()
        }
        offsets = partial(self.offsets, block, name)
        return make_virtual(block, collection, types, offsets, self._block.peek, self._note)

    def offsets(self, block: Any, name: str) -> Any:
        """Offsets of a collection; None if it is not jagged."""
        collection = self.known.collection(name)
        if collection is None or not collection.is_jagged:
            return None
        self._counted[name] = collection
        return self._block.peek(_likely(collection))[0]

    def _note(self, collection: Objects, fields: Iterable[str], is_guess: bool = False) -> None:
        self.is_guess |= is_guess
        for field in fields:
            for column in collection.columns_of_link(field.removesuffix(SUFFIX)):
                self._block.column(column)
            if member := collection.members.get(field):
                self._named.update(member.needed)
                for column in member.needed:
                    self._block.column(column)
            if field in collection.columns:
                self._named.add(collection.columns[field])
                self._block.column(collection.columns[field])

    def touched(self) -> list[str]:
        """Columns that the module read; all coordinates, if some were read but not by name, as
        vectors do; and one column of each collection that it only counted."""
        touched = self._block.touched
        for collection in self._counted.values():
            coordinates = [collection.columns[field] for field in sorted(collection.coordinates)]
            if touched.keys() & set(coordinates) - self._named:
                touched |= dict.fromkeys(coordinates)
            if not touched.keys() & set(collection.columns.values()):
                touched[_likely(collection)] = None
        return list(touched)

    def not_read(self, column: str, message: str) -> str:
        """Returns the message unchanged."""
        return message

    def no_attribute(self, name: str) -> str:
        """Message about a name that is neither a collection nor a column."""
        return no_such_name(name, self.known)


def _likely(collection: Objects) -> str:
    """The column that is most likely read anyway."""
    return collection.columns.get("pt") or next(iter(collection.columns.values()))
