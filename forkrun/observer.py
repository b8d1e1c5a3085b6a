"""What the parent does beside waiting: samples, timeline, progress."""

from __future__ import annotations

import time

from forkrun import _core
from forkrun.monitoring import Sampler, Timeline
from forkrun.progress import ProgressDisplay
from forkrun.run_directory import RunDirectory
from forkrun.wait_status import describe_status


class RunObserver:
    """Ticked by the supervisor's loop; has no thread."""

    def __init__(
        self,
        folder: RunDirectory,
        timeline: Timeline,
        board: _core.StatusBoard,
        progress: ProgressDisplay,
    ) -> None:
        self._board = board
        self._timeline = timeline
        self._progress = progress
        self._sampler = Sampler(folder.path)

    def started(self, child: int, pid: int) -> None:
        self._timeline.record("fork", child=child, pid=pid)
        self._sampler.add_child(child, pid)

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        self._sampler.remove_child(child)
        status = describe_status(exit_code)
        self._timeline.record("child_exit", child=child, pid=pid, exit_code=exit_code, status=status)

    def tick(self) -> None:
        done = {child: self._board.read(child).n_events_done for child in range(len(self._board))}
        self._sampler.tick(time.time(), done)
        self._progress.update(sum(done.values()))

    def close(self) -> None:
        """The children have ended."""
        self._progress.close()
        self._sampler.close()
