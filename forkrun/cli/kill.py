"""`forkrun kill`: stops the nodes of a job."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from forkrun.base.quantities import plural
from forkrun.batch.course import NodeJobs, accepted_submissions, note_kill
from forkrun.batch.systems.choose import system_of
from forkrun.cli.arguments import add_json, add_option, add_run_directory, print_json
from forkrun.cli.resubmit import numbers_of
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.opening import check_owner, find_nodes

DESCRIPTION = "Stop the nodes of a job. Their commits are kept; forkrun resubmit resumes them."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_run_directory(parser)
    add_option(parser, "--nodes N,N-M", "stop only these nodes")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Asks each batch system that has jobs of this run."""
    folder, ranges = find_nodes(options.run_directory, "kill")
    check_owner(folder.path)  # what it says is told to batch systems, and to processes
    submissions = accepted_submissions(folder)
    submitted = {node for submission in submissions for node in submission.nodes}
    nodes = sorted(submitted if options.nodes is None else numbers_of(options.nodes, len(ranges)))
    if not submitted.issuperset(nodes):
        raise ConfigError(f"kill --nodes {options.nodes}: some of these nodes were not submitted")
    stopped = plural(stop_nodes(folder, submissions, nodes), "node")
    if options.json:
        print_json({"run_directory": folder.path, "nodes": nodes})
    else:
        print(f"{stopped} asked to stop")
    return 0


def stop_nodes(folder: RunDirectory, submissions: Sequence[NodeJobs], nodes: Sequence[int]) -> int:
    """Asks nodes to stop, by their orders and by the batch systems; returns how many."""
    note_kill(folder, nodes)
    for on in sorted({submission.on for submission in submissions}):
        system_of(on).kill(folder, [s for s in submissions if s.on == on], nodes)
    return len(nodes)
