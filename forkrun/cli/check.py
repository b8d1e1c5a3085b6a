"""`forkrun check`: everything that can be wrong before a job runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from forkrun.base.caller import file_of_job
from forkrun.base.quantities import plural
from forkrun.cli.arguments import add_option, add_options, print_json
from forkrun.cli.options import add_config_options, config_of
from forkrun.conditions.snapshots import summary
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError, ForkrunError, VerificationError
from forkrun.parent.checking import Findings, check_job
from forkrun.parent.preparation import PreparedJob

_EVENTS = 20_000
_BLOCKS = {
    "--blocks": "compare results of modules for several sizes of blocks: columns, decisions of"
    " filters and histograms, to the last bit",
    "--events N": f"number of events for --blocks ({_EVENTS})",
}

DESCRIPTION = (
    "Read the configuration, index the input, load conditions and modules, compile"
    " the schedule and call the modules with the first events; report every problem, and"
    " likely mistakes as warnings. With --blocks, run the first events in blocks of several"
    " sizes, and name each module whose results depend on the size (exit code 6)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_config_options(parser)
    add_option(parser, "--strict", "treat warnings as errors (exit code 2)")
    add_option(parser, "--json", "print what was found as JSON")
    add_options(parser.add_argument_group("blocks"), _BLOCKS)


def run(options: argparse.Namespace) -> int:
    """Says what was checked. Raises what is wrong, all of it at once."""
    if options.events is not None and not (options.blocks and options.events):
        raise ConfigError(
            "--events is the number of events for --blocks: give both, and at least 1"
        )
    config, file = config_of(options), file_of_job(options.config)
    found = check_job(config)
    if options.strict:
        found.errors += [ConfigError(text) for text in found.warnings]
    else:
        for text in found.warnings:
            print(f"forkrun: warning: {file}: {text}", file=sys.stderr)
    if found.errors or found.job is None:
        raise _together(found.errors, file)
    if options.json:
        print_json(_as_json(found, found.job))
    else:
        print(_summary(file, config, found, found.job))
    if options.blocks:
        _check_blocks(found.job, options.events or _EVENTS)
    return 0


def _together(errors: Sequence[ForkrunError], file: str) -> ForkrunError:
    """One error with all problems; its exit code is theirs if they are of one kind, else that of a
    wrong configuration."""
    kinds = {type(error) for error in errors}
    texts = [
        f"{file}: {problem}" if isinstance(error, ConfigError) else problem
        for error in errors
        for problem in (error.problems if isinstance(error, ConfigError) else [str(error)])
    ]
    texts = list(dict.fromkeys(texts))
    if len(kinds) > 1 or kinds == {ConfigError}:
        return ConfigError(texts)
    return kinds.pop()("\n".join(texts))


def _summary(file: str, config: JobConfig, found: Findings, job: PreparedJob) -> str:
    text = (
        f"{file}: this job can run: {plural(job.plan.n_events, 'event')} in"
        f" {plural(job.plan.n_lumis, 'lumi')} of {job.plan.input_text},"
        f" {plural(len(config.modules), 'module')}, {plural(len(config.paths), 'path')},"
        f" {plural(len(config.outputs), 'output')};"
        f" modules read {len(job.schedule.consumed)} of the input's columns"
        + (f"; {summary(job.schedule.conditions)}" if config.conditions else "")
    )
    for note in job.plan.notes:
        text += f"\n{note}"
    if found.n_events_tried and config.modules:
        text += f"\nmodules were called with the first {plural(found.n_events_tried, 'event')}"
        if found.not_called:
            text += f"; not called: {', '.join(found.not_called)} (no event came to them)"
    return text


def _as_json(found: Findings, job: PreparedJob) -> dict[str, Any]:
    return {
        "n_events": job.plan.n_events,
        "n_lumis": job.plan.n_lumis,
        "columns": sorted(job.schedule.consumed),
        "n_events_tried": found.n_events_tried,
        "not_called": list(found.not_called),
        "notes": list(job.plan.notes),
        "warnings": list(found.warnings),
    }


def _check_blocks(job: PreparedJob, n_events: int) -> None:
    from forkrun.studies.blocks.check import check_blocks, describe

    checked = check_blocks(job, n_events)
    if checked.found:
        raise VerificationError(describe(checked))
    print(describe(checked))
