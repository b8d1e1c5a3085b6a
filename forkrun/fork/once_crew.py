"""A crew for work that each child does once or not at all."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence

from forkrun.fork.supervisor import INTERVAL_S


class OnceCrew:
    """A child that fails, or a signal to the parent, is the end of all: they are killed.
    `exit_codes`: by child; `failed`: the first that did, with its exit code; `signal_number`: 0
    if there was none."""

    def __init__(self, children: Sequence[int], tick_also: Callable[[], None]) -> None:
        self._due = list(children)
        self._tick_also = tick_also
        self.exit_codes: dict[int, int] = {}
        self.failed: tuple[int, int] | None = None
        self.signal_number = 0
        self.interval_s = INTERVAL_S

    def due(self) -> Sequence[int]:
        due, self._due = self._due, []
        return due

    def started(self, child: int, pid: int) -> None:
        """Nothing to do."""

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        self.exit_codes[child] = exit_code
        if exit_code and not self.failed and not self.signal_number:
            self.failed = (child, exit_code)

    def signalled(self, number: int) -> None:
        self.signal_number = self.signal_number or number

    def tick(self, running: Mapping[int, int]) -> Mapping[int, int]:
        self._tick_also()
        is_over = self.signal_number or self.failed
        return dict.fromkeys(running, signal.SIGKILL) if is_over else {}
