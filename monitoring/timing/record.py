"""What one child leaves of its calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forkrun import _core
from forkrun.rundir.directory import output_errors, unused, write_json


def timing_file(run: Path, child: int) -> Path:
    """{"modules": [{label, kind, concurrency, inputs, count, total_s, max_s, cpu_s, wait_inputs_s,
    wait_queue_s, bins: [[start_s, count], …]}], "stalls": [[module, waited_for, count, total_s]],
    "n_not_traced"}"""
    return run / "monitoring" / f"timing-{child:03d}.json"


def trace_file(run: Path, child: int) -> Path:
    """(n,) records, as `_core.Processor.trace` gives them."""
    return run / "monitoring" / f"trace-{child:03d}.npy"


def write_timing(processor: _core.Processor, run: Path, child: int, trace: bool) -> None:
    """At the end of a child's work."""
    write_json(unused(timing_file(run, child)), processor.timing(), indent=None)
    if trace:
        file = unused(trace_file(run, child))
        with output_errors(file):
            np.save(file, processor.trace())
