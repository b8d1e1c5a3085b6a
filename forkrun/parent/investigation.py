"""Finds the event that crashes the child: a unit that has done so twice is processed event by
event, by a child that keeps nothing, until the event at which it dies again is known."""

from __future__ import annotations

from enum import Enum, auto

from forkrun.base.dataclass import dataclass
from forkrun.child.assignment import entry_at
from forkrun.plan import EntryRange


class _Step(Enum):
    WHOLE = auto()
    ALONE = auto()
    AGAIN = auto()


@dataclass(frozen=True)
class Guilty:
    """This event crashes the child: by itself, or after those before it have been processed."""

    entry: EntryRange
    event: int
    cause: str


class Innocent:
    """These events crash no child any more: the cause of the crashes is elsewhere."""


class Investigation:
    """Search for the event that crashes the child, in a unit with these entries. Ask for the
    `entries` of the next probe, then say how it ended."""

    def __init__(self, ranges: tuple[EntryRange, ...]) -> None:
        self._ranges = ranges
        self._step = _Step.WHOLE
        self._suspect: Guilty | None = None

    @property
    def entries(self) -> tuple[EntryRange, ...]:
        """What the next probe is to process."""
        if self._step is _Step.ALONE and self._suspect:
            return (self._suspect.entry,)
        return self._ranges

    def survived(self) -> Innocent | None:
        """The probe ended well. None: another one is needed."""
        if self._step is _Step.ALONE:
            self._step = _Step.AGAIN
            return None
        return Innocent()

    def died(self, n_events_done: int | None, event: int, cause: str) -> Guilty | Innocent | None:
        """The probe died while it processed this event, after so many others. None: another one is
        needed."""
        entry = None if n_events_done is None else entry_at(self.entries, n_events_done)
        if entry is None:  # before the first event, or when all were done
            return Innocent()
        found = Guilty(entry, event, cause)
        match self._step:
            case _Step.WHOLE:
                self._suspect, self._step = found, _Step.ALONE
                return None
            case _Step.ALONE:
                return found
            case _Step.AGAIN:
                same = self._suspect is not None and self._suspect.entry == entry
                return found if same else Innocent()
