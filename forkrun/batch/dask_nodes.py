"""Nodes as tasks of a Dask cluster: each runs a parent on the worker's machine, in its own clean
process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from forkrun.base.durable import open_to_append, read_json, write_json
from forkrun.base.progress import make_progress
from forkrun.base.wait_status import describe_status
from forkrun.batch.course import note_end
from forkrun.batch.submission import run_command
from forkrun.config.model import JobConfig
from forkrun.errors import (
    EVENTS_LEFT_OUT,
    AlreadySubmittedError,
    BatchError,
    JobError,
    OutOfTimeError,
    OutputError,
)
from forkrun.fork.command import end_with_parent
from forkrun.parent.result import Result
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import is_node_done
from forkrun.rundir.lock import is_held
from forkrun.rundir.nodes import NodeRanges, is_on_nodes, makes_outputs_on_nodes
from forkrun.rundir.progress import KnownProgress

_LOOK_EVERY_S = 0.5


class Client(Protocol):
    """The used part of a `distributed.Client`. `status`: "running", "connecting" or "closed"."""

    status: str

    def submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """A future."""

    def scheduler_info(self) -> dict[str, Any]:
        """Description of the cluster, including its workers."""


def run_on_cluster(
    config: JobConfig, client: Client, path: Path, n_nodes: int | None, quiet: bool
) -> Result:
    """Runs the whole job with a task for each node: by default one for each worker of the cluster.
    Resumes an interrupted earlier call, and keeps results of one that has ended. Raises the errors
    of the commands."""
    folder = RunDirectory(path.absolute())
    n_nodes = n_nodes or max(len(client.scheduler_info()["workers"]), 1)
    if not is_on_nodes(folder):
        _prepare_nodes(config, folder, n_nodes)
    elif folder.is_finished():
        with contextlib.suppress(AlreadySubmittedError):  # then nothing has changed
            _prepare_nodes(config, folder, n_nodes)
    elif read_json(_given(folder)) not in ({}, json.loads(json.dumps(config.as_json()))):
        raise OutputError(
            f"{folder.path}: an interrupted call of another job began here; repeat that call, or"
            " choose another folder"
        )
    _run_nodes(folder, client, config.batch.retries, quiet)
    run_command("collect", str(folder.path), "--quiet")
    return Result.read(folder.path)


def _prepare_nodes(config: JobConfig, folder: RunDirectory, n_nodes: int) -> None:
    """Prepares the nodes' parts of the plan."""
    with tempfile.TemporaryDirectory(prefix="forkrun-") as scratch:
        file = Path(scratch, "config.json")
        file.write_text(json.dumps(config.as_json()))
        place = ("-o", str(folder.path), "--nodes", str(n_nodes))
        run_command("submit", str(file), *place, "--on", "local", "--dry-run", "--quiet")
    write_json(_given(folder), config.as_json())


def _given(folder: RunDirectory) -> Path:
    """File with the job as it was given to the call that prepared its nodes."""
    return folder.batch / "given.json"


def _run_nodes(folder: RunDirectory, client: Client, retries: int, quiet: bool) -> None:
    """Runs until all nodes are done. Raises JobError if one fails repeatedly, BatchError if the
    scheduler is lost."""
    nodes = _Nodes(folder, client, retries)
    progress = make_progress(nodes.n_events_planned, "events", quiet)
    try:
        while nodes.has_unfinished():
            nodes.begin()
            time.sleep(_LOOK_EVERY_S)
            progress.update(nodes.n_events())
            nodes.end()
    finally:
        progress.close()


class _Nodes:
    """Unfinished nodes and their tasks. A node that fails, or whose worker is lost, is tried again,
    up to `retries` times without a commit in between."""

    def __init__(self, folder: RunDirectory, client: Client, retries: int) -> None:
        self._folder, self._client, self._retries = folder, client, retries
        self._ranges = NodeRanges.read(folder)
        self._makes_outputs = makes_outputs_on_nodes(folder)
        self._left = set(range(len(self._ranges)))
        self._tasks: dict[int, Any] = {}
        self._n_tries: dict[int, tuple[int, int]] = {}  # and units that were committed by then

    @property
    def n_events_planned(self) -> int:
        """Events planned for all nodes."""
        return sum(self._ranges.n_events)

    def has_unfinished(self) -> bool:
        """Whether some nodes are unfinished, including those that an earlier call has started."""
        known = KnownProgress(self._folder)
        for number in self._left - self._tasks.keys():
            is_done = is_node_done(
                self._folder, self._ranges, number, known.read(number, 0.0).n_units,
                makes_outputs=self._makes_outputs,
            )  # fmt: skip
            if is_done and not is_held(self._folder.node(number).lock):
                self._left.remove(number)
        return bool(self._left)

    def begin(self) -> None:
        """Gives a task to each node that has none and no parent. Raises BatchError."""
        if self._client.status == "closed":
            raise BatchError(
                f"{self._folder.path}: the connection to Dask's scheduler is lost; what nodes have"
                " committed is kept, and the same call with another client resumes the job"
            )
        if self._client.status != "running":  # it tries to connect, for some time
            return
        for number in sorted(self._left - self._tasks.keys()):
            if not is_held(self._folder.node(number).lock):
                self._tasks[number] = _task(self._client, self._folder, number)

    def end(self) -> None:
        """Checks the tasks that have ended. Raises JobError."""
        for number in [n for n, task in self._tasks.items() if task.done()]:
            task = self._tasks.pop(number)
            if not task.cancelled() and (problem := _problem(task)) is not None:
                self._note_failure(number, problem)

    def _note_failure(self, number: int, problem: str) -> None:
        n_units = KnownProgress(self._folder).read(number, 0.0).n_units
        n_tries, n_before = self._n_tries.get(number, (0, 0))
        n_tries = n_tries + 1 if n_units == n_before else 1
        self._n_tries[number] = (n_tries, n_units)
        if n_tries > self._retries:
            where = f"forkrun logs {self._folder.quoted}"
            raise JobError(f"node {number}: {problem}; {where} shows more")

    def n_events(self) -> int:
        """Events that all nodes have committed."""
        known = KnownProgress(self._folder)
        n_events = sum(known.read(n, 0.0).n_events for n in range(len(self._ranges)))
        known.keep()
        return n_events


def _task(client: Client, folder: RunDirectory, number: int) -> Any:
    name = f"forkrun node {number} of {folder.path}"
    return client.submit(
        run_node_here, str(folder.path), number, key=f"{name} {time.monotonic()}", pure=False
    )


def _problem(task: Any) -> str | None:
    """Why a task must be repeated; None if its node is done."""
    error = task.exception()
    if error is not None:
        return f"{type(error).__name__}: {error}"
    code, said = task.result()
    return None if code in (0, EVENTS_LEFT_OUT) else said or describe_status(code)


def run_node_here(path: str, number: int) -> tuple[int, str]:
    """Runs a node's parent on a worker; returns its exit code and error. The parent is asked to
    stop when the worker dies."""
    folder = RunDirectory(Path(path))
    command = [sys.executable, "-P", "-m", "forkrun", "node", path, str(number), "--quiet"]
    log = folder.batch_log(number)
    log.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, preexec_fn=end_with_parent,
    )  # fmt: skip
    with os.fdopen(open_to_append(log), "a", encoding="utf-8") as file:
        file.write(done.stderr)
    code = OutOfTimeError.exit_code if done.returncode == -signal.SIGTERM else done.returncode
    note_end(folder, number, code)
    return code, done.stderr.strip()[-1000:]
