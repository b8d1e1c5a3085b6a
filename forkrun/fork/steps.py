"""Which step of the parent's preparation started a thread, opened a connection or touched a GPU.

`step(name)` looks at the process before and after; so the check before the fork can say where
each came from. That takes some 300 µs, and a tenth of that where threads and open files are those
of the last one: a job may have ten thousand modules."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from forkrun.fork.hazards import Hazard, find_hazards

_origins: dict[Hazard, str] = {}


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """A step of the preparation: what appears meanwhile came with it, or with a step within it."""
    steps = StepsInARow()
    try:
        yield
    finally:
        steps.end(name)


class StepsInARow:
    """Steps of which each begins where the one before ended, with one check for each."""

    def __init__(self) -> None:
        self._before = _find()

    def end(self, name: str) -> None:
        """Ends the step `name`: what has appeared since the last call is its doing."""
        after = _find()
        if after is not self._before:
            for hazard in after - self._before:
                _origins.setdefault(hazard, name)
        self._before = after


_last_found: tuple[tuple[str, ...], frozenset[Hazard]] = ((), frozenset())


def _find() -> frozenset[Hazard]:
    """Hazards now. A socket may be connected without a visible change: then it is read again."""
    global _last_found
    shown = _threads_and_files()
    if shown != _last_found[0] or any(" socket:" in file for file in shown):
        _last_found = (shown, frozenset(find_hazards()))
    return _last_found[1]


def _threads_and_files() -> tuple[str, ...]:
    shown = [str(os.getpid()), *os.listdir("/proc/self/task")]
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the descriptor of this very listing
            shown.append(f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}")
    return tuple(shown)


def origin_of(hazard: Hazard) -> str | None:
    """The innermost step that a hazard came with; None: no step, so the program's start."""
    return _origins.get(hazard)
