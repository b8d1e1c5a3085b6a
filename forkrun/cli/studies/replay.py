"""`forkrun replay`: run measured modules that only take their time."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from forkrun.base.durable import write_named
from forkrun.base.quantities import whole_number
from forkrun.errors import OutputError
from forkrun.studies.replay.settings import ExecutorName, Get, Mode, ReplaySettings

_OPTIONS: tuple[tuple[str, str, Callable[[str], Any], str], ...] = (
    ("--iterations", "n_events", whole_number, "number of events (default: of the file)"),
    (
        "--events-in-flight",
        "events_in_flight",
        whole_number,
        "events in flight per child (default: of the file)",
    ),
    (
        "--threads",
        "n_threads",
        whole_number,
        "threads per child (default: of the file, or one per core)",
    ),
    ("--time-scale", "time_scale", float, "factor of all times (default: 1)"),
    (
        "--children",
        "n_children",
        whole_number,
        "forked processes that share the events (default: 1)",
    ),
    (
        "--block-size",
        "block_size",
        whole_number,
        "events that a module gets at a time (default: 1)",
    ),
)

DESCRIPTION = (
    "Run the modules of a replay file: its times and dependencies, nothing else."
    " This"
    " measures the scheduler, or what a machine would do with such a job."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("file", metavar="FILE", type=Path, help="replay file: JSON, plain or .gz")
    for flag, field, kind, words in _OPTIONS:
        parser.add_argument(flag, dest=field, type=kind, metavar="N", help=words)
    parser.add_argument("--executor", choices=get_args(ExecutorName), help="thread pool (tbb)")
    parser.add_argument(
        "--mode", choices=get_args(Mode), help="way of spending time (default: that of the file)"
    )
    parser.add_argument(
        "--get",
        choices=get_args(Get),
        help="way in which modules get products (default: that of the file)",
    )
    parser.add_argument(
        "--always-tasks",
        action="store_true",
        default=None,
        help="always use tasks, never plain calls",
    )
    parser.add_argument("--json", metavar="OUT.json", type=Path, help="write the results as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")


def run(options: argparse.Namespace) -> int:
    """Replays a file."""
    from forkrun.studies.replay.read import read_replay
    from forkrun.studies.replay.run import run_replay

    fields = ReplaySettings.__struct_fields__
    given = {name: getattr(options, name, None) for name in fields}
    settings = ReplaySettings(**{name: v for name, v in given.items() if v is not None})
    if options.json is not None and not options.json.absolute().parent.is_dir():
        raise OutputError(f"{options.json}: folder {options.json.parent} does not exist")
    result = run_replay(read_replay(options.file), settings, options.quiet)
    if result.steps_per_s:
        print(f"fixed work: {result.steps_per_s / 1e6:.1f} M steps/s")
    if options.json is not None:
        write_named(options.json, json.dumps(result.to_json(), indent=2) + "\n")
    print(result.line())
    return 0
