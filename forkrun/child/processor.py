"""A child's processor, whose modules have had their `post_fork` callback."""

from __future__ import annotations

from forkrun import _core
from forkrun.child.work import Work


def begin(work: Work, child: int, settings: _core.ProcessorSettings) -> _core.Processor:
    _core.claim_process()
    work.shared.board.set_state(child, "starting")
    work.job.schedule.core.post_fork(child)
    processor = work.job.schedule.make_processor(settings, work.shared.board, child)
    work.job.schedule.core.begin_job()
    work.job.schedule.clear_histograms()
    work.shared.board.set_state(child, "processing")
    return processor
