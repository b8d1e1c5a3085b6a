"""`forkrun status`: the progress of a job on many nodes."""

from __future__ import annotations

import argparse
import json
import sys
import time

from msgspec import to_builtins

from forkrun.base.streams import unfiltered
from forkrun.batch.status import MISSING, JobStatus, State, read_status, status_lines
from forkrun.cli.arguments import add_option, add_run_directory
from forkrun.errors import JobError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.opening import find_nodes

_FOLLOW_EVERY_S = 5.0

DESCRIPTION = (
    "Show the progress of a job on many nodes, from its ledgers and files. The"
    " batch"
    " system is asked which nodes run; if it does not answer, their state is unknown."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_run_directory(parser)
    add_option(parser, "--follow", "repeat until no node or merge runs or waits")
    add_option(parser, "--json", "print all details of each node as JSON")


def run(options: argparse.Namespace) -> int:
    """Exit code 0; with --follow that of a failed job if nodes are missing at the end, or the merge
    that was asked for."""
    folder, ranges = find_nodes(options.run_directory, "status")
    while True:
        status = read_status(folder, ranges)
        _print(options, folder, status)
        if not options.follow:
            return 0
        if status.is_over:
            is_lacking = status.wants_merge and not status.is_collected
            return JobError.exit_code if status.count(*MISSING) or is_lacking else 0
        time.sleep(_FOLLOW_EVERY_S)


def _print(options: argparse.Namespace, folder: RunDirectory, status: JobStatus) -> None:
    if options.json:
        print(json.dumps(to_json(status)), flush=True)
        return
    if options.follow and sys.stdout.isatty():
        print("\033[H\033[2J", end="", file=unfiltered(sys.stdout), flush=True)
    print(*status_lines(folder, status), sep="\n", flush=True)


def to_json(status: JobStatus) -> dict[str, object]:
    """Value that `--json` prints: sums, then the nodes."""
    sums = ("n_units", "n_units_planned", "n_events", "n_events_planned", "n_left_out")
    return {
        **{name: int(status.total(name)) for name in sums},
        "events_per_s": status.total("rate"),
        "time_left_s": status.time_left_s,
        "batch_system_answers": status.answers,
        "collected": status.is_collected,
        "merges": status.merges,
        "states": {state.value: status.count(state) for state in State},
        "nodes": to_builtins(status.nodes),
    }
