"""`forkrun plan --fit`: children × threads for a slot."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import to_builtins

from forkrun.base.quantities import parse_size
from forkrun.cli.arguments import print_json, quantity
from forkrun.cli.options import naming
from forkrun.config import JobConfig
from forkrun.errors import ConfigError
from forkrun.index import FileIndex

FIT = {
    "--fit": "probe the job with some events, then choose children × threads that fit the cores and"
    " the memory of this slot (CPU affinity, control groups, Slurm)",
    "--fit-events N = 1000": "events per probe (%(default)s)",
    "--cores N": "cores of another slot",
    "--memory SIZE": 'memory of another slot: "16 GB"',
}
"""Options."""


def run_fit(options: argparse.Namespace, config: JobConfig, index: Sequence[FileIndex]) -> int:
    """Probes, chooses and prints."""
    from forkrun.parent.job_input import plan_input
    from forkrun.studies.frame.repeats import doubling
    from forkrun.studies.measure.fit import JobModel, choose, print_fit, probe_job
    from forkrun.studies.measure.slot import find_slot

    if options.synthetic is not None:
        raise ConfigError("plan --fit: a probe needs real input; leave out --synthetic")
    for flag, value in (("--fit-events", options.fit_events), ("--cores", options.cores)):
        if value is not None and value < 1:
            raise ConfigError(f"plan {flag} {value}: must be at least 1")
    memory = quantity("plan --memory", options.memory, parse_size)
    slot = find_slot(cores=options.cores, memory_bytes=memory)
    here = find_slot()
    with naming(options.config), tempfile.TemporaryDirectory(prefix="forkrun-probe-") as folder:
        n_units = len(plan_input(config, index)[1].units)
        threads = doubling(1, min(slot.n_cores, here.n_cores))
        say = partial(print, file=sys.stderr)
        probes = probe_job(config, options.fit_events, threads, Path(folder), say)
    model = JobModel(probes)
    fit = choose(model, slot.n_cores, slot.memory.value, max(n_units, 1))
    if options.json:
        print_json({"slot": to_builtins(slot), "probes": to_builtins(probes), **fit.to_json()})
    else:
        print_fit(slot, model, fit)
    return 0 if fit.chosen else ConfigError.exit_code
