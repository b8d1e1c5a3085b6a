"""Says how a job ended badly: who, by what, where, and what is kept."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from forkrun import _core
from forkrun.errors import JobError, StoppedError
from forkrun.failure import FailureNote
from forkrun.run_directory import RunDirectory
from forkrun.supervisor import Outcome
from forkrun.wait_status import describe_status


def raise_for(
    outcome: Outcome,
    folder: RunDirectory,
    board: _core.StatusBoard,
    failures: Sequence[FailureNote],
    parent_pid: int,
) -> None:
    """Raises the error of the child that failed first, or that the job was stopped."""
    if outcome.failed:
        child, exit_code = outcome.failed
        log = folder.log(f"child-{child:03d}", parent_pid)
        told = failures[child].read()
        lines = [f"child {child} failed: {describe_status(exit_code)}"]
        lines += [str(told)] if told else []
        lines += [last_events(board.read(child)), f"its log: {log}", _kept(folder)]
        raise (type(told) if told else JobError)("\n".join(lines))
    if outcome.signal_number:
        raise stopped(outcome.signal_number, folder)


def stopped(number: int, folder: RunDirectory) -> StoppedError:
    """For a job that ended early because of a signal."""
    name = signal.Signals(number).name
    return StoppedError(f"stopped by signal {number} ({name}); {_kept(folder)}", number)


def last_events(status: _core.ChildStatus) -> str:
    """Where a child was when it was last heard of."""
    if not status.heartbeat_ns:
        return f"it had begun no event (state: {status.state})"
    return (
        f"last events begun: {status.run}:{status.lumi}:{status.first_event}"
        f" to {status.run}:{status.lumi}:{status.last_event}"
        f" (unit {status.unit}; {status.n_events_done} events done)"
    )


def _kept(folder: RunDirectory) -> str:
    return f"committed units are kept in {folder.units}; nothing was merged"
