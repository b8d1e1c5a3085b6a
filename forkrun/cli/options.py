"""Options that several commands share, and the configuration that follows from them."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun.base.caller import file_of_job
from forkrun.base.quantities import whole_number
from forkrun.base.received import CONFIG, received
from forkrun.config import Distribution, Executor
from forkrun.config.anchor import anchored
from forkrun.config.auto_children import AUTO
from forkrun.config.settings import parse_setting
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.config import JobConfig

_FLAGS = {
    "children": "forking.children",
    "distribution": "forking.distribution",
    "events_per_turn": "forking.events_per_turn",
    "threads": "threads.per_child",
    "executor": "threads.executor",
    "dataset": "source.datasets",
    "max_events": "source.max_events",
    "skip_events": "source.skip_events",
    "lumi_mask": "source.lumi_mask",
    "runs": "source.runs",
    "max_walltime": "limits.walltime",
    "max_memory": "limits.memory",
}


def add_config_options(
    parser: argparse.ArgumentParser, *, needs_config: bool = True, has_cores: bool = True
) -> None:
    """Adds CONFIG, [FILES…] and the options that override them; unless the command has its own for
    them, also numbers of children and threads."""
    parser.add_argument(
        "config",
        metavar="CONFIG",
        nargs=None if needs_config else "?",
        help="job configuration, a TOML or JSON file; or a program in Python that makes a"
        " forkrun.Job: it is run up to its first job.run(), whose job is taken",
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="input files, globs or URLs that replace source.files (relative to this directory)",
    )
    add_overrides(parser, has_cores=has_cores)
    parser.add_argument(
        "--job", metavar="NAME", help="the forkrun.Job to take of a program that makes several"
    )


def add_overrides(parser: argparse.ArgumentParser, *, has_cores: bool = True) -> None:
    """Adds the options that override the configuration."""
    job = parser.add_argument_group("what overrides the configuration")
    if has_cores:
        _add_cores(job)
    distributions, executors = [d.value for d in Distribution], [e.value for e in Executor]
    job.add_argument(
        "--distribution", choices=distributions, help="distribution of events among children"
    )
    job.add_argument(
        "--events-per-turn", type=whole_number, metavar="N", help="events per turn of round-robin"
    )
    job.add_argument("--executor", choices=executors, help="thread pool that runs tasks")
    job.add_argument(
        "--dataset",
        action="append",
        metavar="NAME",
        help="process only datasets of this name or pattern; repeatable",
    )
    job.add_argument(
        "--max-events", type=whole_number, metavar="N", help="maximum number of events"
    )
    job.add_argument(
        "--skip-events", type=whole_number, metavar="N", help="skip the first N events"
    )
    job.add_argument("--lumi-mask", metavar="FILE", help='lumi mask: {"run": [[first, last], …]}')
    job.add_argument("--runs", metavar="RUNS", help='runs to process: "362001-362100,362200"')
    job.add_argument("--max-walltime", metavar="TIME", help='time limit: "8h", "07:45:00"')
    job.add_argument(
        "--max-memory", metavar="SIZE", help='memory limit for all processes together: "16 GB"'
    )
    job.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="set any key, in TOML syntax: --set forking.children=8,"
        " --set modules.dimuon.params.pt_min=7.5",
    )


def _add_cores(job: argparse._ArgumentGroup) -> None:
    job.add_argument(
        "--children",
        type=_number_of_children,
        metavar="N",
        help='number of children; 0: process in the parent; "auto": one per CPU',
    )
    job.add_argument("--threads", type=whole_number, metavar="N", help="threads per child")


def _number_of_children(text: str) -> int | str:
    return text if text == AUTO else whole_number(text)


def config_of(options: argparse.Namespace) -> JobConfig:
    """Configuration of the file, or of the program in Python that has run, with the command line
    applied."""
    from forkrun.config import read_config, with_settings  # with pydantic

    settings = settings_of(options)
    if content := received(CONFIG):
        return with_settings(json.loads(content), file_of_job(options.config), settings)
    if getattr(options, "job", None):
        raise ConfigError(f"--job {options.job}: {options.config} is not a program in Python")
    return read_config(options.config, settings)


def settings_of(options: argparse.Namespace) -> list[tuple[str, Any]]:
    """Dotted keys and values of the options; --set comes last."""
    settings: list[tuple[str, Any]] = []
    if getattr(options, "files", None):
        settings += [
            ("source.files", [anchored(file, Path.cwd()) for file in options.files]),
            ("source.list", None),
        ]
    for flag, key in _FLAGS.items():
        value = getattr(options, flag)
        if value is not None:
            settings.append((key, value))
    return settings + [parse_setting(text) for text in options.settings]


@contextlib.contextmanager
def naming(file: str) -> Iterator[None]:
    """Prefixes problems that are found later with the name of the configuration."""
    try:
        yield
    except ConfigError as error:
        name = file_of_job(file)
        raise ConfigError([f"{name}: {problem}" for problem in error.problems]) from error
