"""Commits units of work: their outputs are on disk under their final names, then in the ledger."""

from __future__ import annotations

import os
import time

import numpy as np

from forkrun import _core
from forkrun.child.assignment import BadEvent
from forkrun.child.work import Work
from forkrun.histograms.accumulators.finished import encode_part
from forkrun.histograms.parts import encode
from forkrun.plan.model import Stretch
from forkrun.rundir.build import build_identity
from forkrun.rundir.ledger import Commit, SkippedEvent

_NO_EVENTS = _core.EventDigest().hex


def commit_stretch(
    work: Work,
    child: int,
    stretch: Stretch,
    left_out: tuple[BadEvent, ...],
    result: _core.UnitResult,
    start_s: float,
    block_size: int,
) -> Commit:
    """Commits what was processed together; its outputs are under their final names when this
    returns."""
    folder = work.files.folder(stretch.first)
    cutflow = work.job.schedule.cutflow.take()
    dataset = work.job.plan.dataset_of(stretch)
    accumulated = encode_part({dataset: work.job.schedule.take_accumulated()})
    nan_fills = work.job.schedule.take_nan_fills()
    histograms = work.job.schedule.take_histograms()
    encoded = encode(histograms) if histograms else ()
    part = work.files.write_sums(f"{folder}/histograms.bin", encoded)
    accumulators = work.files.write_sums(f"{folder}/accumulators.json", accumulated)
    work.files.publish(folder)
    return Commit(
        unit=stretch.first,
        n_units=stretch.n_units,
        child=child,
        pid=os.getpid(),
        run=stretch.run,
        lumi=stretch.lumi,
        n_events=result.read.count,
        digest=result.read.hex,
        skipped=tuple(
            SkippedEvent(e.event, work.job.plan.files[e.file], e.entry, e.cause) for e in left_out
        ),
        skipped_digest=_digest_of(stretch, left_out),
        outputs={o.label: work.files.part(folder, o) for o in result.outputs},
        histograms=part,
        start_s=start_s,
        end_s=time.time(),
        wall_s=result.wall_s,
        cpu_s=result.cpu_s,
        read_calls=result.read_calls,
        read_bytes=result.read_bytes,
        cached_bytes=result.cached_bytes,
        block_size=block_size,
        cutflow=cutflow,
        accumulators=accumulators,
        build=build_identity(),
        dataset=dataset,
        nan_fills=nan_fills,
    )


def _digest_of(unit: Stretch, left_out: tuple[BadEvent, ...]) -> str:
    if not left_out:
        return _NO_EVENTS
    digest = _core.EventDigest()
    digest.add(unit.run, unit.lumi, np.array([e.event for e in left_out], dtype=np.uint64))
    return digest.hex
