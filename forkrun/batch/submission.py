"""A job on many nodes, for Python programs and notebooks. On a Dask cluster, nodes are tasks: each
runs a parent on the worker's machine, in its own clean process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from forkrun.base.arguments import check_flags, check_path, check_texts, refused
from forkrun.base.durable import open_to_append, read_json, write_json
from forkrun.base.progress import make_progress
from forkrun.base.wait_status import describe_status
from forkrun.batch.course import note_end
from forkrun.batch.status import JobStatus, read_status, status_lines
from forkrun.config.model import JobConfig
from forkrun.errors import (
    EVENTS_LEFT_OUT,
    AlreadySubmittedError,
    BatchError,
    JobError,
    OutOfTimeError,
    OutputError,
)
from forkrun.fork.command import CleanCommand, end_with_parent
from forkrun.parent.result import Result
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import is_node_done
from forkrun.rundir.lock import is_held
from forkrun.rundir.nodes import NodeRanges, is_on_nodes, makes_outputs_on_nodes
from forkrun.rundir.opening import find_nodes
from forkrun.rundir.progress import KnownProgress

_LOOK_EVERY_S = 1.0


class Submission(Struct, frozen=True):
    """A submitted job: returned by `job.submit`, or read from a run directory:
    `forkrun.Submission.read("zmumu-run")`; printing it shows its state."""

    run_directory: Path

    @classmethod
    def read(cls, run_directory: str | Path) -> Submission:
        """The job in a run directory. Raises ConfigError or OutputError if none was submitted."""
        path = check_path("Submission.read(…)", "run_directory", run_directory).absolute()
        find_nodes(path, "status")
        return cls(path)

    def status(self) -> JobStatus:
        """Present state of each node."""
        return read_status(*self._found())

    def __str__(self) -> str:
        folder, ranges = self._found()
        return "\n".join(status_lines(folder, read_status(folder, ranges)))

    def _repr_html_(self) -> str:
        """View in notebooks: events, rate, time left, and each node."""
        from forkrun.monitoring.live.screen import RunningJob  # for notebooks alone

        return RunningJob(self.run_directory)._repr_html_()

    def watch(self) -> None:
        """Shows the state until the job is collected, in a notebook in one place."""
        from forkrun.monitoring.live.screen import RunningJob

        RunningJob(self.run_directory).watch()

    def resubmit(
        self, nodes: Sequence[int] | None = None, *, on: str | None = None, quiet: bool = False
    ) -> Submission:
        """Submits nodes that will not finish otherwise, or the given ones; returns the same object.
        Raises JobError if nodes have used all their retries."""
        call = "resubmit(…)"
        check_texts(call, on=on)
        check_flags(call, quiet=quiet)
        system = [] if on is None else ["--on", on]
        quietly = ["--quiet"] if quiet else []
        self._command("resubmit", *_numbers(call, nodes), *system, *quietly)
        return self

    def wait(self, timeout_s: float | None = None, *, quiet: bool = False) -> JobStatus:
        """Waits until no node and no merge runs or waits; returns the state of nodes. Raises
        OutOfTimeError after `timeout_s`."""
        check_flags("wait(…)", quiet=quiet)
        if timeout_s is not None and not _is_time(timeout_s):
            raise refused("wait(…)", "timeout_s", "a number of seconds", timeout_s)
        folder, ranges = self._found()
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        progress = make_progress(sum(ranges.n_events), "events", quiet)
        try:
            while not (status := read_status(folder, ranges)).is_over:
                progress.update(int(status.total("n_events")))
                if end_s is not None and time.monotonic() > end_s:
                    raise OutOfTimeError(f"{folder.path}: nodes run or wait after {timeout_s:g} s")
                time.sleep(_LOOK_EVERY_S)
            progress.update(int(status.total("n_events")))
        finally:
            progress.close()
        return status

    def collect(self, *, quiet: bool = False) -> Result:
        """Merges and verifies the outputs of all nodes; returns the same result as `job.run()`.
        Raises JobError if nodes are not done."""
        check_flags("collect(…)", quiet=quiet)
        self._command("collect", *(["--quiet"] if quiet else []))
        return Result.read(self.run_directory)

    def kill(self, nodes: Sequence[int] | None = None) -> None:
        """Asks running and waiting nodes to stop: all, or the given ones."""
        self._command("kill", *_numbers("kill(…)", nodes))

    def _found(self) -> tuple[RunDirectory, NodeRanges]:
        return find_nodes(self.run_directory, "status")

    def _command(self, command: str, *options: str) -> None:
        """Runs the command in a clean process. Raises its error."""
        run_command(command, str(self.run_directory), *options)


def _numbers(call: str, nodes: Any) -> list[str]:
    """Option of a command. Raises ConfigError for anything but a list of numbers of nodes."""
    if nodes is None:
        return []
    if not isinstance(nodes, list | tuple | range) or not all(map(_is_number, nodes)):
        raise refused(call, "nodes", "a list of numbers", nodes)
    return ["--nodes", ",".join(map(str, nodes))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def run_command(*arguments: str) -> None:
    """Runs a command of forkrun in a clean process. Raises its error."""
    with tempfile.TemporaryDirectory(prefix="forkrun-") as scratch:
        clean = CleanCommand(arguments, Path(scratch, "failure.json"))
        done = subprocess.run(clean.words, env=clean.environment, stdin=subprocess.DEVNULL)
        clean.check(done.returncode, f"forkrun {arguments[0]}")


_LOOK_AT_TASKS_S = 0.5


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
            time.sleep(_LOOK_AT_TASKS_S)
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
