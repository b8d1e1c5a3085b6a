"""Monitoring by the parent while it waits: samples, timeline, progress."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

from forkrun import _core
from forkrun.base.progress import ProgressDisplay
from forkrun.base.wait_status import describe_status
from forkrun.config.model import MonitoringConfig
from forkrun.monitoring.sampler import Sampler, SamplerSettings
from forkrun.monitoring.timeline import Timeline
from forkrun.parent.calls import Calls, CallWatch
from forkrun.parent.messages import Messages
from forkrun.parent.recovery import Death, words_of_end
from forkrun.plan.cuts import Cuts
from forkrun.rundir.directory import RunDirectory


class RunObserver:
    """Ticked by the supervisor's loop; has no thread. A failure of the monitoring is reported at
    the end and does not end the job: only the children's output decides."""

    def __init__(
        self,
        folder: RunDirectory,
        timeline: Timeline,
        board: _core.StatusBoard,
        progress: ProgressDisplay,
        messages: Messages,
        n_events_before: int = 0,
        tick_also: Callable[[], None] = lambda: None,
        monitoring: MonitoringConfig | None = None,
        cuts: Cuts | None = None,
    ) -> None:
        self._tick_also = tick_also
        self._n_events_before = n_events_before
        self._board = board
        self._timeline = timeline
        self._progress = progress
        self._messages = messages
        self._sampler = sampler = Sampler(
            folder.path, _sampler_settings(monitoring or MonitoringConfig())
        )
        self.memory = sampler.memory
        """Known memory of all processes."""
        self._trouble: OSError | None = None
        self._calls = CallWatch(cuts, self.warn)

    @contextlib.contextmanager
    def _noting_trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._trouble = self._trouble or error

    def started(self, child: int, pid: int, fork_s: float) -> None:
        """Records a fork. `fork_s`: its start, in seconds since the epoch."""
        with self._noting_trouble():
            self._timeline.record("fork", child=child, pid=pid, time_s=fork_s)
            self._sampler.add_child(child, pid)

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        """Records a child's end. Exit code 0 before the end of its work is a crash, too."""
        state = self._board.read(child)
        crashed = exit_code == 0 and state.state != "done" and state.order == "proceed"
        status = words_of_end(0, has_said_why=False) if crashed else describe_status(exit_code)
        with self._noting_trouble():
            self._sampler.remove_child(child)
            self._timeline.record(
                "child_exit", child=child, pid=pid, exit_code=exit_code, status=status,
                failed=crashed or exit_code != 0,
            )  # fmt: skip

    def say(self, text: str) -> None:
        """Prints a message for the user."""
        with self._noting_trouble():
            self._messages.say(text)

    def recovered(self, child: int, death: Death | None, text: str) -> None:
        """Records the response to a child that ended abnormally."""
        self.say(text)
        with self._noting_trouble():
            self._timeline.record(
                "recovery",
                child=child,
                unit=death.unit if death else None,
                cause=death.cause if death else None,
                text=text,
            )

    def tick(self) -> None:
        """Records, samples and shows the progress of children."""
        statuses = [self._board.read(child) for child in range(len(self._board))]
        done = {child: status.n_events_done for child, status in enumerate(statuses)}
        self._tick_also()
        self._calls.look(Calls.of(statuses))
        with self._noting_trouble():
            self._sampler.tick(time.time(), done)
        self._progress.update(self._n_events_before + sum(done.values()))

    def warn(self, text: str, few: str) -> None:
        """Prints and records a warning. `few`: short form for the progress bar."""
        self._progress.note(few)
        self.say(f"warning: {text}")
        with self._noting_trouble():
            self._timeline.record("warning", pid=os.getpid(), text=text)

    def close(self) -> None:
        """Ends the monitoring after the children have ended."""
        statuses = map(self._board.read, range(len(self._board)))
        self._calls.look(Calls.of(statuses), is_end=True)
        self._progress.close()
        with self._noting_trouble():
            self._sampler.close()
        if self._trouble:
            print(f"forkrun: the job could not be watched: {self._trouble}", file=sys.stderr)


def _sampler_settings(monitoring: MonitoringConfig) -> SamplerSettings:
    return SamplerSettings(
        min_interval_s=monitoring.sampling_interval_s, max_cost=monitoring.sampling_cost,
        is_exact=monitoring.exact_pss, by_kind=monitoring.memory_detail,
    )  # fmt: skip
