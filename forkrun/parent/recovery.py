"""What is done about a child that ended badly. Values in, verdicts out: nothing is started here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from forkrun.child.assignment import Assignment, BadEvent, Purpose, without
from forkrun.config import OnBadEvent, RecoveryConfig
from forkrun.errors import ConfigError, ForkrunError, InputError, OutputError
from forkrun.parent.investigation import Guilty, Innocent, Investigation
from forkrun.plan import EntryRange, Unit, Units

_SUSPICIOUS = 2
"""Deaths of one unit after which it is investigated."""
_HOPELESS = 3
"""Failures of a kind that no event can be blamed for, one after the other, that end a job."""


@dataclass(frozen=True)
class Death:
    """How a child ended. `unit`: in work, None if none was; `error`: what it said itself; `words`:
    of its end. `n_events_done`: None if it had begun none; `event`: the last one begun."""

    child: int
    unit: int | None
    words: str
    error: ForkrunError | None = None
    n_events_done: int | None = None
    event: int = 0
    exit_code: int = 0

    @property
    def cause(self) -> str:
        """In one line."""
        return str(self.error).splitlines()[0] if self.error else self.words


class HopelessError(Exception):
    """The job cannot go on. `death`: the last one; `bad_event`: if one is to blame."""

    def __init__(self, why: str, death: Death, bad_event: BadEvent | None = None) -> None:
        super().__init__(why)
        self.death = death
        self.bad_event = bad_event


class Recovery:
    """Keeps what is owed: units that were begun and not committed, and probes to be made."""

    def __init__(self, settings: RecoveryConfig, units: Units) -> None:
        self._settings = settings
        self._units = units
        self._owed: list[int] = []
        self._deaths: Counter[int | None] = Counter()
        self._innocent: Counter[int] = Counter()
        self._open: dict[int, Investigation] = {}
        self._probes: list[int] = []
        self._bad: dict[int, tuple[BadEvent, ...]] = {}

    @property
    def bad_events(self) -> list[BadEvent]:
        """All that were found and left out."""
        return [event for events in self._bad.values() for event in events]

    @property
    def is_busy(self) -> bool:
        """Whether somebody is to be forked for it."""
        return bool(self._owed or self._probes)

    def owe(self, units: Iterable[int]) -> None:
        """These have to be done again."""
        self._owed += [u for u in units if u not in self._owed and u not in self._open]

    def assignment(self) -> Assignment:
        """For a child that is forked now. A probe if one is due; else all that is owed."""
        if self._probes:
            unit = self._probes.pop(0)
            return Assignment(Purpose.PROBE, (unit,), self._open[unit].entries)
        first, self._owed = tuple(sorted(self._owed)), []
        left_out = {unit: self._bad[unit] for unit in first if unit in self._bad}
        return Assignment(Purpose.WORK, first, (), left_out)

    def progressed(self) -> None:
        """Children can work: deaths outside of units are counted anew."""
        self._deaths[None] = 0

    def died(self, death: Death) -> str:
        """At work. Says in words what is done about it. Raises HopelessError."""
        self._deaths[death.unit] += 1
        n = self._deaths[death.unit]
        if isinstance(death.error, ConfigError):
            raise HopelessError("it would happen again", death)
        if death.unit is None or isinstance(death.error, OutputError | InputError):
            if n >= _HOPELESS:
                raise HopelessError(f"{n} times for the same reason", death)
        elif n >= _SUSPICIOUS:
            return self._investigate(death.unit)
        if death.unit is None:
            return "a new child takes its place"
        self.owe([death.unit])
        return f"unit {death.unit} is done again"

    def _investigate(self, unit: int) -> str:
        self._open[unit] = Investigation(self._ranges(unit))
        self._owed = [u for u in self._owed if u != unit]
        self._probes.append(unit)
        return f"unit {unit} has killed twice: its events are tried one by one"

    def _ranges(self, unit: int) -> tuple[EntryRange, ...]:
        return without(self._unit(unit).ranges, self._bad.get(unit, ()))

    def _unit(self, unit: int) -> Unit:
        return self._units[unit]

    def probed(self, unit: int, death: Death | None) -> str:
        """A probe has ended; `death` None: well. Says in words what was found. Raises
        HopelessError."""
        investigation = self._open[unit]
        if death is None:
            found: Guilty | Innocent | None = investigation.survived()
        else:
            found = investigation.died(death.n_events_done, death.event, death.cause)
        if found is None:
            self._probes.append(unit)
            if death:
                return f"event {death.event} of unit {unit} is tried alone"
            return f"alone, that event of unit {unit} kills nobody: all are tried once more"
        del self._open[unit]
        if isinstance(found, Guilty):
            assert death is not None
            return self._sentence(unit, found, death)
        return self._acquit(unit, death)

    def _acquit(self, unit: int, death: Death | None) -> str:
        self._innocent[unit] += 1
        if self._innocent[unit] >= _HOPELESS:
            death = death or Death(-1, unit, "no event of it kills when tried by itself")
            raise HopelessError(f"unit {unit} has killed {self._deaths[unit]} times", death)
        self._deaths[unit] = 0
        self.owe([unit])
        return f"no event of unit {unit} is to blame: it is done again"

    def _sentence(self, unit: int, found: Guilty, death: Death) -> str:
        run, lumi = self._unit(unit).run, self._unit(unit).lumi
        file, entry = found.entry.file, found.entry.first
        bad = BadEvent(run, lumi, found.event, file, entry, found.cause)
        if self._settings.on_bad_event is OnBadEvent.STOP:
            raise HopelessError(f"event {bad.id} kills whoever processes it", death, bad)
        if len(self.bad_events) >= self._settings.max_bad_events:
            why = f"more than {self._settings.max_bad_events} bad events (recovery.max_bad_events)"
            raise HopelessError(why, death, bad)
        self._bad[unit] = (*self._bad.get(unit, ()), bad)
        self._deaths[unit] = 0
        self.owe([unit])
        return f"event {bad.id} is left out: {bad.cause}"
