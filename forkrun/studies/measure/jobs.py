"""Runs a job as a command of its own, and stops it before the machine has no memory left."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from forkrun.base.durable import output_errors, write_json
from forkrun.base.quantities import size
from forkrun.base.wait_status import describe_status
from forkrun.config import JobConfig
from forkrun.errors import JobError
from forkrun.fork.failure import read_failure
from forkrun.studies.measure.slot import available_memory_bytes

PR_SET_PDEATHSIG = 1
RESERVE_BYTES = 1_500_000_000
_INTERVAL_S = 0.2
_GRACE_S = 10.0


class RunningJob:
    """`forkrun run` in a process group of its own."""

    def __init__(
        self, config: JobConfig, folder: Path, settings: Sequence[str], *, merges: bool = False
    ) -> None:
        """`settings`: texts KEY=VALUE that change the configuration. The run directory is
        `folder`."""
        self.folder = folder
        self._failure = folder.with_name(folder.name + ".failure.json")
        file = folder.with_name(folder.name + ".job.json")
        with output_errors(file):
            self._failure.unlink(missing_ok=True)
            write_json(file, config.model_dump(mode="json"))
        command = [sys.executable, "-m", "forkrun", "run", str(file), "-o", str(folder)]
        command += ["--force", "--quiet", "--no-plots"]
        command += [] if merges else ["--no-merge"]
        command += [word for setting in settings for word in ("--set", setting)]
        environment = {**os.environ, "FORKRUN_FAILURE_FILE": str(self._failure)}
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )

    def has_ended(self, timeout_s: float = _INTERVAL_S) -> bool:
        """Waits for the end, at most so long; returns whether it has come."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def check(self) -> None:
        """Raises the job's own error if it failed."""
        error = read_failure(self._failure)
        if error:
            raise error
        if self._process.returncode:
            status = describe_status(self._process.returncode)
            raise JobError(f"{self.folder.name}: the job ended: {status}")

    def stop(self) -> None:
        """Ends the job, and its children with it."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            if not self.has_ended(_GRACE_S):
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


def _end_with_parent() -> None:
    """Ends with its parent, however that ends: a job of many GB must not stay behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def run_jobs(jobs: Sequence[RunningJob], what: str) -> None:
    """Waits for jobs that run at the same time. Raises JobError when memory runs out, and the error
    of the first job that failed; then all are stopped."""
    try:
        for job in jobs:
            while not job.has_ended():
                _check_memory(what)
            job.check()
    finally:
        for job in jobs:
            job.stop()


def _check_memory(what: str) -> None:
    left = available_memory_bytes()
    if left < RESERVE_BYTES:
        raise JobError(
            f"{what} was stopped: only {size(left)} of memory are left; measure fewer of them, or a"
            " smaller job (--reference takes --conditions-mb and --private-mb)"
        )
