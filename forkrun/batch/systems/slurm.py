"""Slurm: an array of jobs for the nodes of a submission. A job that is out of time requeues
itself."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path

from forkrun.batch.course import SCANCELLED, NodeJobs
from forkrun.batch.systems.script import (
    merge_script,
    merge_scripts,
    node_script,
    node_script_text,
    part_script,
)
from forkrun.batch.systems.system import ASK_S, SUBMIT_S, Alive, Life, System, ask, call
from forkrun.config.batch import BatchConfig
from forkrun.errors import OutOfTimeError
from forkrun.rundir.directory import RunDirectory

_MOST_IN_ARRAY = 1000
"""Slurm's default for MaxArraySize is 1001."""
_MB = 1 << 20
_WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
_USUAL = {"", "null", "None", "Priority", "Resources", "BeginTime", "JobArrayTaskLimit", "Cleaning"}
"""Reasons for which jobs wait that will begin."""
_OVER = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY"}

_ARRAY = """#!/bin/bash
{directives}
nodes=({nodes})
node=${{nodes[$SLURM_ARRAY_TASK_ID]}}
trap : TERM  # at a time limit that was lowered the node gets it as well, and ends as it is asked to
bash {script} "$node" >> {logs}/"$(printf %04d "$node")".log 2>&1
code=$?
job="${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
if [ $code = {again} ]; then
    # Jobs that Slurm ends are "completing", cancelled or not: only after a time limit do they
    # continue.
    case "$(scontrol show job --oneliner "$job")" in
        *Reason=TimeLimit*) scontrol requeue "$job" ;;
        *JobState=CANCELLED* | *JobState=COMPLETING*)
            echo "forkrun: {cancelled}" >> {logs}/"$(printf %04d "$node")".log
            code={ended} ;; # not for a site's RequeueExit
        *) scontrol requeue "$job" ;;  # resumes
    esac
fi
exit $code
"""


class Slurm(System):
    """Slurm by its commands, configured by SLURM_CONF or the site."""

    def most_nodes(self) -> int:
        """Largest array that the site allows."""
        said = ask("slurm", ["scontrol", "show", "config"]) or []  # Submitting reports problems.
        found = re.search(r"^MaxArraySize\s*=\s*(\d+)", "\n".join(said), re.MULTILINE)
        return max(min(int(found[1]), _MOST_IN_ARRAY), 1) if found else _MOST_IN_ARRAY

    def scripts(
        self, folder: RunDirectory, submission: NodeJobs, batch: BatchConfig
    ) -> Mapping[Path, str]:
        """Scripts of the array and of its nodes."""
        directives = [f"#SBATCH {text}" for text in _directives(folder, submission, batch)]
        array = _ARRAY.format(
            directives="\n".join(directives),
            nodes=" ".join(map(str, submission.nodes)),
            script=shlex.quote(str(node_script(folder, submission))),
            logs=shlex.quote(str(folder.batch_log(0).parent)),
            again=OutOfTimeError.exit_code,
            ended=128 + signal.SIGTERM,
            cancelled=SCANCELLED,
        )
        common = "".join(f"#SBATCH {text}\n" for text in _job_options(submission, batch))
        return merge_scripts(folder, submission, batch, common) | {
            _script(folder, submission): array,
            node_script(folder, submission): node_script_text(folder, submission, batch),
        }

    def submit(self, folder: RunDirectory, submission: NodeJobs) -> str:
        """Gives the array to sbatch."""
        script = str(_script(folder, submission))
        return call("slurm", ["sbatch", script], SUBMIT_S).strip()

    def merge(self, folder: RunDirectory, submission: NodeJobs, alive: Sequence[NodeJobs]) -> str:
        """Submits a job that begins when all arrays have ended, successful or not; with parts, an
        array before it."""
        names = f"--name={','.join(each.name for each in alive)}"
        ids = call("slurm", ["squeue", "--noheader", names, "--format=%F"], ASK_S).split()
        after = sorted(set(ids))
        if n_parts := submission.n_merge_parts:
            array = f"--array=0-{n_parts - 1}"
            after = [_submit_merge(submission, part_script(folder, submission), after, array)]
        job = _submit_merge(submission, merge_script(folder, submission), after)
        return f"Submitted batch job {job}: the merge" + (
            f", of parts that job {after[0]} makes" if n_parts else ""
        )

    def lives(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs]
    ) -> Mapping[int, Alive] | None:
        """State of the jobs with these names according to squeue."""
        by_name = {submission.name: submission for submission in submissions}
        if not by_name:
            return {}
        names = f"--name={','.join(by_name)}"
        lines = ask("slurm", ["squeue", "--noheader", "--array", names, "--format=%j|%K|%T|%r"])
        return None if lines is None else dict(_lives(lines, by_name))

    def merges(self, folder: RunDirectory, submissions: Sequence[NodeJobs]) -> bool | None:
        """Whether squeue knows a job of the merge."""
        names = f"--name={','.join(f'{each.name}-merge' for each in submissions)}"
        states = ask("slurm", ["squeue", "--noheader", names, "--format=%T"])
        return None if states is None else bool(set(" ".join(states).split()) - _OVER)

    def kill(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs], nodes: Sequence[int]
    ) -> None:
        """Cancels the jobs: Slurm sends SIGTERM, later SIGKILL."""
        wanted = set(nodes)
        for submission in submissions:
            places = [p for p, node in enumerate(submission.nodes) if node in wanted]
            command = ["squeue", "--noheader", f"--name={submission.name}", "--format=%F"]
            for array in sorted(set(call("slurm", command, ASK_S).split())):
                ids = [f"{array}_{place}" for place in places]
                call("slurm", ["scancel", *ids], SUBMIT_S)


def _submit_merge(submission: NodeJobs, script: Path, after: Sequence[str], *options: str) -> str:
    """Submits a job that waits for those of `after`; returns its id."""
    wait = [f"--dependency=afterany:{':'.join(after)}"] if after else []
    name = f"--job-name={submission.name}-merge"
    command = ["sbatch", "--parsable", name, "--output=/dev/null", *wait, *options, str(script)]
    return call("slurm", command, SUBMIT_S).strip().partition(";")[0]


def _lives(lines: Sequence[str], by_name: Mapping[str, NodeJobs]) -> Iterator[tuple[int, Alive]]:
    """Node and state of each line `name|place in the array|state|reason`."""
    for line in lines:
        name, place, state, why = (*line.strip().split("|"), "", "", "")[:4]
        submission = by_name.get(name)
        if submission and place.isdigit() and state not in _OVER:
            life = Life.WAITING if state in _WAITING else Life.RUNNING
            is_told = life is Life.WAITING and why.strip("()") not in _USUAL
            yield submission.nodes[int(place)], Alive(life, f"slurm: {why}" if is_told else "")


def _script(folder: RunDirectory, submission: NodeJobs) -> Path:
    return folder.batch / f"slurm-{submission.number}.sh"


def _directives(folder: RunDirectory, submission: NodeJobs, batch: BatchConfig) -> Iterator[str]:
    logs = str(folder.batch_log(0).parent).replace("%", "%%")
    logs += f"/slurm-{submission.number}-%A_%a.log"
    running = f"%{batch.at_once}" if batch.at_once else ""
    yield f"--job-name={submission.name}"
    yield f"--array=0-{len(submission.nodes) - 1}{running}"
    yield "--requeue"
    yield "--open-mode=append"
    yield f"--output={shlex.quote(logs)}"
    yield from _job_options(submission, batch)


def _job_options(submission: NodeJobs, batch: BatchConfig) -> Iterator[str]:
    """Requests of all jobs of a submission."""
    yield "--nodes=1"
    yield "--ntasks=1"
    if batch.cores:
        yield f"--cpus-per-task={batch.cores}"
    if batch.partition:
        yield f"--partition={batch.partition}"
    if batch.account:
        yield f"--account={batch.account}"
    if submission.time_limit_s is not None:
        yield f"--time={max(ceil(submission.time_limit_s / 60), 1)}"
    if submission.memory_bytes is not None:
        yield f"--mem={ceil(submission.memory_bytes / _MB)}M"
    yield from batch.directives
