"""The merge on HTCondor: DAGMan waits until no node's job is left, then submits it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from forkrun.base.durable import write_text
from forkrun.base.quantities import plural
from forkrun.batch.course import NodeJobs
from forkrun.batch.systems.commands import SUBMIT_S, call
from forkrun.batch.systems.script import merge_script, merge_scripts, part_script
from forkrun.config import BatchConfig
from forkrun.errors import BatchError
from forkrun.rundir.directory import RunDirectory

_WAIT_CODE, _ASK_EVERY_S = 75, 20
"""Exit code for which DAGMan calls the script again, and the delay."""

_WAITS = """#!/bin/bash
# Checks whether jobs of nodes are left: then DAGMan asks again. Written by forkrun submit.
left=$({condor_q} -allusers -constraint {constraint} -autoformat ForkrunNode) || exit {code}
[ -z "$left" ] || exit {code}
"""


def can_merge() -> bool:
    """Whether DAGMan is installed."""
    return shutil.which("condor_submit_dag") is not None


def merge_files(
    folder: RunDirectory, submission: NodeJobs, batch: BatchConfig, common: Sequence[str]
) -> Mapping[Path, str]:
    """Files for the merge of a submission, by path, if requested. `common`: lines of the
    descriptions of jobs."""
    files = dict(merge_scripts(folder, submission, batch))
    for script in tuple(files):
        n_parts = submission.n_merge_parts if script == part_script(folder, submission) else 0
        lines = _job(script, submission, batch, common, n_parts)
        files[script.with_suffix(".sub")] = "\n".join([*lines, ""])
    return files


def _job(
    script: Path, submission: NodeJobs, batch: BatchConfig, common: Sequence[str], n_parts: int
) -> Iterator[str]:
    yield "# Written by forkrun submit."
    yield f"executable = {script}"
    yield f'+ForkrunMerge = "{submission.name}"'
    if n_parts:
        yield "arguments = $(part)"
    yield from common
    yield from batch.directives
    yield f"queue part in ({', '.join(map(str, range(n_parts)))})" if n_parts else "queue"


def submit_merge(folder: RunDirectory, submission: NodeJobs, constraint: str) -> str:
    """Gives the graph to DAGMan. `constraint`: of the jobs to wait for. Raises BatchError; the
    nodes stay submitted."""
    waits, graph = _place(folder, submission, "waits.sh"), _place(folder, submission, "dag")
    if any(letter in str(folder.path) for letter in ' "$'):
        raise BatchError(
            _without_merge(folder, "DAGMan does not accept paths with spaces, quotes or $")
        )
    condor_q = shlex.quote(shutil.which("condor_q") or "condor_q")
    text = _WAITS.format(condor_q=condor_q, constraint=shlex.quote(constraint), code=_WAIT_CODE)
    write_text(waits, text)
    waits.chmod(0o755)
    write_text(graph, "\n".join([*_graph(folder, submission, waits), ""]))
    command = ["condor_submit_dag", "-force", "-batch-name", f"{submission.name}-merge", str(graph)]
    try:
        call("htcondor", command, SUBMIT_S)
    except BatchError as error:
        raise BatchError(_without_merge(folder, str(error))) from None
    n_parts = submission.n_merge_parts
    return "DAGMan merges when no node's job is left" + (
        f", after {plural(n_parts, 'job')} for parts of the outputs" if n_parts else ""
    )


def _without_merge(folder: RunDirectory, why: str) -> str:
    return (
        f"{why}\nthe nodes are submitted, the merge is not: when they are done,"
        f" forkrun collect {folder.quoted}"
    )


def _graph(folder: RunDirectory, submission: NodeJobs, waits: Path) -> Iterator[str]:
    """Graph of DAGMan. The merge is the final job, which always begins and makes failed parts
    itself."""
    n_parts = submission.n_merge_parts
    merge = merge_script(folder, submission).with_suffix(".sub")
    first = "parts" if n_parts else "merge"
    yield "# Written by forkrun submit."
    if n_parts:
        yield f"JOB parts {part_script(folder, submission).with_suffix('.sub')}"
    yield f"{'FINAL' if n_parts else 'JOB'} merge {merge}"
    yield f"SCRIPT DEFER {_WAIT_CODE} {_ASK_EVERY_S} PRE {first} {waits}"


def _place(folder: RunDirectory, submission: NodeJobs, what: str) -> Path:
    return folder.batch / f"htcondor-merge-{submission.number}.{what}"
