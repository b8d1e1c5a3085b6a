"""`forkrun plan --fit`: children × threads for a slot."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import to_builtins

from forkrun.base.quantities import parse_size, whole_number
from forkrun.cli.options import naming
from forkrun.config import JobConfig
from forkrun.errors import ConfigError
from forkrun.index import FileIndex


def add_fit_options(parser: argparse.ArgumentParser) -> None:
    """Adds --fit and the options that belong to it."""
    fit = parser.add_argument_group("children × threads for a slot")
    fit.add_argument(
        "--fit", action="store_true",
        help="probe the job with some events, then choose children × threads that fit the cores and"
        " the memory of this slot (CPU affinity, control groups, Slurm)",
    )  # fmt: skip
    fit.add_argument(
        "--fit-events",
        type=whole_number,
        default=1000,
        metavar="N",
        help="events per probe (%(default)s)",
    )
    fit.add_argument("--cores", type=whole_number, metavar="N", help="cores of another slot")
    fit.add_argument("--memory", metavar="SIZE", help='memory of another slot: "16 GB"')


def run_fit(options: argparse.Namespace, config: JobConfig, index: Sequence[FileIndex]) -> int:
    """Probes, chooses and prints."""
    from rich.console import Console

    from forkrun.parent.preparation import JobInput, plan_of
    from forkrun.studies.measure.fit import JobModel, choose
    from forkrun.studies.measure.fit_report import print_fit
    from forkrun.studies.measure.probe import probe_job, probe_threads
    from forkrun.studies.measure.slot import find_slot

    if options.synthetic is not None:
        raise ConfigError("plan --fit: a probe needs real input; leave out --synthetic")
    for flag, value in (("--fit-events", options.fit_events), ("--cores", options.cores)):
        if value is not None and value < 1:
            raise ConfigError(f"plan {flag} {value}: must be at least 1")
    memory = _bytes(options.memory) if options.memory else None
    slot = find_slot(cores=options.cores, memory_bytes=memory)
    here = find_slot()
    with naming(options.config), tempfile.TemporaryDirectory(prefix="forkrun-probe-") as folder:
        n_units = len(plan_of(config, JobInput.of(config, index)).units)
        threads = probe_threads(min(slot.n_cores, here.n_cores))
        probes = probe_job(config, options.fit_events, threads, Path(folder), _say)
    model = JobModel(probes)
    fit = choose(model, slot.n_cores, slot.memory.value, max(n_units, 1))
    if options.json:
        figures = {
            "slot": to_builtins(slot),
            "probes": to_builtins(probes),
            **fit.to_json(),
        }
        print(json.dumps(figures, indent=1))
    else:
        print_fit(slot, model, fit, Console(highlight=False))
    return 0 if fit.chosen else ConfigError.exit_code


def _bytes(text: str) -> float:
    try:
        return float(str(parse_size(text)))
    except ValueError as error:
        raise ConfigError(f"plan --memory {text}: {error}") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr)
