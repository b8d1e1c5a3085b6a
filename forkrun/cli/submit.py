"""`forkrun submit`: one job over many nodes."""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from forkrun.base.quantities import parse_duration, plural, whole_number
from forkrun.batch.extending import extend_nodes
from forkrun.batch.preparing import (
    NodesJob,
    Split,
    check_can_submit,
    prepare_nodes,
    write_nodes,
)
from forkrun.batch.submit import dry_submission, first_needs, note_on, submit_nodes, with_profile
from forkrun.cli.arguments import add_option, add_options, add_quiet, print_json, quantity
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.cli.resubmit import resubmit
from forkrun.config.choices import BatchSystem
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges
from forkrun.rundir.opening import opened_nodes, opened_to_begin, write_config

_FULL = 0.8
"""Part of a node's time that its events should take, as a probe of some of them says."""
_PROBE_EVENTS = 2000
_OPTIONS = {
    "--merge": "submit a merge that waits for the nodes",
    "--extend": "add new input files to a submitted job",
    "--new-code": "submit what is missing of a submitted job again, with the present code and"
    " functions, as forkrun resubmit --new-code does",
    "--dry-run": "write and show the scripts without submitting",
}

DESCRIPTION = (
    "Check and plan a job, give each node a part of the plan, and submit the nodes."
    " Options of the batch system are in [batch] of the job, or in a profile in"
    " ~/.config/forkrun/batch.toml."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_config_options(parser)
    add_option(parser, "-o, --output RUNDIR", "run directory (default: NAME-run)")
    add_option(parser, f"--on {{{','.join(BatchSystem)}}}", "batch system")
    add_option(parser, "--profile NAME", "profile of batch.toml to use")
    how_many = parser.add_mutually_exclusive_group()
    how_many.add_argument("--nodes", type=whole_number, metavar="N")
    how_many.add_argument("--events-per-node", type=whole_number, metavar="N")
    add_option(how_many, "--time-per-node TIME", '"2h", after a probe of some events')
    add_options(parser, _OPTIONS)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Prepares, then submits all nodes."""
    options.said = []
    options.settings += ["batch.merge=true"] if options.merge else []
    config = with_profile(config_of(options), options.profile)
    on = BatchSystem(options.on) if options.on else config.batch.on
    if on is None:
        raise ConfigError(f"{options.config}: batch.on: name a batch system, or give --on")
    config = note_on(config, on)
    folder = RunDirectory((options.output or config.run_directory).absolute())
    if options.extend:
        return _extend(options, config, folder.path)
    if options.new_code:
        again: dict[str, Any] = {"run_directory": folder.path, "nodes": None, "settings": []}
        return resubmit(argparse.Namespace(**{**vars(options), **again}), config)
    check_can_submit(folder)
    split = _split(options, config)
    with naming(options.config):
        planned = prepare_nodes(config, split)
    with opened_to_begin(folder) as lock, lock.kept_by_thread():
        planned, kept = write_nodes(folder, planned, split)
        if kept:
            _say(options, f"{folder.path}: {kept}")
        _submit(options, folder, planned, on)
    return _end(options, folder)


def _submit(
    options: argparse.Namespace, folder: RunDirectory, planned: NodesJob, on: BatchSystem
) -> None:
    """Submits all nodes with events to process, under the lock."""
    nodes, run = planned.nodes_to_run, folder.quoted
    n_events = sum(planned.ranges.n_events[number] for number in nodes)
    words = f"{plural(n_events, 'event')} for {plural(len(nodes), 'node')}"
    _say(options, f"{folder.path}: {words}")
    needs = first_needs(planned.job.config, nodes)
    if options.dry_run:
        for place in dry_submission(folder, planned.job.config, on, needs):
            _say(options, f"\n{place}:\n{place.read_text()}")
        _say(options, f"nothing was submitted: forkrun resubmit {run} does it")
        return
    for said in submit_nodes(folder, planned.job.config, on, needs):
        _say(options, said)
    _say(options, f"how it is: forkrun status {run}")


def _extend(options: argparse.Namespace, given: JobConfig, path: Path) -> int:
    """Adds new files; only they are processed."""
    is_split = options.nodes or options.events_per_node or options.time_per_node
    split = _split(options, given) if is_split else None
    with opened_nodes(path, "submit --extend") as (folder, ranges, lock):
        with naming(options.config):
            config, new = extend_nodes(folder, ranges, given, split)
        if new:
            with lock.kept_by_thread():
                _submit_more(options, folder, config, given, new)
        else:
            _say(options, f"{folder.path}: no new files")
    return _end(options, folder)


def _submit_more(
    options: argparse.Namespace,
    folder: RunDirectory,
    config: JobConfig,
    given: JobConfig,
    new: range,
) -> None:
    on = given.batch.on or BatchSystem.LOCAL
    batch = config.batch.replaced({"merge": given.batch.merge})
    config = note_on(config.replaced({"batch": batch}), on)
    write_config(folder, config)  # for the next time
    n_events = sum(NodeRanges.read(folder).n_events[new.start :])
    _say(options, f"{folder.path}: {plural(n_events, 'more event')} for {plural(len(new), 'node')}")
    if options.dry_run:
        _say(options, f"nothing was submitted: forkrun resubmit {folder.quoted} does it")
        return
    for said in submit_nodes(folder, config, on, first_needs(config, new)):
        _say(options, said)


def _say(options: argparse.Namespace, text: str) -> None:
    if options.json:
        options.said.append(text)
    elif not options.quiet:
        print(text)


def _end(options: argparse.Namespace, folder: RunDirectory) -> int:
    """Prints what was done as JSON, if that is wanted."""
    if options.json:
        ranges = NodeRanges.read(folder)
        counts = {"n_nodes": len(ranges), "n_events": sum(ranges.n_events)}
        print_json({"run_directory": folder.path, **counts, "said": options.said})
    return 0


def _split(options: argparse.Namespace, config: JobConfig) -> Split:
    for flag, value in (("nodes", options.nodes), ("events-per-node", options.events_per_node)):
        if value is not None and value < 1:
            raise ConfigError(f"submit --{flag} {value}: must be at least 1")
    if options.time_per_node:
        return Split(events_per_node=_events_in(options.time_per_node, config))
    if options.nodes is None and options.events_per_node is None:
        raise ConfigError("submit: give --nodes, --events-per-node or --time-per-node")
    return Split(options.nodes, options.events_per_node)


def _events_in(text: str, config: JobConfig) -> int:
    """Events that a node processes in this time, as tried here with some of them."""
    from forkrun.studies.measure.fit import probe_job

    time_s = quantity("submit --time-per-node", text, parse_duration) or 0.0
    threads = config.threads.per_child
    say = partial(print, file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="forkrun-probe-") as folder:
        (probe,) = probe_job(config, _PROBE_EVENTS, [threads], Path(folder), say)
    cores = config.batch.cores
    children = max(cores // threads, 1) if cores else max(config.forking.children, 1)
    rate = probe.events_per_s * children
    say(f"{rate:,.0f} events per second of a node of {children} × {plural(threads, 'thread')}")
    return max(int(rate * time_s * _FULL), 1)
