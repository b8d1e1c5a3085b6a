"""Rounds of failures: nodes of jobs on this machine are killed at random points, whole process
groups at once, and so are the merges and the jobs that make parts of outputs, until a number of
failures is reached; each job has the bytes of one node. Nodes of two jobs in three work on scratch,
those of every third with a copy of their input. In every fourth job nodes make the outputs, which
then have the bytes of the same nodes undisturbed.

python tests/batch/failures.py --failures 1000
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from forkrun.base.durable import read_json
from forkrun.batch.course import read_submissions
from forkrun.batch.status import MISSING, JobStatus, State, read_status
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import is_held
from forkrun.rundir.nodes import NodeRanges
from tests.batch.jobs import Job, problem_of
from tests.support.jobs import environment, forkrun, output_digests

_TIME_LIMIT_S = 900.0
ON_NODES = ("--set", "batch.outputs=on nodes")


@dataclass
class Round:
    """How a job went that was disturbed. `problem`: "" if it has the bytes it should have."""

    seed: int
    n_failures: int = 0
    n_queues_killed: int = 0
    n_resubmitted: int = 0
    n_merges_killed: int = 0
    problem: str = ""


def run_round(
    job: Job,
    seed: int,
    n_failures: int,
    n_nodes: int = 6,
    at_once: int = 6,
    scratch: Path | None = None,
    is_staged: bool = False,
    truth: dict[str, str] | None = None,
) -> Round:
    """One job, of which so many nodes are killed. `scratch`: where they work; `is_staged`: with
    copies of their input there; `truth`: if nodes make the outputs, digests of these."""
    dice, this = random.Random(seed), Round(seed)
    run = job.folder / f"round-{seed}"
    shape: tuple[object, ...] = ("--nodes", n_nodes, "--set", f"batch.at_once={at_once}")
    if scratch:
        shape = (*shape, "--set", f"batch.scratch={scratch}", "--set", "batch.publish_every=0.3")
    if is_staged:
        shape = (*shape, "--set", "batch.stage_in='cp {source} {target}'")
    if truth:
        shape = (*shape, *ON_NODES)
    ended = job.submit(run, *shape, "--set", "batch.retries=1000000")
    assert ended.code == 0, ended.err
    folder = RunDirectory(run)
    until_s = time.monotonic() + _TIME_LIMIT_S
    while not this.problem:
        status = _disturb(folder, this, dice, n_failures)
        if status.count(State.DONE) == n_nodes:
            break
        if status.count(*MISSING) and not status.count(State.RUNNING, State.WAITING):
            again = forkrun("resubmit", run, cwd=job.folder)
            this.n_resubmitted += 1
            this.problem = again.err if again.code else ""
        if time.monotonic() > until_s:
            this.problem = f"it did not end within {_TIME_LIMIT_S:.0f} s"
    if not this.problem:
        _kill_merges(run, this, dice)
        collected = forkrun("collect", run, "-q", cwd=job.folder)
        this.problem = collected.err if collected.code else problem_of(run, truth or job.truth)
    return this


def truth_of_nodes(job: Job, n_nodes: int = 6) -> dict[str, str]:
    """Digests of outputs that so many nodes make which nobody disturbs."""
    run = job.folder / "undisturbed"
    assert job.submit(run, "--nodes", n_nodes, "--dry-run", *ON_NODES).code == 0
    for arguments in (*(("node", run, n) for n in range(n_nodes)), ("collect", run)):
        ended = forkrun(*arguments, "-q", cwd=job.folder)
        assert ended.code == 0, ended.err
    return output_digests(run)


def _kill_merges(run: Path, this: Round, dice: random.Random) -> None:
    """Kills a job that makes a part of the outputs, then a merge, unless they are done before."""
    for arguments in (["--part", f"{dice.randrange(2)}/2"], []):
        command = [sys.executable, "-m", "forkrun", "collect", str(run), "-q", *arguments]
        merge = subprocess.Popen(command, env=environment(), start_new_session=True)
        with suppress(subprocess.TimeoutExpired):
            merge.wait(dice.uniform(0.3, 3.0))
        if merge.poll() is None:
            os.killpg(merge.pid, signal.SIGKILL)
            merge.wait()
            this.n_failures += 1
            this.n_merges_killed += 1


def _disturb(folder: RunDirectory, this: Round, dice: random.Random, most: int) -> JobStatus:
    """Waits a random time, then kills a node, sometimes several, seldom a queue."""
    time.sleep(dice.uniform(0.0, 0.6))
    running = running_groups(folder)
    for group in dice.sample(running, min(len(running), dice.choice([1, 1, 2, 6]))):
        if this.n_failures < most:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
                this.n_failures += 1
    if this.n_failures < most and dice.random() < 0.05:
        this.n_queues_killed += _kill_a_queue(folder)
    return read_status(folder, NodeRanges.read(folder))


def running_groups(folder: RunDirectory) -> list[int]:
    """Process groups of the nodes that run."""
    groups: list[int] = []
    for submission in read_submissions(folder):
        if is_held(folder.batch / f"queue-{submission.number}.lock"):
            state = read_json(folder.batch / f"queue-{submission.number}.json")
            groups += state.get("running", {}).values()
    return groups


def _kill_a_queue(folder: RunDirectory) -> bool:
    for submission in read_submissions(folder):
        lock = folder.batch / f"queue-{submission.number}.lock"
        pid = read_json(lock).get("pid")
        if pid and is_held(lock):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
    return False


def main() -> int:
    """Exit code 1 if a job lost or doubled an event."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failures", type=int, default=100, metavar="N")
    parser.add_argument("--per-job", type=int, default=40, metavar="N")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forkrun-failures-") as folder:
        job = Job.make(Path(folder), time_s=0.01)
        of_nodes = truth_of_nodes(job)
        rounds: list[Round] = []
        while sum(r.n_failures for r in rounds) < options.failures:
            left = options.failures - sum(r.n_failures for r in rounds)
            seed = options.first_seed + len(rounds)
            scratch = Path(folder) if seed % 3 else None
            most = min(options.per_job, left)
            is_staged = seed % 3 == 2
            truth = None if seed % 4 else of_nodes
            rounds.append(
                run_round(job, seed, most, scratch=scratch, is_staged=is_staged, truth=truth)
            )
            _say(rounds, options.failures)
            if rounds[-1].problem:
                return 1
    return 0


def _say(rounds: list[Round], n_wanted: int) -> None:
    n, last = sum(r.n_failures for r in rounds), rounds[-1]
    n_queues = sum(r.n_queues_killed for r in rounds)
    n_merges = sum(r.n_merges_killed for r in rounds)
    print(
        f"{n} of {n_wanted} failures, {n_merges} of them of merges, and {n_queues} queues"
        f" killed, in {len(rounds)} jobs; seed"
        f" {last.seed}: {last.problem or 'the expected bytes'},"
        f" {last.n_resubmitted} resubmitted",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
