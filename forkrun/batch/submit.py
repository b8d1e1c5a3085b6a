"""Submits nodes of a job: first all, later the missing ones; with profiles of sites, defaults of
[batch] in a file of the user."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from forkrun.base.durable import output_errors, write_text
from forkrun.base.nearest import suggestion
from forkrun.base.user_text import parse_toml
from forkrun.batch.course import (
    NodeJobs,
    accepted_submissions,
    next_number,
    note_refusal,
    note_submission,
    read_course,
    read_submissions,
    reports_exceeded_memory,
)
from forkrun.batch.status import MISSING, JobStatus, NodeStatus, State
from forkrun.batch.systems.choose import system_of
from forkrun.config.anchor import user_folder
from forkrun.config.batch import BatchConfig
from forkrun.config.checks import Refused
from forkrun.config.choices import BatchSystem
from forkrun.config.model import JobConfig
from forkrun.config.problems import schema_problems
from forkrun.errors import BatchError, ConfigError, OutOfTimeError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges

_KILLED = 128 + 9
_NODES_OF_PART = 100
"""Nodes per part of the outputs, where the number of jobs is not given."""
Need = tuple[float | None, int | None]
"""Time limit [s] and memory [bytes] of a node's job; None: the batch system's default."""


def submit_nodes(
    folder: RunDirectory, config: JobConfig, on: BatchSystem, needs: dict[int, Need]
) -> Iterator[str]:
    """Submits these nodes; returns the answer of the batch system. Raises BatchError."""
    system, submission = system_of(on), None
    for submission in _submissions(folder, config, on, needs, system.most_nodes()):
        write_scripts(folder, config, submission)
        note_submission(folder, submission)
        try:
            yield system.submit(folder, submission)
        except BatchError as error:
            note_refusal(folder, submission, str(error))
            raise BatchError(
                f"{error}\nthe job is prepared; forkrun resubmit {folder.quoted} submits it, with"
                " --set batch.KEY=VALUE to change [batch]"
            ) from None
    if submission and config.batch.merge:
        alive = [s for s in accepted_submissions(folder) if s.on == on]
        yield system.merge(folder, submission, alive)


def _submissions(
    folder: RunDirectory,
    config: JobConfig,
    on: BatchSystem,
    needs: dict[int, Need],
    most: int,
) -> Iterator[NodeJobs]:
    """One submission for all nodes with the same needs, split at the batch system's limit."""
    number = next_number(read_submissions(folder))
    n_parts = _n_merge_parts(folder, config.batch, most)
    by_need = sorted(needs, key=lambda node: (str(needs[node]), node))
    for need, group in groupby(by_need, key=lambda node: needs[node]):
        nodes = list(group)
        for first in range(0, len(nodes), most):
            name = f"forkrun-{config.job.name}-{secrets.token_hex(4)}"
            yield NodeJobs(
                number, on.value, name, tuple(nodes[first : first + most]), *need, time.time(),
                socket.gethostname(), n_merge_parts=n_parts,
            )  # fmt: skip
            number += 1


def _n_merge_parts(folder: RunDirectory, batch: BatchConfig, most: int) -> int:
    if batch.makes_outputs_on_nodes:
        return 0
    n_nodes = len(NodeRanges.read(folder))
    n_parts = min(batch.merge_jobs or n_nodes // _NODES_OF_PART, n_nodes, most)
    return n_parts if batch.merge and n_parts > 1 else 0


def write_scripts(folder: RunDirectory, config: JobConfig, submission: NodeJobs) -> list[Path]:
    """Writes the files of a submission; returns their paths."""
    with output_errors(folder.batch):
        for place in (folder.batch_log(0), folder.node_ends(0)):
            place.parent.mkdir(parents=True, exist_ok=True)
    files = system_of(submission.on).scripts(folder, submission, config.batch)
    for place, text in files.items():
        write_text(place, text, mode=0o700)  # lines of [batch] may hold secrets
    return list(files)


def first_needs(config: JobConfig, nodes: Iterable[int]) -> dict[int, Need]:
    """Needs of these nodes from the configuration."""
    return dict.fromkeys(nodes, (config.batch.time, config.batch.memory))


def dry_submission(
    folder: RunDirectory, config: JobConfig, on: BatchSystem, needs: dict[int, Need]
) -> list[Path]:
    """Writes the scripts that would be submitted; returns their paths."""
    most = system_of(on).most_nodes()
    submissions = list(_submissions(folder, config, on, needs, most))
    return [place for s in submissions for place in write_scripts(folder, config, s)]


def missing_needs(
    folder: RunDirectory, config: JobConfig, status: JobStatus
) -> tuple[dict[int, Need], str]:
    """Needs of nodes that will not finish otherwise, and a message about nodes that have used all
    their retries, "" if there are none. Raises BatchError if the state is unknown."""
    if status.count(State.UNKNOWN):
        raise BatchError(
            f"{folder.path}: the batch system does not answer, so the running nodes are unknown;"
            " try again later, or name nodes with --nodes"
        )
    missing = [node for node in status.nodes if node.state in MISSING]
    accepted = _accepted(folder)
    tired = [n for n in missing if len(accepted.get(n.number, ())) > config.batch.retries]
    needs = {
        node.number: _need(folder, config, node, accepted.get(node.number, ()))
        for node in missing
        if node not in tired
    }
    if not tired:
        return needs, ""
    return needs, (
        f"nodes {', '.join(str(node.number) for node in tired)} have had all their retries"
        f" (batch.retries = {config.batch.retries}): {tired[0].reason or 'no reason is known'};"
        f" forkrun logs {folder.quoted} shows more; --nodes submits them anyway"
    )


def named_needs(
    folder: RunDirectory, config: JobConfig, status: JobStatus, named: Sequence[int]
) -> dict[int, Need]:
    """Needs of these nodes. Raises ConfigError if one is running or waiting."""
    accepted = _accepted(folder)
    return {
        n: _need(folder, config, status.nodes[n], accepted.get(n, ()))
        for n in _checked(status, named)
    }


def _checked(status: JobStatus, named: Sequence[int]) -> list[int]:
    alive = [n for n in named if status.nodes[n].state in (State.RUNNING, State.WAITING)]
    if alive:
        raise ConfigError(f"resubmit: nodes {', '.join(map(str, alive))} run or wait already")
    return list(named)


def _accepted(folder: RunDirectory) -> dict[int, list[NodeJobs]]:
    """Accepted submissions by node, in order."""
    by_node: dict[int, list[NodeJobs]] = {}
    for submission in accepted_submissions(folder):
        for node in submission.nodes:
            by_node.setdefault(node, []).append(submission)
    return by_node


def _need(
    folder: RunDirectory, config: JobConfig, node: NodeStatus, submissions: Sequence[NodeJobs]
) -> Need:
    """Needs of a node: those of its last submission, increased where they were exceeded; at least
    those of the configuration. `submissions`: those of the node."""
    batch, last = config.batch, submissions[-1] if submissions else None
    time_s, memory = batch.time, batch.memory
    if last and last.time_limit_s and time_s:
        factor = batch.more_time if _lacks_time(folder, node) else 1
        time_s = max(time_s, last.time_limit_s * factor)
    if last and last.memory_bytes and memory:
        lacks = node.code == _KILLED or reports_exceeded_memory(folder, node.number, last)
        memory = max(memory, round(last.memory_bytes * (batch.more_memory if lacks else 1)))
    return time_s, memory


def _lacks_time(folder: RunDirectory, node: NodeStatus) -> bool:
    """Whether the last parent that worked ran out of time without a commit."""
    course = read_course(folder, node.number)
    late = [n for n, code in enumerate(course.codes) if code == OutOfTimeError.exit_code]
    return bool(late) and course.n_units[late[-1]] == node.n_units


def note_on(config: JobConfig, on: BatchSystem) -> JobConfig:
    """The configuration with the chosen batch system. Raises ConfigError if that does not support a
    setting of [batch]."""
    system_of(on).check(config.batch)
    return config.replaced({"batch": config.batch.replaced({"on": on})})


_DEFAULT = "default"


def profiles_file() -> Path:
    """`forkrun/batch.toml` in $XDG_CONFIG_HOME, else in ~/.config."""
    home = user_folder("XDG_CONFIG_HOME", ".config") or Path("/")
    return home / "forkrun" / "batch.toml"


def with_profile(config: JobConfig, name: str | None) -> JobConfig:
    """The configuration with a profile's values as defaults of its own [batch]; without a name, the
    profile `default`, if it exists. Raises ConfigError."""
    own = {key: getattr(config.batch, key) for key in config.batch.given_keys}
    return config.replaced({"batch": BatchConfig.checked({**_values(name), **own})})


def _values(name: str | None) -> dict[str, Any]:
    place = profiles_file()
    try:
        profiles = parse_toml(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        profiles = {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{place}: cannot be read: {error}") from None
    if name is None:
        name = _DEFAULT
        profiles.setdefault(name, {})
    if not isinstance(profiles.get(name), dict):
        known = suggestion(name, profiles)
        raise ConfigError(f'{place}: unknown profile "{name}"{known}')
    values: dict[str, Any] = profiles[name]
    _check(place, name, values)
    return values


def _check(place: Path, name: str, values: dict[str, Any]) -> None:
    try:
        BatchConfig.checked(values)
    except Refused as error:
        lines = [
            f"{place}: [{name}] {'.'.join(map(str, location))}: {what}"
            for location, what in schema_problems(error, BatchConfig)
        ]
        raise ConfigError(lines) from None
