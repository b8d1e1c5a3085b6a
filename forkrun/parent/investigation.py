"""Finds the event that crashes the child: a unit that has crashed it twice is processed event by
event, by a child that keeps no results, until it dies again at a known event."""

from __future__ import annotations

from enum import Enum, auto

from msgspec import Struct

from forkrun.child.assignment import entry_at
from forkrun.plan.model import EntryRange

_OTHERS = 3
"""Number of events compared with one that crashes the child before any is done."""


class _Step(Enum):
    WHOLE = auto()
    ALONE = auto()
    AGAIN = auto()
    OTHER = auto()


class CrashingEvent(Struct, frozen=True):
    """Event that crashes the child, by itself or after those before it."""

    entry: EntryRange
    event: int
    cause: str


class EveryEvent:
    """Finding that the child crashes at any event that comes first."""


class OtherCause:
    """Finding that the events do not crash a child again: the cause is elsewhere."""


class Investigation:
    """Search for the event that crashes the child, in a unit with these entries. Ask for the
    `entries` of the next probe, then report its end."""

    def __init__(self, ranges: tuple[EntryRange, ...]) -> None:
        self._ranges = ranges
        self._step = _Step.WHOLE
        self._suspect: CrashingEvent | None = None
        self._is_first = False
        self._others: list[EntryRange] = []

    @property
    def entries(self) -> tuple[EntryRange, ...]:
        """Entries for the next probe."""
        if self._step is _Step.ALONE and self._suspect:
            return (self._suspect.entry,)
        if self._step is _Step.OTHER:
            return (self._others[0],)
        return self._ranges

    @property
    def compares(self) -> bool:
        """Whether the next probe takes another event than the suspect."""
        return self._step is _Step.OTHER

    def survived(self) -> CrashingEvent | OtherCause | None:
        """Handles a probe that ended normally. Returns None if another one is needed."""
        if self._step is _Step.ALONE:
            self._step = _Step.AGAIN
            return None
        if self._step is _Step.OTHER:
            return self._suspect
        return OtherCause()

    def died(
        self,
        n_events_done: int | None,
        event: int,
        cause: str,
        *,
        is_elsewhere: bool = False,
        has_raised: bool = False,
    ) -> CrashingEvent | OtherCause | EveryEvent | None:
        """Handles a probe that died in this event, after `n_events_done` others. `is_elsewhere`: in
        a thread that calls no module; `has_raised`: by an exception of a module. Returns None if
        another probe is needed."""
        if is_elsewhere:
            return OtherCause()
        entry = None if n_events_done is None else entry_at(self.entries, n_events_done)
        if entry is None:  # before the first event, or when all were done
            return OtherCause()
        found = CrashingEvent(entry, event, cause)
        match self._step:
            case _Step.WHOLE:
                self._suspect, self._step = found, _Step.ALONE
                self._is_first = n_events_done == 0 and not has_raised
                return None
            case _Step.ALONE:
                return self._compared(found)
            case _Step.OTHER:
                self._others.pop(0)
                return None if self._others else EveryEvent()
            case _Step.AGAIN:
                same = self._suspect is not None and self._suspect.entry == entry
                return found if same else OtherCause()

    def _compared(self, found: CrashingEvent) -> CrashingEvent | None:
        """The event, unless it came first: then others may crash as well, for instance if a module
        loads a library that this process cannot run."""
        self._suspect = found
        n = sum(each.last - each.first for each in self._ranges)
        others = [entry_at(self._ranges, place) for place in range(1, min(n, _OTHERS + 1))]
        self._others = [entry for entry in others if entry]
        if not self._is_first or not self._others:
            return found
        self._step = _Step.OTHER
        return None
