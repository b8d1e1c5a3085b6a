"""`forkrun workload`: write a synthetic replay file."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun.base.durable import require_folder, write_bytes
from forkrun.base.quantities import whole_number
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.studies.workload.statistics import Statistics


_OPTIONS: tuple[tuple[str, str, Callable[[str], Any], object, str], ...] = (
    (
        "--modules",
        "n_modules",
        whole_number,
        None,
        "number of modules, filters included (default: as in --like)",
    ),
    (
        "--filters",
        "n_filters",
        whole_number,
        None,
        "filters, each on its own path (default: as in --like)",
    ),
    ("--events", "n_events", whole_number, 100, "events with their own times (default: 100)"),
    ("--iterations", "iterations", whole_number, None, "events to process (default: --events)"),
    ("--events-in-flight", "in_flight", whole_number, 1, "default: 1"),
    ("--seed", "seed", whole_number, 1, "same seed, same file (default: 1)"),
    ("--scale", "scale", float, 1.0, "factor of all times (default: 1)"),
)

DESCRIPTION = (
    "Write a replay file of any size with the statistics of a real one: times of"
    " modules, their spread from event to event, the shape of their dependencies."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("output", metavar="OUT.json[.gz]", type=Path)
    parser.add_argument(
        "--like",
        default="hipileup",
        metavar="NAME|FILE",
        help="hipileup, minbias, or a replay file",
    )
    for flag, field, kind, default, words in _OPTIONS:
        parser.add_argument(flag, dest=field, type=kind, default=default, metavar="N", help=words)
    parser.add_argument(
        "--concurrency", choices=("reentrant", "one", "unsafe"), help="concurrency of all modules"
    )
    parser.add_argument("--mode", choices=("busywait", "sleep"), default="busywait")


def run(options: argparse.Namespace) -> int:
    """Writes the file."""
    from forkrun.studies.workload.generate import Wishes, generate

    require_folder(options.output)

    fields = Wishes.__struct_fields__
    wishes = Wishes(**{name: getattr(options, name) for name in fields})
    text = json.dumps(generate(_statistics(options.like), wishes)) + "\n"
    data = text.encode()
    if options.output.suffix == ".gz":
        data = gzip.compress(data, mtime=0)  # the same bytes at any time
    write_bytes(options.output, data)
    return 0


def _statistics(like: str) -> Statistics:
    from forkrun.studies.replay.read import read_replay
    from forkrun.studies.workload.fit import fit
    from forkrun.studies.workload.statistics import PRESETS

    if like in PRESETS:
        return PRESETS[like]
    if not Path(like).exists():
        known = ", ".join(PRESETS)
        raise ConfigError(f"workload: --like {like}: neither {known} nor a replay file")
    return fit(read_replay(Path(like)))
