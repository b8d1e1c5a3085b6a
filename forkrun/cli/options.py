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
from forkrun.cli.arguments import add_option
from forkrun.config.anchor import anchored
from forkrun.config.choices import AUTO, Distribution, Executor
from forkrun.config.read import parse_setting
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.config.model import JobConfig

_CORES = {
    "--children N": (
        "forking.children",
        'number of children; 0: process in the parent; "auto": one per CPU',
    ),
    "--threads N": ("threads.per_child", "threads per child"),
}
_OVERRIDES = {
    f"--distribution {{{','.join(Distribution)}}}": (
        "forking.distribution",
        "distribution of events among children",
    ),
    "--events-per-turn N": ("forking.events_per_turn", "events per turn of round-robin"),
    f"--executor {{{','.join(Executor)}}}": ("threads.executor", "thread pool that runs tasks"),
    "--dataset NAME": (
        "source.datasets",
        "process only datasets of this name or pattern; repeatable",
    ),
    "--max-events N": ("source.max_events", "maximum number of events"),
    "--skip-events N": ("source.skip_events", "skip the first N events"),
    "--lumi-mask FILE": ("source.lumi_mask", 'lumi mask: {"run": [[first, last], …]}'),
    "--runs RUNS": ("source.runs", 'runs to process: "362001-362100,362200"'),
    "--max-walltime TIME": ("limits.walltime", 'time limit: "8h", "07:45:00"'),
    "--max-memory SIZE": ("limits.memory", 'memory limit for all processes together: "16 GB"'),
}
"""Options, each with the key that it overrides."""


def add_config_options(
    parser: argparse.ArgumentParser, *, needs_config: bool = True, has_cores: bool = True
) -> None:
    """Adds CONFIG, [FILES…] and the options that override them; unless the command has its own for
    them, also numbers of children and threads."""
    words = (
        "job configuration, a TOML or JSON file; or a program in Python that makes a"
        " forkrun.Job: it is run up to its first job.run(), whose job is taken"
    )
    parser.add_argument("config", metavar="CONFIG", nargs=None if needs_config else "?", help=words)
    words = "input files, globs or URLs that replace source.files (relative to this directory)"
    parser.add_argument("files", metavar="FILE", nargs="*", help=words)
    add_overrides(parser, has_cores=has_cores)
    add_option(parser, "--job NAME", "the forkrun.Job to take of a program that makes several")


def add_overrides(parser: argparse.ArgumentParser, *, has_cores: bool = True) -> None:
    """Adds the options that override the configuration."""
    job = parser.add_argument_group("what overrides the configuration")
    for written, (_, words) in {**(_CORES if has_cores else {}), **_OVERRIDES}.items():
        add_option(job, written, words, **_PARTICULAR.get(written, {}))
    words = (
        "set any key, in TOML syntax: --set forking.children=8,"
        " --set modules.dimuon.params.pt_min=7.5"
    )
    add_option(job, "--set KEY=VALUE", words, action="append", default=[], dest="settings")


_PARTICULAR: dict[str, dict[str, Any]] = {
    "--children N": {"type": lambda text: text if text == AUTO else whole_number(text)},
    "--dataset NAME": {"action": "append"},
    "--lumi-mask FILE": {"type": None},
}


def config_of(options: argparse.Namespace) -> JobConfig:
    """Configuration of the file, or of the program in Python that has run, with the command line
    applied."""
    from forkrun.config.read import read_config, with_settings

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
    for written, (key, _) in {**_CORES, **_OVERRIDES}.items():
        value = getattr(options, written.split()[0].strip("-").replace("-", "_"))
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
