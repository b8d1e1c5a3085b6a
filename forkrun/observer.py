"""What the parent does beside waiting: samples, timeline, progress."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from forkrun import _core
from forkrun.messages import Messages
from forkrun.monitoring import Sampler, Timeline
from forkrun.progress import ProgressDisplay
from forkrun.run_directory import RunDirectory
from forkrun.wait_status import describe_status


class RunObserver:
    """Ticked by the supervisor's loop; has no thread. What goes wrong in writing down how the job
    goes is told at the end and does not end it: what children write decides."""

    def __init__(
        self,
        folder: RunDirectory,
        timeline: Timeline,
        board: _core.StatusBoard,
        progress: ProgressDisplay,
        messages: Messages,
    ) -> None:
        self._board = board
        self._timeline = timeline
        self._progress = progress
        self._messages = messages
        self._sampler = Sampler(folder.path)
        self._trouble: OSError | None = None

    @contextlib.contextmanager
    def _noting_trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._trouble = self._trouble or error

    def started(self, child: int, pid: int) -> None:
        with self._noting_trouble():
            self._timeline.record("fork", child=child, pid=pid)
            self._sampler.add_child(child, pid)

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        status = describe_status(exit_code)
        with self._noting_trouble():
            self._sampler.remove_child(child)
            self._timeline.record(
                "child_exit", child=child, pid=pid, exit_code=exit_code, status=status
            )

    def stopping(self) -> None:
        with self._noting_trouble():
            self._messages.say("stopping: children finish their unit of work first")

    def tick(self) -> None:
        done = {child: self._board.read(child).n_events_done for child in range(len(self._board))}
        with self._noting_trouble():
            self._sampler.tick(time.time(), done)
        self._progress.update(sum(done.values()))

    def close(self) -> None:
        """The children have ended."""
        self._progress.close()
        with self._noting_trouble():
            self._sampler.close()
        if self._trouble:
            print(f"forkrun: the job could not be watched: {self._trouble}", file=sys.stderr)
