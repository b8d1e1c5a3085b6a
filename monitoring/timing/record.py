"""What one child leaves of its calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forkrun import _core
from forkrun.base.durable import open_new, published, write_json
from forkrun.rundir.directory import RunDirectory, unused


def write_timing(processor: _core.Processor, run: Path, child: int, trace: bool) -> None:
    """Writes, at the end of a child's work, {"modules": [{label, kind, concurrency, inputs, count,
    total_s, max_s, cpu_s, wait_inputs_s, wait_queue_s, bins: [[start_s, count], …]}], "stalls":
    [[module, waited_for, count, total_s]], "n_not_traced"}; and the trace as (n,) records, as
    `_core.Processor.trace` gives them."""
    folder = RunDirectory(run)
    write_json(unused(folder.child_timing(child)), processor.timing(), indent=None)
    if trace:
        with (
            published(unused(folder.child_trace(child))) as temporary,
            open_new(temporary) as file,
        ):
            np.save(file, processor.trace())
