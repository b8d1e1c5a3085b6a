"""Shell scripts for all batch systems: for a node, and for the merge."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from forkrun.batch.course import NodeJobs, submission_mark
from forkrun.config.batch import BatchConfig
from forkrun.errors import BatchError
from forkrun.rundir.directory import RunDirectory

_NODE = """#!/bin/bash
# Runs a node; $1: its number. Written by forkrun submit.
began=$(date +%s)
number=$1
echo "{mark}" >&2
end() {{
    printf '{{"event":"end","time_s":%d,"code":%d}}\\n' "$(date +%s)" "$1" \\
        >> {ends}/"$(printf %04d "$number")".jsonl
    exit "$1"
}}
trap : TERM  # the parent gets the signal as well: it commits and ends with exit code 9
not_set_up() {{
    echo "forkrun: batch.setup: exit code $1 of: $2" >&2
    end {not_set_up}
}}
cd {folder} || not_set_up $? "cd"
{setup}{command} node {run} "$number"{options} --quiet
end $?
"""


def node_script(folder: RunDirectory, submission: NodeJobs) -> Path:
    """Path of the script of nodes."""
    return folder.batch / f"node-{submission.number}.sh"


def node_script_text(folder: RunDirectory, submission: NodeJobs, batch: BatchConfig) -> str:
    """Content of the script: set-up, the parent, and a record of its end."""
    options = ""
    if submission.time_limit_s is not None:
        limit = int(submission.time_limit_s)
        options += f' --time-left "$(({limit} + began - $(date +%s)))"'
    if submission.memory_bytes is not None:
        options += f" --max-memory {submission.memory_bytes}"
    if batch.scratch is not None:
        options += f' --scratch "{batch.scratch}"'
    return _NODE.format(
        mark=submission_mark(submission),
        not_set_up=BatchError.exit_code,
        setup="".join(map(_checked, batch.setup)),
        folder=shlex.quote(str(folder.path.parent)),
        command=_command(batch),
        run=shlex.quote(str(folder.path)),
        options=options,
        ends=shlex.quote(str(folder.node_ends(0).parent)),
    )


_MERGE = """#!/bin/bash
{directives}# {what} when the nodes have ended. Written by forkrun submit.
{first}exec >> {log} 2>&1
not_set_up() {{
    echo "forkrun: batch.setup: exit code $1 of: $2"
    exit {not_set_up}
}}
cd {folder} || not_set_up $? "cd"
{setup}exec {command} collect {run}{options} --quiet
"""
_WAIT = " --wait 10m"
"""For another forkrun that holds the run directory when the last node ends."""


def merge_script(folder: RunDirectory, submission: NodeJobs) -> Path:
    """Path of the script that merges after a submission."""
    return folder.batch / f"merge-{submission.number}.sh"


def part_script(folder: RunDirectory, submission: NodeJobs) -> Path:
    """Path of the script that makes one part of the outputs after a submission."""
    return folder.batch / f"merge-part-{submission.number}.sh"


def merge_scripts(
    folder: RunDirectory,
    submission: NodeJobs,
    batch: BatchConfig,
    directives: str = "",
) -> dict[Path, str]:
    """Scripts of the merge after a submission, by path, if requested. `directives`: lines for the
    batch system."""
    if not batch.merge:
        return {}
    merge = _merge_text(folder, batch, "Merges the outputs", directives)
    scripts = {merge_script(folder, submission): merge}
    if n_parts := submission.n_merge_parts:
        what = "Makes a part of the outputs, by its number,"
        scripts[part_script(folder, submission)] = _merge_text(
            folder, batch, what, directives, n_parts
        )
    return scripts


def _merge_text(
    folder: RunDirectory, batch: BatchConfig, what: str, directives: str, n_parts: int = 0
) -> str:
    log = shlex.quote(str(folder.merge_log))
    return _MERGE.format(
        what=what,
        directives=directives,
        first="part=${1:-$SLURM_ARRAY_TASK_ID}\n" if n_parts else "",
        log=f'{log}."$part"' if n_parts else log,
        options=f' --part "$part/{n_parts}"' if n_parts else _WAIT,
        not_set_up=BatchError.exit_code,
        folder=shlex.quote(str(folder.path.parent)),
        setup="".join(map(_checked, batch.setup)),
        command=_command(batch),
        run=shlex.quote(str(folder.path)),
    )


def _command(batch: BatchConfig) -> str:
    return batch.command or f"{shlex.quote(sys.executable)} -P -m forkrun"


def _checked(line: str) -> str:
    """A line of the set-up. Only its own exit code counts, not those of commands in sourced
    files."""
    return f"{line}\ncode=$?; [ $code = 0 ] || not_set_up $code {shlex.quote(line)}\n"
