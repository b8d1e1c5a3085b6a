"""Errors of failed jobs: the child, the cause, the place, and the work that is kept."""

from __future__ import annotations

import shlex
import signal

from forkrun import _core
from forkrun.base.caller import is_built_in_python, option
from forkrun.base.quantities import plural
from forkrun.child.assignment import BadEvent
from forkrun.config.remote import about_access
from forkrun.errors import JobError, ModuleError, OutOfTimeError, StoppedError
from forkrun.index.model import Flags
from forkrun.parent.commits import Commits
from forkrun.parent.deadline import Deadline
from forkrun.parent.ending import Ending
from forkrun.parent.preparation import PreparedJob
from forkrun.parent.recovery import Death, HopelessError
from forkrun.plan.model import Plan
from forkrun.rundir.directory import RunDirectory


def raise_for(
    ending: Ending,
    folder: RunDirectory,
    commits: Commits,
    job: PreparedJob,
    left_out: Flags,
) -> None:
    """Raises the error that ended the job, or that it was stopped with units left, other than those
    `left_out` : (n_units,) bool."""
    if ending.hopeless:
        raise _failed(ending.hopeless, folder, job, commits) from None
    is_settled = commits.is_done | left_out
    if is_settled.all():
        return
    if ending.signal_number:
        raise stopped(ending.signal_number, folder)
    if ending.reached:
        raise out_of_time(ending.reached, folder)
    n_left = int((~is_settled).sum())
    raise JobError(f"not done, for an unknown reason: {plural(n_left, 'unit')}; {_kept(folder)}")


def _failed(
    error: HopelessError, folder: RunDirectory, job: PreparedJob, commits: Commits
) -> Exception:
    death = error.death
    if death.raised and not error.bad_event:
        return _raised(death, folder, job, int(commits.is_done.sum()))
    lines = [f"child {death.child} failed: {death.words}; {error}"]
    lines += [f"{death.error}{about_access(str(death.error))}"] if death.error else []
    if error.bad_event:
        lines += about(error.bad_event, job.plan, folder)
    elif death.status:
        lines.append(last_events(death.status))
    logs = folder.existing_logs(death.child)
    lines += [f"its log: {logs[-1]}"] if logs else []
    lines.append(_kept(folder))
    return (type(death.error) if death.error else JobError)("\n".join(lines))


def _raised(death: Death, folder: RunDirectory, job: PreparedJob, n_committed: int) -> ModuleError:
    """Error raised by a module, in the module's own words. With changed code the job differs from
    that of the committed units."""
    lines = [str(death.error)]
    logs = folder.existing_logs(death.child)
    lines += [f"the whole traceback: {logs[-1]}"] if logs else []
    if death.unit is not None:
        lines.append(f"repeat this event in one process: {_repeating(death, folder, job)}")
    lines.append(
        f"{plural(n_committed, 'unit')} committed in {folder.units}; a changed module makes"
        f" another job: choose another run directory with {option('-o')}, or replace it with"
        f" {option('--force')}"
        if n_committed
        else "nothing is committed yet: fix the module, and run the same command again"
    )
    return ModuleError("\n".join(lines))


def _repeating(death: Death, folder: RunDirectory, job: PreparedJob) -> str:
    """Command that starts at the first event in flight, and takes one at a time."""
    source = job.config.source
    units = [*death.together, *([death.unit] if death.unit is not None else [])]
    n = source.skip_events + min(map(job.plan.events_before, units))
    if source.only:
        n = 0
    if is_built_in_python():
        skipped = f"source={{'skip_events': {n}}}, " if n else ""
        return (
            f"job.configure({skipped}threads={{'block_size': 1}}).run(children=0,"
            " output='one-event')"
        )
    skipped = f"--skip-events {n} " if n else ""
    config = shlex.quote(str(folder.config))
    return f"forkrun run {config} --children 0 {skipped}--set threads.block_size=1 -o one-event"


def about(event: BadEvent, plan: Plan, folder: RunDirectory) -> list[str]:
    """Lines that locate an event, and tell how to repeat it."""
    where = f"the event {event.id} is entry {event.entry} of {plan.files[event.file]}"
    where += f", tree {plan.trees[event.file]}" if plan.trees else ""
    if is_built_in_python():
        return [
            where,
            f"process it alone: job.configure(source={{'only': ['{event.id}']}}).run(children=0,"
            " output='one-event')",
            "leave it out: job.configure(recovery={'on_bad_event': 'skip'}), and run again",
        ]
    config = shlex.quote(str(folder.config))
    return [
        where,
        f"process it alone: forkrun run {config} --only {event.id} --children 0 -o ELSEWHERE",
        f'leave it out: forkrun resume {folder.quoted} --set recovery.on_bad_event="skip"',
    ]


def stopped(number: int, folder: RunDirectory) -> StoppedError:
    """Error of a job stopped early by a signal."""
    name = signal.Signals(number).name
    return StoppedError(f"stopped by signal {number} ({name}); {_kept(folder)}", number)


def out_of_time(deadline: Deadline, folder: RunDirectory) -> OutOfTimeError:
    """Error of a job stopped early by its deadline."""
    return OutOfTimeError(f"out of time ({deadline.why}); {_kept(folder)}")


def last_events(status: _core.ChildStatus) -> str:
    """Last position of a child on the status board."""
    if not status.heartbeat_ns:
        return f"it had not begun an event (state: {status.state})"
    return (
        f"last events begun: {status.run}:{status.lumi}:{status.first_event}"
        f" to {status.run}:{status.lumi}:{status.last_event}"
        f" (unit {status.unit}; {plural(status.n_events_done, 'event')} done)"
    )


def _kept(folder: RunDirectory) -> str:
    kept = f"committed units are kept in {folder.units}"
    return f"{kept}; running the same command again resumes the job"
