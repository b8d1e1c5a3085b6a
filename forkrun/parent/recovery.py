"""Decides the response to a child that ended abnormally. Starts no process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum, auto

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.base.wait_status import describe_status
from forkrun.child.assignment import Assignment, BadEvent, Purpose, without
from forkrun.config.choices import OnBadEvent
from forkrun.config.model import RecoveryConfig
from forkrun.errors import ConfigError, ForkrunError, InputError, ModuleError, OutputError
from forkrun.parent.bad_files import BadFiles
from forkrun.parent.investigation import CrashingEvent, EveryEvent, Investigation, OtherCause
from forkrun.plan.model import EntryRange, Unit, Units

_SUSPICIOUS = 2
"""Number of crashes of a unit before it is investigated."""
_PARTS = 64
"""Number of parts into which units in flight together at a crash are divided for another try."""
_HOPELESS = 3
"""Number of consecutive failures without a suspect event that end a job."""


class Death(Struct, frozen=True):
    """End of a child. `unit`: in flight, None if none; `together`: others that may have been in
    flight with it; `error`: left by the child; `words`: description. `n_events_done`: None if it
    had not started any; `event`: the last one started; `status`: final status of the child."""

    child: int
    unit: int | None
    words: str
    error: ForkrunError | None = None
    n_events_done: int | None = None
    event: int = 0
    exit_code: int = 0
    status: _core.ChildStatus | None = None
    together: tuple[int, ...] = ()
    is_elsewhere: bool = False
    """Whether a thread crashed that calls no module: one of a library."""

    @property
    def raised(self) -> bool:
        """Whether a module raised an exception: it would do so again."""
        return isinstance(self.error, ModuleError)

    @property
    def cause(self) -> str:
        """Cause of the death, in one line."""
        return str(self.error).splitlines()[0] if self.error else self.words


class Dismissal(Enum):
    """Reason for the parent to stop a child."""

    HANG = auto()
    """The child made no progress: counts as a death."""
    MEMORY = auto()
    """The others needed its memory: the processed events are not at fault."""


def words_of_end(exit_code: int, has_said_why: bool) -> str:
    """Describes the end of a child. One that did not finish its work has crashed, regardless of its
    exit code."""
    if has_said_why or exit_code < 0:
        return describe_status(exit_code)
    return (
        f"it ended itself (exit code {exit_code}) before its work was done, as os._exit() and"
        " os.exec…() in a module do"
    )


class HopelessError(Exception):
    """The job cannot continue. `death`: the last one; `bad_event`: the event to blame, if any."""

    def __init__(self, why: str, death: Death, bad_event: BadEvent | None = None) -> None:
        super().__init__(why)
        self.death = death
        self.bad_event = bad_event


class Recovery:
    """Keeps the requeued units, started and not committed, and the pending probes."""

    def __init__(
        self, settings: RecoveryConfig, units: Units, bad_files: BadFiles | None = None
    ) -> None:
        self._bad_files = bad_files or BadFiles(units)
        self._settings = settings
        self._units = units
        self._requeued: set[int] = set()
        self._suspicion: Counter[int] = Counter()
        """Crashes by unit since its last investigation."""
        self._n_crashes: Counter[int] = Counter()
        self._last_crash: dict[int, Death] = {}
        self._n_blameless: Counter[tuple[int | None, type]] = Counter()
        """Number by unit and class of error; for the unit None, over all classes."""
        self._innocent: Counter[int] = Counter()
        self._alone: set[int] = set()
        """Units that a child does by themselves: one of them crashed it among several."""
        self._open: dict[int, Investigation] = {}
        self._probes: list[int] = []
        self._bad: dict[int, tuple[BadEvent, ...]] = {}
        self._has_progressed = False
        self._is_to_skip = settings.on_bad_event is OnBadEvent.SKIP

    @property
    def bad_events(self) -> list[BadEvent]:
        """All events found and left out."""
        return [event for events in self._bad.values() for event in events]

    @property
    def is_busy(self) -> bool:
        """Whether to fork a child for recovery."""
        return bool(self._requeued or self._probes)

    def requeue(self, units: Iterable[int]) -> None:
        """Requeues units."""
        left_out = self._bad_files.left_out
        self._requeued.update(u for u in units if u not in self._open and not left_out[u])

    def assignment(self) -> Assignment:
        """Task of the next forked child: a probe if one is due; else all requeued units."""
        if self._probes:
            unit = self._probes.pop(0)
            return Assignment(Purpose.PROBE, (unit,), self._open[unit].entries)
        first, self._requeued = tuple(sorted(self._requeued)), set()
        left_out = {unit: self._bad[unit] for unit in first if unit in self._bad}
        n_together = max(-(-len(first) // _PARTS), 1)
        alone = frozenset(first) & (self._alone | left_out.keys())
        return Assignment(Purpose.WORK, first, (), left_out, alone, n_together)

    def progressed(self) -> None:
        """Notes that children can work: resets the count of deaths outside of units."""
        self._n_blameless[None, Death] = 0
        self._has_progressed = True

    def died(self, death: Death) -> str:
        """Records a death at work; returns a message on the response. Raises HopelessError."""
        if _is_at_end(death):
            raise HopelessError("at its end, when its units were committed", death)
        if death.raised and (death.unit is None or not self._is_to_skip):
            raise HopelessError("a module raised an exception", death)
        if death.unit is None or _is_blameless(death):
            return self._try_again(death)
        if death.together:
            return self._divide((death.unit, *death.together), death)
        self._note_crash(death.unit, death)
        if death.raised or self._suspicion[death.unit] >= _SUSPICIOUS:
            return self._investigate(death.unit)
        self.requeue([death.unit])
        return f"unit {death.unit} is processed again"

    def _divide(self, units: tuple[int, ...], death: Death) -> str:
        """Requeues units that crashed a child together, to be processed in parts; the units of a
        part that crashes again are processed alone."""
        self.requeue(units)
        if len(units) <= _PARTS:
            self._alone.update(units)
            for unit in units:
                self._note_crash(unit, death)
        return f"processing {plural(len(units), 'unit')} from {units[0]} on again, fewer at a time"

    def _note_crash(self, unit: int, death: Death) -> None:
        self._suspicion[unit] += 1
        self._n_crashes[unit] += 1
        self._last_crash[unit] = death

    def _try_again(self, death: Death) -> str:
        """Records a death that no event can be blamed for."""
        if said := self._bad_files.note(death.error):
            self.requeue(() if death.unit is None else [death.unit])
            self._requeued -= set(np.flatnonzero(self._bad_files.left_out).tolist())
            return said
        if isinstance(death.error, ConfigError):
            raise HopelessError("it would happen again", death)
        kind = (None, Death) if death.unit is None else (death.unit, type(death.error))
        self._n_blameless[kind] += 1
        n = self._n_blameless[kind]
        if n >= _HOPELESS and death.unit is None:
            why = f"{plural(n, 'child')} ended outside of any unit; none was committed meanwhile"
            raise HopelessError(why, death)
        if n >= _HOPELESS:
            why = f"unit {death.unit} failed {plural(n, 'time')} for the same reason"
            raise HopelessError(why, death)
        if death.unit is None:
            return "a new child takes its place"
        self.requeue([death.unit])
        return f"unit {death.unit} is processed again"

    def _investigate(self, unit: int) -> str:
        self._open[unit] = Investigation(self._ranges(unit))
        self._requeued.discard(unit)
        self._probes.append(unit)
        n = self._suspicion[unit]
        times = plural(n, "time")
        return f"unit {unit} has crashed its child {times}: its events are tried one by one"

    def _ranges(self, unit: int) -> tuple[EntryRange, ...]:
        return without(self._unit(unit).ranges, self._bad.get(unit, ()))

    def _unit(self, unit: int) -> Unit:
        return self._units[unit]

    def probed(self, unit: int, death: Death | None) -> str:
        """Records the end of a probe; `death` None: it ended normally. Returns a message on the
        finding. Raises HopelessError."""
        if death and _is_blameless(death):
            del self._open[unit]
            return self._try_again(death)
        if death:
            self._n_crashes[unit] += 1
            self._last_crash[unit] = death
        investigation = self._open[unit]
        if death is None:
            found: CrashingEvent | OtherCause | EveryEvent | None = investigation.survived()
        else:
            found = investigation.died(
                death.n_events_done, death.event, death.cause,
                is_elsewhere=death.is_elsewhere, has_raised=death.raised,
            )  # fmt: skip
        if found is None:
            self._probes.append(unit)
            if investigation.compares:
                return f"unit {unit}: another event is tried, which may do the same"
            if death:
                return f"event {death.event} of unit {unit} is tried alone"
            return f"alone, that event of unit {unit} crashes no child: all are tried once more"
        del self._open[unit]
        last = death or self._last_crash[unit]
        if isinstance(found, CrashingEvent):
            return self._sentence(unit, found, last)
        if isinstance(found, EveryEvent):
            why = (
                f"each event of unit {unit} that is tried first crashes the child: no event is to"
                " blame, but a module, or a library that it loads"
            )
            raise HopelessError(why, last)
        return self._acquit(unit)

    def repeat_probe(self, unit: int) -> None:
        """Repeats a probe that was interrupted: it proves nothing."""
        self._probes.append(unit)

    def _acquit(self, unit: int) -> str:
        self._innocent[unit] += 1
        if self._innocent[unit] >= _HOPELESS:
            why = (
                f"unit {unit} has crashed its child {plural(self._n_crashes[unit], 'time')}, and"
                f" {self._innocent[unit]} searches found no event of it that does so by itself"
            )
            raise HopelessError(why, self._last_crash[unit])
        self._suspicion[unit] = 0
        self.requeue([unit])
        return f"no event of unit {unit} is to blame: it is processed again"

    def _sentence(self, unit: int, found: CrashingEvent, death: Death) -> str:
        run, lumi = self._unit(unit).run, self._unit(unit).lumi
        file, entry = found.entry.file, found.entry.first
        bad = BadEvent(run, lumi, found.event, file, entry, found.cause)
        if not self._is_to_skip:
            raise HopelessError(f"event {bad.id} crashes the child that processes it", death, bad)
        if death.raised and not self._has_progressed and len(self.bad_events) + 1 >= _HOPELESS:
            why = f"a module raised an exception at each of {_HOPELESS} events that were tried"
            raise HopelessError(why, death)
        if len(self.bad_events) >= self._settings.max_bad_events:
            most = plural(self._settings.max_bad_events, "bad event")
            why = f"more than {most} (recovery.max_bad_events)"
            raise HopelessError(why, death, bad)
        self._bad[unit] = (*self._bad.get(unit, ()), bad)
        self._suspicion[unit] = 0
        self.requeue([unit])
        return f"event {bad.id} is left out: {bad.cause}"


def _is_at_end(death: Death) -> bool:
    """Whether a module raised in end_job(), or a condition turned out to be changed: another child
    would not repeat that, and the job must not succeed."""
    is_finishing = death.status is not None and death.status.state == "finishing"
    return is_finishing and death.error is not None and not _is_blameless(death)


def _is_blameless(death: Death) -> bool:
    """Whether no event can be the cause: a full disk, a missing file, a wrong configuration."""
    return isinstance(death.error, ConfigError | OutputError | InputError)
