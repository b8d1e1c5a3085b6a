"""`forkrun resubmit`: submits what is missing of a job on many nodes."""

from __future__ import annotations

import argparse

from forkrun.base.quantities import plural
from forkrun.base.user_text import short
from forkrun.batch.extending import check_unchanged
from forkrun.batch.shipping import changed_code, take_new_code
from forkrun.batch.status import JobStatus, State, read_status
from forkrun.batch.submit import missing_needs, named_needs, note_on, submit_nodes
from forkrun.cli.arguments import add_option, add_quiet, add_run_directory, print_json
from forkrun.config.choices import BatchSystem
from forkrun.config.model import JobConfig
from forkrun.config.read import parse_setting, read_config
from forkrun.errors import ConfigError, JobError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.opening import opened_nodes, write_config
from forkrun.rundir.packing import unpack_batch

DESCRIPTION = (
    "Submit again the nodes of a job that are neither done nor running nor waiting."
    " They resume from their commits."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_run_directory(parser)
    add_option(parser, f"--on {{{','.join(BatchSystem)}}}", "batch system")
    words = "resubmit these nodes in any state, without counting retries"
    add_option(parser, "--nodes N,N-M", words)
    words = "change a value of [batch] from now on"
    add_option(parser, "--set batch.KEY=VALUE", words, action="append", default=[], dest="settings")
    words = (
        "process missing units with the present code, which must make the same columns and"
        " histograms; the report says so"
    )
    add_option(parser, "--new-code", words)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Prints what the batch system says. Raises JobError if nodes have had all their retries."""
    return resubmit(options)


def resubmit(options: argparse.Namespace, given: JobConfig | None = None) -> int:
    """The same. `given`: the job as it is now, whose code and functions are taken."""
    settings = [parse_setting(text) for text in options.settings]
    wrong = [key for key, _ in settings if not key.startswith("batch.")]
    if wrong:
        raise ConfigError(f"resubmit --set {wrong[0]}: only [batch] may change; submit again")
    with opened_nodes(options.run_directory, "resubmit") as (folder, ranges, lock):
        config = read_config(folder.config, settings)
        if given is not None:
            check_unchanged(config, given, "submit --new-code: only code may change")
            config = config.replaced({"modules": given.modules})
        on = BatchSystem(options.on) if options.on else config.batch.on
        if on is None:
            raise ConfigError("resubmit: name a batch system with --on")
        status = read_status(folder, ranges)
        code = []
        if not options.quiet or options.new_code:
            code = _code(options, folder, config, status)
        if not (options.quiet or options.json):
            print(*code, sep="\n", end="\n" if code else "")
        with lock.kept_by_thread():
            if options.nodes is None:
                needs, problem = missing_needs(folder, config, status)
            else:
                named = numbers_of(options.nodes, len(ranges))
                needs, problem = named_needs(folder, config, status, named), ""
            if settings or options.on or given:
                config = note_on(config, on)
                write_config(folder, config)  # for the next time
            if needs:
                unpack_batch(folder)
            said = list(submit_nodes(folder, config, on, needs))
    if options.json:
        found = {"run_directory": folder.path, "n_nodes": len(needs), "said": [*code, *said]}
        print_json({**found, "problem": problem})
    elif not options.quiet:
        print(*said, sep="\n", end="\n" if said else "")
        print(
            f"{plural(len(needs), 'node')} submitted" if needs or problem else "no node is missing"
        )
    if problem:
        raise JobError(problem)
    return 0


def _code(
    options: argparse.Namespace, folder: RunDirectory, config: JobConfig, status: JobStatus
) -> list[str]:
    """Takes the code that there is now, if that is wanted; gives what is to be said of which code
    nodes have."""
    if not options.new_code:
        changed = changed_code(folder)
        text = (
            f"{', '.join(changed)}: changed since the job was submitted; nodes continue with the"
            " code of the submission (--new-code: with that of now)"
        )
        return [text] if changed else []
    if running := [n.number for n in status.nodes if n.state in (State.RUNNING, State.UNKNOWN)]:
        raise ConfigError(
            f"resubmit --new-code: nodes {', '.join(map(str, running[:10]))} run, or may run, with"
            " the code of the submission: wait for them, or forkrun kill them"
        )
    changed = take_new_code(folder, config)
    return [f"new code: {', '.join(changed) or 'nothing has changed'}"]


def numbers_of(text: str, n_nodes: int) -> list[int]:
    """Numbers of nodes, of a text `3,7-9`. Raises ConfigError."""
    numbers: list[int] = []
    for word in text.split(","):
        first, _, last = word.strip().partition("-")
        if not _is_node(first, n_nodes) or not _is_node(last or first, n_nodes):
            raise ConfigError(
                f"--nodes {short(text)}: write numbers and ranges, as 3,7-9; the job has nodes 0 to"
                f" {n_nodes - 1}"
            )
        numbers += range(int(first), int(last or first) + 1)
    return sorted(set(numbers))


def _is_node(text: str, n_nodes: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) < n_nodes
