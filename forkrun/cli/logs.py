"""`forkrun logs`: the last lines of nodes' logs."""

from __future__ import annotations

import argparse
from typing import Any

from forkrun.batch.course import existing_logs, read_submissions, tail
from forkrun.batch.status import MISSING, read_status
from forkrun.cli.arguments import add_json, add_option, add_run_directory, print_json
from forkrun.cli.resubmit import numbers_of
from forkrun.rundir.opening import find_nodes

DESCRIPTION = "Print the last lines of the logs of unfinished nodes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_run_directory(parser)
    add_option(parser, "--nodes N,N-M", "print these nodes' logs instead")
    add_option(parser, "--lines N = 20", "lines per log (20)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Names each log before its lines."""
    folder, ranges = find_nodes(options.run_directory, "logs")
    if options.nodes is None:
        status = read_status(folder, ranges)
        numbers = [node.number for node in status.nodes if node.state in MISSING]
    else:
        numbers = numbers_of(options.nodes, len(ranges))
    last = {node: s for s in read_submissions(folder) for node in s.nodes}
    logs: list[dict[str, Any]] = []
    for number in numbers:
        own = folder.node(number).parent_log
        for log in [
            *existing_logs(folder, number, last.get(number)),
            *([own] if own.exists() else []),
        ]:
            logs.append({"node": number, "file": log, "lines": list(tail(log, options.lines))})
    if options.json:
        print_json({"logs": logs})
        return 0
    for each in logs:
        print(f"==> {each['file']} <==", *each["lines"], sep="\n")
    return 0
