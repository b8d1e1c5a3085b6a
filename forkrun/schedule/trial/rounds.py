"""Rounds of a trial: modules are called with the first event, then with more events as long as that
is fast."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import asdict, replace

from forkrun.base.cpus import CpuShare
from forkrun.base.user_code import lines_in_user_code
from forkrun.errors import InputError
from forkrun.fork.failure import to_record
from forkrun.fork.helper import Say
from forkrun.modules.objects.collections import Columns
from forkrun.modules.program.reached import unchanged
from forkrun.modules.python_module import PythonModule
from forkrun.schedule.trial.calls import Finding, Trial, TrialFailed
from forkrun.schedule.trial.cpp import CppModules
from forkrun.schedule.trial.first_events import FirstEvents
from forkrun.schedule.versions import Versions

MOST_EVENTS = 32_000
ENOUGH_EVENTS = 1_000
"""More events are tried if filters leave none of these for a later module."""
BUDGET_S = 2.0
"""Time for all rounds but the first."""
_CHEAP_S = 1.0
"""A first call up to this long may have been slow only because it was the first."""
_PART = 0.8
"""Fraction of the remaining time for the next round, if time scales with the number of events."""


def n_of_next(n: int, took_s: float, left_s: float, enough: int) -> int:
    """Number of events of the round after one of `n`: as many as are `enough`, or as fit into the
    remaining time; 0 if these are not twice as many."""
    possible = int(n * _PART * left_s / max(took_s, 1e-6))
    if n <= 1 and took_s < _CHEAP_S:
        possible = max(possible, 2)
    more = min(enough, possible)
    return more if more > n and more >= min(2 * n, enough) else 0


def parts_in_time(events: FirstEvents) -> Iterator[FirstEvents]:
    """Yields the first event, then larger parts as long as the work on each part is fast."""
    n, first, left_s = 1, 0, BUDGET_S
    while n and first < len(events):
        start_s = time.monotonic()
        yield events.part(first, first + n)
        took_s = time.monotonic() - start_s
        first += n
        left_s -= took_s if n > 1 else 0
        n = n_of_next(n, took_s, left_s, len(events))


class Rounds(Struct, frozen=True):
    """Input of a trial. `paths`: labels by path; `with_callbacks`: modules get the callbacks before
    the first block, as a separate process allows; `budget_s`: time beyond the first event."""

    modules: Mapping[str, PythonModule]
    paths: Mapping[str, Sequence[str]]
    cpp: CppModules
    versions: Versions
    known: Columns
    events: FirstEvents
    iov: int
    with_callbacks: bool
    budget_s: float = BUDGET_S

    def run_here(self, first: int, say: Say) -> None:
        """Does the work of `run` without a separate process, and removes its traces."""
        with unchanged(self.modules.values()):
            self.run(first, say)
        for module in self.modules.values():
            module.clear()

    def run(self, first: int, say: Say) -> None:
        """Tries the modules with events from `first` on. Says {"found": …} for each module,
        {"call": LABEL, "place": …} before each call, and {"round": n, "took_s": …, "left_s": …,
        "slowness": …} after each round, of n events. Time in which other processes had the CPU does
        not count."""
        imported = {*sys.modules}
        if first:
            replace(self, events=self.events.part(first, len(self.events))).run(0, say)
            return
        if self.with_callbacks and not self._begin(say):
            return
        try:
            n, most_s = len(self.events.part(0, 1).events), self.budget_s
        except InputError as error:
            say({"found": asdict(Finding("", refusal=to_record(error))), "n": 0})
            return
        share, slowness = CpuShare(), 1.0
        while True:
            start_s = time.monotonic()
            end_s = start_s + most_s * slowness
            is_whole, is_reached = self._try(n, say, imported, end_s)
            slowness = share.slowness()
            took_s = (time.monotonic() - start_s) / slowness
            imported |= {*sys.modules}
            most_s -= took_s if n > 1 else 0
            left_s = max(most_s, 0.0)
            say({"round": n, "took_s": took_s, "left_s": left_s, "slowness": slowness})
            is_enough = is_reached or n < ENOUGH_EVENTS
            enough = min(ENOUGH_EVENTS if is_enough else MOST_EVENTS, len(self.events))
            n = n_of_next(n, took_s, most_s, enough if is_whole else min(enough, 2 * n))
            if not n:
                return

    def _try(self, n: int, say: Say, imported: set[str], end_s: float) -> tuple[bool, bool]:
        """Whether all modules were called with `n` events, and whether some of these reach each
        that needs them. On failure, the error may be that of a single event that shows it alone."""
        events = self.events.part(0, n)
        failed, is_reached = self._fails(events, say, imported)
        while failed and len(events) > 1 and time.monotonic() < end_s:
            middle = len(events) // 2
            halves = events.part(0, middle), events.part(middle, len(events))
            found = [half for half in halves if self._fails(half, None, imported)[0] == failed]
            if not found:
                break
            events = found[0]
            if len(events) == 1:
                self._fails(events, say, imported)
        return not failed, is_reached

    def _fails(self, events: FirstEvents, say: Say | None, imported: set[str]) -> tuple[str, bool]:
        """Label of the module that fails with these events, "" for none; and whether some of them
        reach each module that needs them."""
        failed = ""
        place = events.place

        def hear(found: Finding) -> None:
            nonlocal failed
            failed = found.label if found.error or found.refusal else failed
            if say:
                say({"found": asdict(found), "place": place, "n": len(events)})

        def enter(label: str) -> None:
            if say:
                say({"call": label, "place": place, "n": len(events), "entry": events.entry})

        trial = Trial(
            self.modules, self.paths, self.cpp, self.versions, self.known, events, self.iov, hear,
            enter, self.with_callbacks, imported,
        )  # fmt: skip
        try:
            return "", trial.run(force=len(events) <= 1)
        except TrialFailed:
            return failed, True

    def _begin(self, say: Say) -> bool:
        """Calls the callbacks before the first block. Returns whether all succeed."""
        for label, module in self.modules.items():
            if module.is_declared:
                continue
            for name, call in self._callbacks(module):
                say({"call": label, "place": f"{name}()", "n": 0, "entry": ""})
                try:
                    call()
                except Exception as error:
                    text = f"{name}(): {type(error).__name__}: {error}{lines_in_user_code(error)}"
                    say({"found": asdict(Finding(label, error=text)), "place": "", "n": 0})
                    return False
        say({"call": "", "place": "", "n": 0, "entry": ""})
        return True

    def _callbacks(self, module: PythonModule) -> list[tuple[str, Callable[[], None]]]:
        events = self.events
        run, lumi = events.lumis[0][:2] if events.lumis else (1, 1)
        dataset = 0
        if module.datasets and events.ranges:
            dataset = module.datasets.number(events.ranges[0].file)
        arguments: Mapping[str, tuple[int, ...]] = {
            "pre_fork": (), "post_fork": (0,), "begin_job": (), "begin_iov": (0,),
            "begin_dataset": (dataset,), "begin_run": (run,), "begin_lumi": (run, lumi),
        }  # fmt: skip
        found = [(name, getattr(module, name, None), given) for name, given in arguments.items()]
        return [(name, partial(call, *given)) for name, call, given in found if call]
