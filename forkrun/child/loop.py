"""Loop of a child over units of the plan, without communication."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forkrun import _core
from forkrun.base.durable import write_json
from forkrun.base.notes import take_notes
from forkrun.child.assignment import Assignment, Purpose
from forkrun.child.lost_state import State, lost_states, states_of
from forkrun.child.units import ChildUnits
from forkrun.child.work import Work
from forkrun.config.choices import Executor
from forkrun.fork.failure import as_forkrun_error
from forkrun.fork.memory import use_ordinary_pages
from forkrun.modules.python_module import PythonModule
from forkrun.monitoring.job_memory import Moment, note_kinds, read_kinds
from forkrun.monitoring.sampler import sample_self
from forkrun.monitoring.timing.record import write_timing
from forkrun.rundir.ledger import Ledger
from forkrun.schedule.job_schedule import processor_settings

_AWAY = "{} did not answer: its files were read from this machine's cache, as they were before"


def run_child(work: Work, child: int, assignment: Assignment) -> int:
    """The body of a forked child. Gives its exit code; an error is left in its note."""
    try:
        work.shared.board.obey_only(child, os.getppid())
        if not work.job.config.memory.huge_pages:
            use_ordinary_pages()
        if work.job.config.forking.cpu_affinity:
            bind(child, work.job.config.threads.per_child + work.job.schedule.reads_ahead)
        if assignment.purpose is Purpose.PROBE:
            probe(work, child, assignment)
        else:
            process_units(work, child, assignment)
        return 0
    except BaseException as error:  # sys.exit() in a module as well
        board = work.shared.board
        if board.read(child).state != "finishing":  # a failure at the end is treated apart
            board.set_state(child, "failed")
        failure = as_forkrun_error(error)
        work.shared.failures[child].write(failure)
        with contextlib.suppress(OSError):  # its log may be on the disk that is full
            traceback.print_exc(file=sys.stderr)
        return failure.exit_code


def process_units(
    work: Work, child: int, assignment: Assignment, tick: Callable[[], None] = lambda: None
) -> None:
    """Processes and commits units until there are no more, or the parent's order ends it. `tick` is
    called after each."""
    work.timeline.record("child_started", child=child, pid=os.getpid())
    imports = ImportWatch(work.job.schedule.modules) if work.job.schedule.watch else None
    _core.keep_freed_memory()
    if imports:
        note_kinds(work.files.run.path, read_kinds(Moment.START, child, os.getpid()))
    n_threads, n_blocks, *_ = work.job.config.threads.in_flight
    _core.watch_kept_memory(is_alone=n_threads * n_blocks <= 1)
    ledger = Ledger(work.files.ledgers, child)
    processor = begin(work, child, work.settings)
    begun_cpu_s = time.process_time()
    work.timeline.record("child_first_event", child=child, pid=os.getpid())
    before = states_of(work.job.schedule.modules)
    units = ChildUnits(work, child, assignment, processor, ledger, tick)
    with contextlib.suppress(_core.Stopped):
        processor.run(units.next, units.commit)
    _note(work, child, before)
    _end(work, child, processor, units.n_events_committed, begun_cpu_s)
    if imports:
        note_kinds(work.files.run.path, read_kinds(Moment.END, child, os.getpid()))
        write_json(work.files.run.unshared_imports(child), imports.found())
    ledger.close()
    if work.job.config.forking.children:
        sample_self(work.files.run.path, child, work.shared.board.read(child).n_events_done)


def _note(work: Work, child: int, before: State) -> None:
    """Leaves for the report what was noticed here. What a job without children keeps, its caller
    may have."""
    has_children = work.job.config.forking.children
    lost = lost_states(work.job.schedule.modules, before) if has_children else ()
    away = (_AWAY.format(server) for server in _core.take_unanswered_servers())
    for text in [*take_notes(), *lost, *away]:
        work.timeline.record("warning", child=child, pid=os.getpid(), text=text)


def _end(
    work: Work, child: int, processor: _core.Processor, n_events: int, begun_cpu_s: float
) -> None:
    work.shared.board.set_state(child, "finishing")
    processor.finish()
    if work.job.config.monitoring.timing or work.job.config.monitoring.trace:
        trace = work.job.config.monitoring.trace
        asked = {label: module.asked for label, module in work.job.schedule.modules.items()}
        write_timing(
            processor, work.files.run.path, child, trace=trace, asked=asked, n_events=n_events,
            cpu_s=time.process_time() - begun_cpu_s,
            n_threads=work.job.config.threads.per_child,
        )  # fmt: skip
    work.job.schedule.core.end_job()
    work.guard.check()
    work.shared.board.set_state(child, "done")


def cpus_of(child: int, threads: int, available: Sequence[int]) -> set[int]:
    """`threads` CPUs for this child, after those of the children before it; begins again when all
    are taken. Pure."""
    first = child * threads
    return {available[(first + n) % len(available)] for n in range(threads)}


def bind(child: int, threads: int) -> None:
    """Binds this process, and the threads that it will start, to CPUs."""
    os.sched_setaffinity(0, cpus_of(child, threads, sorted(os.sched_getaffinity(0))))


def probe(work: Work, child: int, assignment: Assignment) -> None:
    """Processes entries of a unit event by event and keeps nothing. The status board shows how far
    it came."""
    (number,) = assignment.first
    config = work.job.config
    threads = config.threads.replaced({"executor": Executor.SERIAL, "block_size": 1})
    monitoring = config.monitoring.replaced({"timing": False, "trace": False})
    config = config.replaced({"threads": threads, "monitoring": monitoring})
    processor = begin(work, child, processor_settings(config))
    folder = work.files.probe_folder(number, child)
    try:
        unit = work.job.plan.units[number]._replace(ranges=assignment.entries)
        places = work.files.places(folder)
        iov = work.job.schedule.conditions.enter_unit(number)
        dataset = work.job.plan.dataset_of(work.job.plan.units.stretch(number, 1))
        processor.process(unit.number, unit.run, unit.lumi, unit.ranges, places, iov, dataset)
        processor.finish()
        work.job.schedule.core.end_job()
    except _core.Stopped:
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    work.shared.board.set_state(child, "done")


def begin(work: Work, child: int, settings: _core.ProcessorSettings) -> _core.Processor:
    """Makes a child's processor, after the `post_fork` callbacks of its modules."""
    _core.claim_process()
    work.shared.board.set_state(child, "starting")
    work.job.schedule.core.post_fork(child)
    processor = work.job.schedule.make_processor(settings, work.shared.board, child)
    work.job.schedule.core.begin_job()
    work.job.schedule.clear_histograms()
    work.shared.board.set_state(child, "processing")
    return processor


_CALLS = (PythonModule._call.__code__, PythonModule._call_back.__code__)


class ImportWatch:
    """Notes Python imports of a child, which use memory of its own that children of one parent
    could share. Touches no object that exists at the fork: reference counts would become memory of
    the child. Being asked first where each module is, it sees on the stack which module of the job
    is called. `modules`: of the job, in Python, by label. Lasts as long as the process."""

    def __init__(self, modules: Mapping[str, PythonModule]) -> None:
        self._labels = {id(module.module): label for label, module in modules.items()}
        self._callers: dict[str, str] = {}
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, *_: Any) -> None:
        """Notes the caller; other finders find the module."""
        self._callers.setdefault(name, self._caller())

    def _caller(self) -> str:
        """Label of the module being called; "" if there is none."""
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code in _CALLS:
                return self._labels.get(id(frame.f_locals["self"].module), "")
        return ""

    def found(self) -> dict[str, list[str]]:
        """Names imported since the watch began, by label of the importing module; "": none of the
        job's."""
        by_caller: dict[str, list[str]] = {}
        for name, caller in self._callers.items():
            if name in sys.modules:
                by_caller.setdefault(caller, []).append(name)
        return by_caller
