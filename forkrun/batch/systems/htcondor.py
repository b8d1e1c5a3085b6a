"""HTCondor: a cluster of jobs for the nodes of a submission. A job out of time or evicted returns
to the queue. DAGMan merges: it waits until no node's job is left."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path

from forkrun.base.durable import write_text
from forkrun.base.quantities import plural
from forkrun.batch.course import NodeJobs
from forkrun.batch.systems.script import (
    merge_script,
    merge_scripts,
    node_script,
    node_script_text,
    part_script,
)
from forkrun.batch.systems.system import ASK_S, SUBMIT_S, Alive, Life, System, ask, call
from forkrun.config.batch import BatchConfig
from forkrun.errors import BatchError, ConfigError, OutOfTimeError
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


_MOST_IN_CLUSTER = 10_000
"""A schedd accepts 20,000 jobs per submission by default (MAX_JOBS_PER_SUBMISSION)."""
_TOKENS = 2_308_032
"""Tokens of a concurrency limit without a definition at the site (CONCURRENCY_LIMIT_DEFAULT)."""
_MB = 1 << 20
_LIVES = {"1": Life.WAITING, "2": Life.RUNNING, "6": Life.RUNNING, "7": Life.RUNNING}
"""JobStatus of jobs that will finish by themselves: idle, running, transferring output, suspended.
Held jobs are removed by their own description."""
_NO_MACHINE = "no match found"
_ASK = "condor_q -better-analyze says why"

_JOB = """#!/bin/bash
# HTCondor signals this process alone: the signal is passed to all processes of the node.
set -m
bash {script} "$1" >> {logs}/"$(printf %04d "$1")".log 2>&1 < /dev/null &
trap 'kill -TERM -- -$!' TERM
while kill -0 $! 2> /dev/null; do wait $!; done
wait $!
"""


class HTCondor(System):
    """HTCondor by its commands, configured by CONDOR_CONFIG or the site."""

    def most_nodes(self) -> int:
        """Nodes of one cluster."""
        return _MOST_IN_CLUSTER

    def check(self, batch: BatchConfig) -> None:
        """HTCondor chooses machines by the requests of jobs."""
        if batch.partition:
            raise ConfigError(
                f'batch.partition: HTCondor has no partitions; "{batch.partition}" may be a line of'
                ' batch.directives, such as "+JobFlavour = \\"workday\\"" or "requirements = …"'
            )
        if batch.merge and not can_merge():
            raise ConfigError(
                "batch.merge: condor_submit_dag is not installed here, and an HTCondor job cannot"
                " wait"
                " for others; when the nodes are done: forkrun collect RUNDIR (forkrun status"
                " RUNDIR --follow waits for that)"
            )

    def scripts(
        self, folder: RunDirectory, submission: NodeJobs, batch: BatchConfig
    ) -> Mapping[Path, str]:
        """The submit description, the executable of its jobs, and the script of its nodes."""
        job = _JOB.format(
            script=shlex.quote(str(node_script(folder, submission))),
            logs=shlex.quote(str(folder.batch_log(0).parent)),
        )
        merge = merge_files(folder, submission, batch, list(_job_options(submission, batch)))
        return {
            **merge,
            description_file(folder, submission): description(folder, submission, batch),
            _job_script(folder, submission): job,
            node_script(folder, submission): node_script_text(folder, submission, batch),
        }

    def submit(self, folder: RunDirectory, submission: NodeJobs) -> str:
        """Gives the description to condor_submit."""
        file = str(description_file(folder, submission))
        said = call("htcondor", ["condor_submit", file], SUBMIT_S)
        return said.strip().splitlines()[-1] if said.strip() else "submitted"

    def merge(self, folder: RunDirectory, submission: NodeJobs, alive: Sequence[NodeJobs]) -> str:
        """DAGMan waits until all jobs of nodes have ended, successful or not."""
        waited_for = f"{_names_constraint(alive)} && ForkrunNode >= 0"
        return submit_merge(folder, submission, waited_for)

    def lives(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs]
    ) -> Mapping[int, Alive] | None:
        """State of the jobs with these names according to condor_q."""
        if not submissions:
            return {}
        wanted = ["-allusers", "-constraint", _names_constraint(submissions)]
        shown = ["-autoformat", "ForkrunNode", "JobStatus", "LastRejMatchReason"]
        lines = ask("htcondor", ["condor_q", *wanted, *shown])
        return None if lines is None else dict(_lives(lines))

    def merges(self, folder: RunDirectory, submissions: Sequence[NodeJobs]) -> bool | None:
        """Whether condor_q knows DAGMan's job of the merge."""
        names = ",".join(f"{each.name}-merge" for each in submissions)
        wanted = ["-allusers", "-constraint", f'stringListMember(JobBatchName, "{names}")']
        jobs = ask("htcondor", ["condor_q", *wanted, "-autoformat", "ClusterId"])
        return None if jobs is None else bool(jobs)

    def kill(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs], nodes: Sequence[int]
    ) -> None:
        """Removes the jobs: HTCondor sends SIGTERM, later SIGKILL."""
        numbers = ",".join(map(str, nodes))
        constraint = _names_constraint(submissions)
        constraint += f' && stringListMember(string(ForkrunNode), "{numbers}")'
        wanted = ["-constraint", constraint]
        if call("htcondor", ["condor_q", *wanted, "-autoformat", "ClusterId"], ASK_S).strip():
            call("htcondor", ["condor_rm", *wanted], SUBMIT_S)


def _lives(lines: Sequence[str]) -> Iterator[tuple[int, Alive]]:
    """Node and state of each line `node state reason`. The negotiator records why it found no
    machine the last time: that others are first, or at their limits, is usual."""
    for line in lines:
        number, state, why = (*line.split(maxsplit=2), "", "", "")[:3]
        if number.isdigit() and state in _LIVES:
            is_told = _LIVES[state] is Life.WAITING and why.startswith(_NO_MACHINE)
            yield int(number), Alive(_LIVES[state], f"htcondor: {why}; {_ASK}" if is_told else "")


def _names_constraint(submissions: Sequence[NodeJobs]) -> str:
    names = ",".join(submission.name for submission in submissions)
    return f'stringListMember(ForkrunName, "{names}")'


def description_file(folder: RunDirectory, submission: NodeJobs) -> Path:
    """Path of a submission's description."""
    return folder.batch / f"htcondor-{submission.number}.sub"


def _job_script(folder: RunDirectory, submission: NodeJobs) -> Path:
    return folder.batch / f"htcondor-{submission.number}.sh"


def description(folder: RunDirectory, submission: NodeJobs, batch: BatchConfig) -> str:
    """Text for condor_submit."""
    return "\n".join(["# Written by forkrun submit.", *_lines(folder, submission, batch), ""])


def _lines(folder: RunDirectory, submission: NodeJobs, batch: BatchConfig) -> Iterator[str]:
    said = (
        _path(folder.batch_log(0).parent / f"htcondor-{submission.number}-")
        + "$(ClusterId)_$(ProcId)"
    )
    yield f"executable = {_path(_job_script(folder, submission))}"
    yield "arguments = $(node)"
    yield f"batch_name = {submission.name}"
    yield f'+ForkrunName = "{submission.name}"'
    yield "+ForkrunNode = $(node)"
    yield f"log = {said}.log"
    yield f"error = {said}.err"
    yield f"on_exit_remove = ExitBySignal || ExitCode != {OutOfTimeError.exit_code}"
    yield from _job_options(submission, batch)
    if batch.at_once:
        limit = f"forkrun_{submission.name.rpartition('-')[2]}"
        yield f"concurrency_limits = {limit}:{max(_TOKENS // batch.at_once, 1)}"
    yield from batch.directives
    yield "queue node in (" + ", ".join(map(str, submission.nodes)) + ")"


def _job_options(submission: NodeJobs, batch: BatchConfig) -> Iterator[str]:
    """Requests of all jobs of a submission."""
    yield "universe = vanilla"
    # The run directory is on a shared file system, under any name of its domain.
    yield "transfer_executable = False"
    yield "should_transfer_files = YES"
    yield 'transfer_output_files = ""'
    # A held job's log gives the reason; forkrun resubmit submits it again.
    yield "periodic_remove = JobStatus == 5"
    if batch.cores:
        yield f"request_cpus = {batch.cores}"
    if submission.memory_bytes is not None:
        yield f"request_memory = {ceil(submission.memory_bytes / _MB)}"
    if submission.time_limit_s is not None:
        yield f"allowed_job_duration = {ceil(submission.time_limit_s)}"
    if batch.account:
        yield f"accounting_group = {batch.account}"


def _path(path: Path) -> str:
    return str(path).replace("$", "$(DOLLAR)")
