"""`forkrun replay`: run measured modules that only take their time."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import get_args

from forkrun.base.durable import require_folder, write_user_file
from forkrun.cli.arguments import add_option
from forkrun.studies.replay.model import ExecutorName, Get, Mode, ReplaySettings

_WRITTEN = {
    "n_events": ("--iterations N", "number of events (default: of the file)"),
    "events_in_flight": (
        "--events-in-flight N",
        "events in flight per child (default: of the file)",
    ),
    "n_threads": ("--threads N", "threads per child (default: of the file, or one per core)"),
    "time_scale": ("--time-scale FACTOR", "factor of all times (default: 1)"),
    "n_children": ("--children N", "forked processes that share the events (default: 1)"),
    "block_size": ("--block-size N", "events that a module gets at a time (default: 1)"),
    "executor": (f"--executor {{{','.join(get_args(ExecutorName))}}}", "thread pool (tbb)"),
    "mode": (
        f"--mode {{{','.join(get_args(Mode))}}}",
        "way of spending time (default: that of the file)",
    ),
    "get": (
        f"--get {{{','.join(get_args(Get))}}}",
        "way in which modules get products (default: that of the file)",
    ),
}
"""Options, by field of the settings."""

DESCRIPTION = (
    "Run the modules of a replay file: its times and dependencies, nothing else."
    " This"
    " measures the scheduler, or what a machine would do with such a job."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("file", metavar="FILE", type=Path, help="replay file: JSON, plain or .gz")
    for field, written in _WRITTEN.items():
        add_option(parser, *written, dest=field)
    add_option(parser, "--always-tasks", "always use tasks, never plain calls", default=None)
    add_option(parser, "--json OUT.json", "write the results as JSON")
    add_option(parser, "-q, --quiet", "do not show progress")


def run(options: argparse.Namespace) -> int:
    """Replays a file."""
    from forkrun.studies.replay.read import read_replay
    from forkrun.studies.replay.run import run_replay

    fields = ReplaySettings.__struct_fields__
    given = {name: getattr(options, name, None) for name in fields}
    settings = ReplaySettings(**{name: v for name, v in given.items() if v is not None})
    if options.json is not None:
        require_folder(options.json)
    result = run_replay(read_replay(options.file), settings, options.quiet)
    if result.steps_per_s:
        print(f"fixed work: {result.steps_per_s / 1e6:.1f} M steps/s")
    if options.json is not None:
        write_user_file(options.json, json.dumps(result.to_json(), indent=2) + "\n")
    print(result.line())
    return 0
