"""Which step of the parent's preparation started a thread, opened a connection or touched a GPU.

`step(name)` looks at the process before and after; so the check before the fork can say where
each came from. That takes some 300 µs, and a hundredth of that where as many threads and files are
open as after the last one: a job may have ten thousand modules."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from forkrun.fork.hazards import Hazard, find_hazards

_FILES = "/proc/self/fd"
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


_last_found: tuple[object, bool, frozenset[Hazard]] = (None, False, frozenset())


def _find() -> frozenset[Hazard]:
    """Hazards now. A socket may be connected without a visible change: then it is read again."""
    global _last_found
    shown, has_sockets, found = _last_found
    now = _threads_and_files()
    if now != shown or has_sockets:
        found = frozenset(find_hazards())
        _last_found = (now, any(map(_is_socket, os.listdir(_FILES))), found)
    return found


def _threads_and_files() -> tuple[object, ...]:
    """Values that change if a thread starts or a file is opened: their numbers, which the kernel
    keeps; before Linux 6.2 the files themselves."""
    n_files = os.stat(_FILES).st_size
    files = n_files or tuple(os.listdir(_FILES))
    return os.getpid(), os.stat("/proc/self/task").st_nlink, files


def _is_socket(descriptor: str) -> bool:
    with contextlib.suppress(OSError):  # the descriptor of that very listing
        return os.readlink(f"{_FILES}/{descriptor}").startswith("socket:")
    return False


def origin_of(hazard: Hazard) -> str | None:
    """The innermost step that a hazard came with; None: no step, so the program's start."""
    return _origins.get(hazard)
