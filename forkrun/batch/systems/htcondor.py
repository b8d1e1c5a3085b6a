"""HTCondor: a cluster of jobs for the nodes of a submission. A job out of time or evicted returns
to the queue."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path

from forkrun.batch.course import NodeJobs
from forkrun.batch.systems.commands import ASK_S, SUBMIT_S, call
from forkrun.batch.systems.dagman import can_merge, merge_files, submit_merge
from forkrun.batch.systems.script import node_script, node_script_text
from forkrun.batch.systems.system import Alive, Life
from forkrun.config import BatchConfig
from forkrun.errors import BatchError, ConfigError, OutOfTimeError
from forkrun.rundir.directory import RunDirectory

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


class HTCondor:
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
        try:
            lines = call("htcondor", ["condor_q", *wanted, *shown], ASK_S).splitlines()
        except BatchError:
            return None
        return dict(_lives(lines))

    def merges(self, folder: RunDirectory, submissions: Sequence[NodeJobs]) -> bool | None:
        """Whether condor_q knows DAGMan's job of the merge."""
        names = ",".join(f"{each.name}-merge" for each in submissions)
        wanted = ["-allusers", "-constraint", f'stringListMember(JobBatchName, "{names}")']
        try:
            return bool(call("htcondor", ["condor_q", *wanted, "-autoformat", "ClusterId"], ASK_S))
        except BatchError:
            return None

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
