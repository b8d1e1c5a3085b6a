"""The separate process that tries modules, and errors for its crashes."""

from __future__ import annotations

import math
import os
import time
from functools import partial
from typing import Any

from forkrun.base.user_code import lines_of_stack
from forkrun.base.wait_status import describe_status
from forkrun.errors import ConfigError, ForkrunError, JobError, ModuleError
from forkrun.fork.failure import from_record
from forkrun.fork.helper import FROM_OUTSIDE, TRIES, Ended, Say, Work, ask_helper
from forkrun.schedule.trial.calls import Finding

_MOST_LINES = 12
_START_S = 1800.0
"""Least time limit of callbacks before the first event, which may load a model."""


class TrialProcess:
    """`hang_timeout_s`: time limit of a call with the first event, 0: none; `budget_s`: time for
    more events.

    Attributes, after a run: `found`: facts about each module; `n_events`: of the last finished
    round; `left_s`: rest of the budget."""

    def __init__(self, hang_timeout_s: float, budget_s: float) -> None:
        self._timeout_s = hang_timeout_s or math.inf
        self.found: dict[str, Finding] = {}
        self.n_events, self.rate = 0, 0.0
        self.left_s = budget_s
        self._errors: dict[str, tuple[int, str, Finding]] = {}
        self._is_past_first = False
        self._call: dict[str, Any] = {}
        self._end_s = math.inf
        self._ended = Ended(0)
        self._stack = ""

    def run(self, work: Work) -> None:
        """Runs `work` in a process; its messages are those of `Rounds.run`."""
        for _ in range(TRIES):
            self._is_past_first, self._end_s = False, math.inf
            with open(os.memfd_create("stack"), "w+b") as stack:
                keeping = partial(_with_stack, stack.fileno(), work)
                self._ended = ask_helper(keeping, self.hear, end_s=lambda: self._end_s)
                stack.seek(0)
                self._stack = stack.read().decode(errors="replace")
            if self._ended.is_late or -self._ended.exit_code not in FROM_OUTSIDE:
                return

    def hear(self, said: Any) -> None:
        """Processes a message of the work."""
        now_s = time.monotonic()
        if "found" in said:
            self._note(said["n"], said.get("place", ""), Finding(**said["found"]))
        elif "round" in said:
            self._is_past_first = True
            self.n_events, self.left_s = said["round"], said["left_s"]
            self.rate = self.n_events / max(said["took_s"], 1e-6)
            self._end_s = now_s + self.left_s * said["slowness"]
        else:
            self._call = said
            if not self._is_past_first:
                limit_s = self._timeout_s if said["n"] else max(self._timeout_s, _START_S)
                self._end_s = now_s + limit_s if said["call"] else math.inf

    def _note(self, n: int, place: str, found: Finding) -> None:
        label = found.label
        if found.error or found.refusal:
            if label not in self._errors or n < self._errors[label][0]:
                self._errors[label] = (n, place, found)
            return
        self.found[label] = found.joined(self.found.get(label))
        if not found.is_partial:
            self._errors.pop(label, None)

    def error(self, skips: bool) -> ForkrunError | None:
        """Error that stops the job. `skips`: the job skips events with which a module fails."""
        for *_, refused in self._errors.values():
            if refused.refusal:
                return from_record(dict(refused.refusal))
        failed = next(iter(self._errors.items()), None)
        if failed and not (skips and failed[0] in self.found and not failed[1][2].is_name):
            return self._failed(*failed)
        has_died = self._ended.exit_code != 0 and not self._is_past_first
        return self._died() if has_died else None

    def _failed(self, label: str, failed: tuple[int, str, Finding]) -> ForkrunError:
        n, place, found = failed
        if found.is_name:
            return ConfigError(f'module "{label}": {found.error}')
        where = f"at {place}:" if n else "in"
        return ModuleError(f'module "{label}" failed {where} {found.error}')

    def _died(self) -> ForkrunError:
        """Error for a process that died at the first event."""
        if self._ended.failure:
            return self._ended.failure
        label, n, entry = (self._call.get(key) for key in ("call", "n", "entry"))
        where = f"{'at' if n else 'in'} {self._call.get('place')}"
        how = describe_status(self._ended.exit_code)
        if self._ended.is_late:
            how = f"it did not end within {self._timeout_s:,.0f} s (recovery.hang_timeout)"
        who = f'module "{label}" failed {where}' if label else "the trial of the modules failed"
        lines = lines_of_stack(self._stack) or self._end_of_stack()
        remedy = 'leave such events out: recovery.on_bad_event = "skip"'
        about = f"\nit is {entry}; {remedy}" if n and entry else ""
        return JobError(f"{who}: {how}{lines}{about}")

    def _end_of_stack(self) -> str:
        """First lines of a pure C++ stack."""
        lines = [line for line in self._stack.splitlines() if line.strip()]
        return "".join(f"\n  {line}" for line in lines[:_MOST_LINES])


def _with_stack(stack: int, work: Work, say: Say) -> Any:
    """Does the work; the stack of a crash goes to this file in memory: a disk may be full."""
    os.dup2(stack, 2)
    return work(say)
