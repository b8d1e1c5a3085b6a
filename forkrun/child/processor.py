"""A child's processor, with its modules told that they are in a child now."""

from __future__ import annotations

from forkrun import _core
from forkrun.child.work import Work
from forkrun.config import JobConfig


def begin(work: Work, child: int, config: JobConfig) -> _core.Processor:
    work.board.set_state(child, "starting")
    work.schedule.core.post_fork(child)
    processor = work.schedule.make_processor(config, work.board, child)
    work.schedule.core.begin_job()
    work.schedule.clear_histograms()
    work.board.set_state(child, "processing")
    return processor
