"""Notices children without progress: writes their stacks to their logs, then stops them."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

from forkrun import _core
from forkrun.fork.signals import PYTHON_STACKS

_START_S = 1800.0
"""Minimum time limit before a child's first event, in which it may load a model."""
Progress = tuple[int, int, bool]
"""Last heartbeat, number of events done, and whether it is still starting."""


class HangWatch:
    """`timeout_s`: allowed time without progress, 0: unlimited; `grace_s`: from SIGTERM to SIGKILL.
    The time before the first event may be half an hour, if that is more."""

    def __init__(self, board: _core.StatusBoard, timeout_s: float, grace_s: float) -> None:
        self._board = board
        self._timeout_s = timeout_s
        self._grace_s = grace_s
        self._seen: dict[int, tuple[Progress, float]] = {}
        self._shown: set[int] = set()
        self._asked_s: dict[int, float] = {}

    def started(self, child: int, now_s: float) -> None:
        """Starts watching a child; its time counts from here."""
        self._note(child, self._progress(child), now_s)

    def _note(self, child: int, progress: Progress, now_s: float) -> None:
        self._seen[child] = (progress, now_s)
        self._shown.discard(child)
        self._asked_s.pop(child, None)

    @property
    def words(self) -> str:
        """Reason for stopping a child."""
        return f"it made no progress for {self._timeout_s:.0f} s and was ended"

    def tick(self, running: Mapping[int, int], now_s: float) -> dict[int, int]:
        """Signals to send, by child."""
        if not self._timeout_s:
            return {}
        signals = {child: self._check(child, pid, now_s) for child, pid in running.items()}
        return {child: number for child, number in signals.items() if number}

    def _check(self, child: int, pid: int, now_s: float) -> int:
        progress = self._progress(child)
        before, since_s = self._seen[child]
        if progress != before:
            self._note(child, progress, now_s)
            return 0
        if child in self._asked_s:
            return signal.SIGKILL if now_s - self._asked_s[child] > self._grace_s else 0
        is_starting = progress[-1]
        if now_s - since_s < (max(self._timeout_s, _START_S) if is_starting else self._timeout_s):
            return 0
        if child not in self._shown:  # both kinds at once would overlap in the log
            self._shown.add(child)
            return PYTHON_STACKS
        self._asked_s[child] = now_s
        ask_for_stacks(pid)
        return signal.SIGTERM

    def _progress(self, child: int) -> Progress:
        status = self._board.read(child)
        is_starting = status.state in ("not_started", "starting")
        return status.heartbeat_ns, status.n_events_done, is_starting


def ask_for_stacks(pid: int) -> None:
    """Makes a child write the C++ stacks of all its threads to its log."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        _core.ask_for_stack(pid, int(thread.name))
