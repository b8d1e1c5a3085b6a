"""Search for the event of a unit that crashes the child: event by event, keeping nothing."""

from __future__ import annotations

import shutil

from forkrun import _core
from forkrun.child.assignment import Assignment
from forkrun.child.processor import begin
from forkrun.child.work import Work
from forkrun.config import Executor
from forkrun.schedule.job_schedule import processor_settings


def probe(work: Work, child: int, assignment: Assignment) -> None:
    """Processes entries of a unit event by event and keeps nothing. The status board shows how far
    it came."""
    (number,) = assignment.first
    config = work.job.config
    threads = config.threads.model_copy(update={"executor": Executor.SERIAL, "block_size": 1})
    monitoring = config.monitoring.model_copy(update={"timing": False, "trace": False})
    config = config.model_copy(update={"threads": threads, "monitoring": monitoring})
    processor = begin(work, child, processor_settings(config))
    folder = work.files.probe_folder(number, child)
    try:
        unit = work.job.plan.units[number]._replace(ranges=assignment.entries)
        work.chaos.strike("begin", range(number, number + 1), folder)
        places = work.files.places(folder)
        iov = work.job.schedule.conditions.enter_unit(number)
        processor.process(unit.number, unit.run, unit.lumi, unit.ranges, places, iov)
        processor.finish()
        work.job.schedule.core.end_job()
    except _core.Stopped:
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    work.shared.board.set_state(child, "done")
