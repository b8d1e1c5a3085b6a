"""Which step of the parent's preparation started a thread, opened a connection or touched a GPU.

`step(name)` looks at the process before and after; so the check before the fork can say where
each came from. A look takes some 300 µs, and a tenth of that where threads and open files are those
of the last one: a job may have ten thousand modules."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from forkrun.fork.hazards import Hazard, find_hazards

_origins: dict[Hazard, str] = {}


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """What appears meanwhile came with `name`, or with a step within it."""
    steps = StepsInARow()
    try:
        yield
    finally:
        steps.end(name)


class StepsInARow:
    """Steps of which each begins where the one before ended: one look for each."""

    def __init__(self) -> None:
        self._before = _look()

    def end(self, name: str) -> None:
        """Ends the step `name`: what has appeared since the last call is its doing."""
        after = _look()
        if after is not self._before:
            for hazard in after - self._before:
                _origins.setdefault(hazard, name)
        self._before = after


_last_look: tuple[tuple[str, ...], frozenset[Hazard]] = ((), frozenset())


def _look() -> frozenset[Hazard]:
    """A socket may be connected without a change that shows: then it is looked at closely."""
    global _last_look
    shown = _threads_and_files()
    if shown != _last_look[0] or any(" socket:" in file for file in shown):
        _last_look = (shown, frozenset(find_hazards()))
    return _last_look[1]


def _threads_and_files() -> tuple[str, ...]:
    shown = [str(os.getpid()), *os.listdir("/proc/self/task")]
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the descriptor of this very listing
            shown.append(f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}")
    return tuple(shown)


def origin_of(hazard: Hazard) -> str | None:
    """The innermost step that it came with; None: no step, so the start of the program."""
    return _origins.get(hazard)
