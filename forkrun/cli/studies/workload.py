"""`forkrun workload`: write a synthetic replay file."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.durable import require_folder, write_bytes
from forkrun.cli.arguments import add_option
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.studies.workload.generate import Statistics


_WRITTEN = {
    "like": ("--like NAME|FILE = hipileup", "hipileup, minbias, or a replay file"),
    "n_modules": (
        "--modules N",
        "number of modules, filters included (default: as in --like)",
    ),
    "n_filters": ("--filters N", "filters, each on its own path (default: as in --like)"),
    "n_events": ("--events N = 100", "events with their own times (default: 100)"),
    "iterations": ("--iterations N", "events to process (default: --events)"),
    "in_flight": ("--events-in-flight N = 1", "default: 1"),
    "seed": ("--seed N = 1", "same seed, same file (default: 1)"),
    "scale": ("--scale FACTOR = 1.0", "factor of all times (default: 1)"),
    "concurrency": ("--concurrency {reentrant,one,unsafe}", "concurrency of all modules"),
}
"""Options, by field of the wanted."""

DESCRIPTION = (
    "Write a replay file of any size with the statistics of a real one: times of"
    " modules, their spread from event to event, the shape of their dependencies."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("output", metavar="OUT.json[.gz]", type=Path)
    for field, written in _WRITTEN.items():
        add_option(parser, *written, dest=field)
    parser.add_argument("--mode", choices=("busywait", "sleep"), default="busywait")


def run(options: argparse.Namespace) -> int:
    """Writes the file."""
    from forkrun.studies.workload.generate import WorkloadOptions, generate

    require_folder(options.output)

    fields = WorkloadOptions.__struct_fields__
    wanted = WorkloadOptions(**{name: getattr(options, name) for name in fields})
    text = json.dumps(generate(_statistics(options.like), wanted)) + "\n"
    data = text.encode()
    if options.output.suffix == ".gz":
        data = gzip.compress(data, mtime=0)  # the same bytes at any time
    write_bytes(options.output, data)
    return 0


def _statistics(like: str) -> Statistics:
    from forkrun.studies.replay.read import read_replay
    from forkrun.studies.workload.generate import PRESETS, fit

    if like in PRESETS:
        return PRESETS[like]
    if not Path(like).exists():
        known = ", ".join(PRESETS)
        raise ConfigError(f"workload: --like {like}: neither {known} nor a replay file")
    return fit(read_replay(Path(like)))
