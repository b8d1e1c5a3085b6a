"""The script of the shell that all batch systems run for a node."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from forkrun.batch.course import Submission
from forkrun.config import BatchConfig
from forkrun.rundir.directory import RunDirectory

_NODE = """#!/bin/bash
# What a node does; $1: its number. Written by forkrun submit.
began=$(date +%s)
trap : TERM  # the parent gets the signal as well: it commits and ends with exit code 9
{setup}cd {folder} || exit 4
{command} node {run} "$1"{options} --quiet
code=$?
printf '{{"event":"end","time_s":%d,"code":%d}}\\n' "$(date +%s)" "$code" \\
    >> {ends}/"$(printf %04d "$1")".jsonl
exit $code
"""


def node_script(folder: RunDirectory, submission: Submission) -> Path:
    """Its place."""
    return folder.batch / f"node-{submission.number}.sh"


def node_script_text(folder: RunDirectory, submission: Submission, batch: BatchConfig) -> str:
    """Its content: set-up, the parent, and how it ended."""
    options = ""
    if submission.time_limit_s is not None:
        limit = int(submission.time_limit_s)
        options += f' --time-left "$(({limit} + began - $(date +%s)))"'
    if submission.memory_bytes is not None:
        options += f" --max-memory {submission.memory_bytes}"
    return _NODE.format(
        setup="".join(f"{line}\n" for line in batch.setup),
        folder=shlex.quote(str(folder.path.parent)),
        command=batch.command or f"{shlex.quote(sys.executable)} -m forkrun",
        run=shlex.quote(str(folder.path)),
        options=options,
        ends=shlex.quote(str(folder.node_ends(0).parent)),
    )
