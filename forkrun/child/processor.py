"""A child's processor, whose modules have had their `post_fork` callback."""

from __future__ import annotations

from forkrun import _core
from forkrun.child.work import Work
from forkrun.config import JobConfig


def begin(work: Work, child: int, config: JobConfig) -> _core.Processor:
    _core.claim_process()
    work.board.set_state(child, "starting")
    work.schedule.core.post_fork(child)
    processor = work.schedule.make_processor(config, work.board, child)
    work.schedule.core.begin_job()
    work.schedule.clear_histograms()
    work.board.set_state(child, "processing")
    return processor
