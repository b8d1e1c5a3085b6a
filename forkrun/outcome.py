"""Says how a job ended badly: who, by what, where, and what is kept."""

from __future__ import annotations

import signal

from forkrun import _core
from forkrun.errors import ForkrunError, JobError, StoppedError
from forkrun.failure import read_failure
from forkrun.run_directory import RunDirectory
from forkrun.supervisor import Outcome
from forkrun.wait_status import describe_status


def raise_for(
    outcome: Outcome, folder: RunDirectory, board: _core.StatusBoard, parent_pid: int
) -> None:
    """Raises the error of the child that failed first, or that the job was stopped."""
    if outcome.failed:
        child, exit_code = outcome.failed
        raise _failed(child, exit_code, folder, board, parent_pid)
    if outcome.signal_number:
        raise stopped(outcome.signal_number, folder)


def stopped(number: int, folder: RunDirectory) -> StoppedError:
    """For a job that ended early because of a signal."""
    name = signal.Signals(number).name
    return StoppedError(f"stopped by signal {number} ({name}); {_kept(folder)}", number)


def _failed(
    child: int, exit_code: int, folder: RunDirectory, board: _core.StatusBoard, parent_pid: int
) -> ForkrunError:
    name = f"child-{child:03d}"
    told = read_failure(folder.failure(name))
    kind = type(told) if told else JobError
    lines = [f"child {child} failed: {describe_status(exit_code)}"]
    if told:
        lines.append(str(told))
    lines.append(last_events(board.read(child)))
    lines.append(f"its log: {folder.log(name, parent_pid)}")
    lines.append(_kept(folder))
    return kind("\n".join(lines))


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
