"""Which step of the parent's preparation started a thread, opened a connection or touched a GPU.

`step(name)` looks at the process before and after; so the check before the fork can say where each
came from. A look takes some 50 µs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from forkrun.fork.hazards import Hazard, find_hazards

_origins: dict[Hazard, str] = {}


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """What appears meanwhile came with `name`, or with a step within it."""
    before = set(find_hazards())
    try:
        yield
    finally:
        for hazard in set(find_hazards()) - before:
            _origins.setdefault(hazard, name)


def origin_of(hazard: Hazard) -> str | None:
    """The innermost step that it came with; None: no step, so the start of the program."""
    return _origins.get(hazard)
