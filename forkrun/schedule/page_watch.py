"""A processor that records, in its child, when memory pages become private."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from forkrun import _core

N_WATCHED_CALLS = 300


class Border(IntEnum):
    """Event that preceded a page becoming private; CORE: between calls of modules; FIRST_NODE + n:
    a call of node n of the schedule."""

    START = 1
    BETWEEN_UNITS = 2
    LATER = 3
    END = 4
    CORE = 15
    FIRST_NODE = 16


class WatchedProcessor(_core.Processor):
    """A processor of a child that also checks for private pages between units of work."""

    def __init__(
        self,
        schedule: _core.Schedule,
        source: _core.Source,
        settings: _core.ProcessorSettings,
        board: _core.StatusBoard,
        child: int,
        watch: _core.PageWatch,
    ) -> None:
        super().__init__(schedule, source, settings, board, child, watch, N_WATCHED_CALLS)
        self._watch = watch
        self._child = child
        watch.sample(child, Border.START)

    def run(
        self,
        next_unit: Callable[[], _core.UnitToDo | None],
        commit: Callable[[int, _core.UnitResult], None],
    ) -> None:
        def next_watched() -> _core.UnitToDo | None:
            self._watch.sample(self._child, Border.BETWEEN_UNITS)
            return next_unit()

        def commit_watched(number: int, result: _core.UnitResult) -> None:
            self._watch.sample(self._child, Border.LATER)
            commit(number, result)

        super().run(next_watched, commit_watched)

    def finish(self) -> None:
        super().finish()
        self._watch.sample(self._child, Border.END)
