"""Nodes as tasks of a Dask cluster: each runs a parent on the worker's machine, in a clean process
of its own."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from forkrun.base.progress import make_progress
from forkrun.base.wait_status import describe_status
from forkrun.batch.known_progress import KnownProgress
from forkrun.config import JobConfig
from forkrun.errors import EVENTS_LEFT_OUT, JobError, OutOfTimeError
from forkrun.fork.failure import read_failure
from forkrun.parent.result import Result
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges, is_on_nodes

_LOOK_EVERY_S = 0.5
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


class Client(Protocol):
    """What is used of a `distributed.Client`."""

    def submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """A future."""

    def scheduler_info(self) -> dict[str, Any]:
        """Among it the workers."""


def run_on_cluster(
    config: JobConfig, client: Client, path: Path, n_nodes: int | None, quiet: bool
) -> Result:
    """The whole job, with a task for each node: as many as the cluster has workers, if no number
    is given. What an earlier call has left is resumed. Raises the errors of the commands."""
    folder = RunDirectory(path.absolute())
    if not is_on_nodes(folder):
        n_nodes = n_nodes or max(len(client.scheduler_info()["workers"]), 1)
        _submit_nothing(config, folder, n_nodes)
    _run_nodes(folder, client, config.batch.retries, quiet)
    _command("collect", str(folder.path), "--quiet")
    return Result.read(folder.path)


def _submit_nothing(config: JobConfig, folder: RunDirectory, n_nodes: int) -> None:
    """Prepares the nodes' parts of the plan."""
    with tempfile.TemporaryDirectory(prefix="forkrun-") as scratch:
        file = Path(scratch, "config.json")
        file.write_text(json.dumps(config.model_dump(mode="json")))
        place = ("-o", str(folder.path), "--nodes", str(n_nodes))
        _command("submit", str(file), *place, "--on", "local", "--dry-run", "--quiet")


def _run_nodes(folder: RunDirectory, client: Client, retries: int, quiet: bool) -> None:
    """Until all are done. A task that fails, or whose worker is lost, is tried again."""
    ranges = NodeRanges.read(folder)
    n_tries: dict[int, int] = {}
    progress = make_progress(sum(ranges.n_events), "events", quiet)
    tasks = {number: _task(client, folder, number) for number in range(len(ranges))}
    try:
        while tasks:
            time.sleep(_LOOK_EVERY_S)
            progress.update(_n_events(folder, len(ranges)))
            for number in [n for n, task in tasks.items() if task.done()]:
                problem = _problem(tasks.pop(number))
                if problem is None:
                    continue
                n_tries[number] = n_tries.get(number, 0) + 1
                if n_tries[number] > retries:
                    raise JobError(f"node {number}: {problem}; forkrun logs {folder.path}")
                tasks[number] = _task(client, folder, number)
    finally:
        progress.close()


def _task(client: Client, folder: RunDirectory, number: int) -> Any:
    name = f"forkrun node {number} of {folder.path}"
    return client.submit(
        run_node_here, str(folder.path), number, key=f"{name} {time.monotonic()}", pure=False
    )


def _n_events(folder: RunDirectory, n_nodes: int) -> int:
    known = KnownProgress(folder)
    n_events = sum(known.read(number, 0.0).n_events for number in range(n_nodes))
    known.keep()
    return n_events


def _problem(task: Any) -> str | None:
    """Why a task has to be done again; None if its node is done."""
    error = task.exception()
    if error is not None:
        return f"{type(error).__name__}: {error}"
    code, said = task.result()
    return None if code in (0, EVENTS_LEFT_OUT) else said or describe_status(code)


def run_node_here(path: str, number: int) -> tuple[int, str]:
    """What a worker does: exit code of a node's parent, and its error. The parent is asked to end
    when the worker dies."""
    folder = RunDirectory(Path(path))
    command = [sys.executable, "-m", "forkrun", "node", path, str(number), "--quiet"]
    log = folder.batch_log(number)
    log.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, preexec_fn=_end_with_worker,
    )  # fmt: skip
    with log.open("a", encoding="utf-8") as file:
        file.write(done.stderr)
    code = OutOfTimeError.exit_code if done.returncode == -signal.SIGTERM else done.returncode
    return code, done.stderr.strip()[-1000:]


def _end_with_worker() -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)


def _command(*arguments: str) -> None:
    """Runs a command of forkrun in a clean process. Raises its error."""
    with tempfile.TemporaryDirectory(prefix="forkrun-") as scratch:
        failure = Path(scratch, "failure.json")
        environment = {**os.environ, "FORKRUN_FAILURE_FILE": str(failure)}
        command = [sys.executable, "-m", "forkrun", *arguments]
        code = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode
        error = read_failure(failure)
    if error:
        raise error
    if code not in (0, EVENTS_LEFT_OUT):
        raise JobError(f"forkrun {arguments[0]} ended: {describe_status(code)}")
