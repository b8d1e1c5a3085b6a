"""What one child does: its own units of the plan, one by one, without a word to anybody."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forkrun import _core
from forkrun.affinity import bind
from forkrun.config import JobConfig
from forkrun.errors import ForkrunError, InputError, JobError, OutputError
from forkrun.failure import FailureNote
from forkrun.ledger import Ledger
from forkrun.merge import Commit, OutputPart
from forkrun.monitoring import Timeline, sample_self
from forkrun.plan import Plan, Unit
from forkrun.run_directory import RunDirectory, output_errors
from forkrun.schedule import JobSchedule
from forkrun.signals import StopFlag
from forkrun.timing.record import write_timing

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


@dataclass(frozen=True)
class Work:
    """Made in the parent, shared by all children."""

    folder: RunDirectory
    config: JobConfig
    plan: Plan
    schedule: JobSchedule
    board: _core.StatusBoard
    failures: Sequence[FailureNote]
    """By child."""


def run_child(work: Work, child: int) -> int:
    """The body of a forked child. Gives its exit code; an error is left in its note."""
    try:
        if work.config.forking.cpu_affinity:
            bind(child, work.config.threads.per_child)
        process_units(work, child, StopFlag(signal.SIGTERM))
        return 0
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        work.board.set_state(child, "failed")
        told = as_forkrun_error(error)
        work.failures[child].write(told)
        return told.exit_code


def as_forkrun_error(error: Exception) -> ForkrunError:
    """The error of a person's module, input or disk, with the right exit code."""
    if isinstance(error, ForkrunError):
        return error
    if isinstance(error, _core.OutputError):
        return OutputError(str(error))
    if isinstance(error, _core.InputError):
        return InputError(str(error))
    if isinstance(error, _core.Error):
        return JobError(str(error))
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return OutputError(f"cannot write: {error}; free space, or choose another place with -o")
    return JobError(f"{type(error).__name__}: {error}")


def process_units(
    work: Work, child: int, stop: StopFlag, tick: Callable[[], None] = lambda: None
) -> None:
    """Processes and commits the units of one child until they end or a stop is asked for. `tick` is
    called after each."""
    timeline = Timeline(work.folder.path)
    timeline.record("child_started", child=child, pid=os.getpid())
    work.board.set_state(child, "starting")
    ledger = Ledger(work.folder.child_ledger(child))
    schedule = work.schedule
    schedule.core.post_fork(child)
    processor = schedule.make_processor(work.config, work.board, child)
    schedule.core.begin_job()
    schedule.clear_histograms()
    work.board.set_state(child, "processing")
    timeline.record("child_first_event", child=child, pid=os.getpid())
    for unit in work.plan.units_of(child):
        if stop.number:
            break
        ledger.append(_process(work, processor, unit))
        tick()
    work.board.set_state(child, "finishing")
    processor.finish()
    if work.config.monitoring.timing or work.config.monitoring.trace:
        write_timing(processor, work.folder.path, child, work.config.monitoring.trace)
    schedule.core.end_job()
    work.board.set_state(child, "done")
    ledger.close()
    timeline.close()
    if work.config.forking.children:
        sample_self(work.folder.path, child, work.board.read(child).n_events_done)


def _process(work: Work, processor: _core.Processor, unit: Unit) -> Commit:
    """One unit, with its outputs under their final names when this returns."""
    start_s = time.time()
    folder = work.folder.unit(unit.number)
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    beside = {o.label: folder / f"{o.label}.root.part" for o in work.config.outputs}
    places = {label: str(path) for label, path in beside.items()}
    result = processor.process(unit.number, unit.run, unit.lumi, unit.ranges, places)
    histograms = _write_histograms(work.schedule, folder)
    for path in beside.values():
        _publish(path)
    _sync_folder(folder)
    outputs = {o.label: _part(work.folder, folder, o) for o in result.outputs}
    return Commit(
        unit=unit.number,
        child=unit.child,
        pid=os.getpid(),
        run=unit.run,
        lumi=unit.lumi,
        n_events=result.read.count,
        digest=result.read.hex,
        outputs=outputs,
        histograms=str(histograms.relative_to(work.folder.path)) if histograms else None,
        start_s=start_s,
        end_s=time.time(),
        wall_s=result.wall_s,
        cpu_s=result.cpu_s,
        read_calls=result.read_calls,
        read_bytes=result.read_bytes,
    )


def _part(run: RunDirectory, folder: Path, output: _core.OutputSummary) -> OutputPart:
    file = folder / f"{output.label}.root"
    name = str(file.relative_to(run.path))
    return OutputPart(name, output.written.count, output.written.hex, file.stat().st_size)


def _write_histograms(schedule: JobSchedule, folder: Path) -> Path | None:
    """What the analyzers filled in this unit; they are empty afterwards."""
    histograms = schedule.take_histograms()
    if not histograms:
        return None
    path = folder / "histograms.pkl"
    beside = folder / "histograms.pkl.part"
    with output_errors(beside), beside.open("wb") as file:
        pickle.dump(histograms, file, protocol=pickle.HIGHEST_PROTOCOL)
        file.flush()
        os.fsync(file.fileno())
    _publish(beside)
    return path


def _publish(beside: Path) -> None:
    """x.part becomes x. Its contents are on disk: whoever wrote it has synced it."""
    with output_errors(beside):
        beside.replace(beside.with_suffix(""))


def _sync_folder(folder: Path) -> None:
    with output_errors(folder):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
