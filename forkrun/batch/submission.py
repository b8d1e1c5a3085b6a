"""A job on many nodes, for Python programs and notebooks."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from forkrun.base.arguments import check_flags, check_path, check_texts, refused
from forkrun.base.progress import make_progress
from forkrun.batch.status import JobStatus, read_status, status_lines
from forkrun.errors import OutOfTimeError
from forkrun.fork.command import CleanCommand
from forkrun.parent.result import Result
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges
from forkrun.rundir.opening import find_nodes

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
