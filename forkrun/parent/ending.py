"""Early end of a job: by a signal, out of time, or after a fatal error."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from typing import Literal

from forkrun import _core
from forkrun.child.hand_out import HandOut
from forkrun.fork.signals import LUMI_SIGNALS
from forkrun.parent.commits import Commits
from forkrun.parent.deadline import Deadline, time_for_units_s, time_to_merge_s
from forkrun.parent.recovery import HopelessError


class Ending:
    """Children get orders through the status board: they end after their unit or, if urgent, after
    their block; those still running `grace_s` later are killed."""

    def __init__(
        self,
        board: _core.StatusBoard,
        hand_out: HandOut,
        commits: Commits,
        grace_s: float,
        deadline: Deadline | None,
        merge_threads: int = 1,
    ) -> None:
        self._board = board
        self._hand_out = hand_out
        self._commits = commits
        self._grace_s = grace_s
        self._deadline = deadline
        self._merge_threads = merge_threads
        self._kill_at_s: float | None = None
        self.hopeless: HopelessError | None = None
        self.signal_number = 0
        self.reached: Deadline | None = None
        self.may_fork = True

    @property
    def has_deadline(self) -> bool:
        """Whether time is limited."""
        return self._deadline is not None

    def give_up(self, error: HopelessError) -> None:
        """Ends a job that cannot succeed. Units in flight may still finish."""
        self.hopeless = self.hopeless or error
        self._order("end_after_unit")

    def signalled(self, number: int) -> str:
        """Acts on a signal; returns a message."""
        again = bool(self.signal_number) and self._kill_at_s is not None
        self.signal_number = self.signal_number or number
        if number in LUMI_SIGNALS:
            self._hand_out.close_after_lumi()
            return "stopping: lumis that have been begun are finished first"
        if again:
            self._kill_at_s = 0.0
            return "stopping at once"
        self._order("end_after_block")
        return "stopping: children finish their block first"

    def tick(self, running: Mapping[int, int]) -> dict[int, int]:
        """Signals to send, by child."""
        late = self._kill_at_s is not None and time.monotonic() > self._kill_at_s
        return dict.fromkeys(running, signal.SIGKILL) if late else {}

    def look_at_clock(self) -> str:
        """Starts the end when the time has come; returns a message, or ""."""
        return self._compare(self._deadline, time.monotonic()) if self._deadline else ""

    def _compare(self, deadline: Deadline, now_s: float) -> str:
        longest_s = self._commits.longest_unit_s
        merge_s = time_to_merge_s(self._commits.making_outputs_s / self._merge_threads)
        urgent_s = deadline.at_s - merge_s - self._grace_s
        if not self.reached and now_s > urgent_s - time_for_units_s(longest_s):
            self.reached, self.may_fork = deadline, False
            self._hand_out.close()
            return f"time is running out ({deadline.why}): no further unit is begun"
        if self._kill_at_s is None and now_s > urgent_s:
            self._order("end_after_block")
            return f"time has run out ({deadline.why}): children finish their block"
        return ""

    def _order(self, order: Literal["end_after_unit", "end_after_block"]) -> None:
        self.may_fork = False
        self._hand_out.close()
        for child in range(len(self._board)):
            self._board.give_order(child, order)
        if self._kill_at_s is None:
            self._kill_at_s = time.monotonic() + self._grace_s
