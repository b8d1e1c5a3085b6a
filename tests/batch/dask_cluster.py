"""A Dask cluster of processes of their own, each of which may be killed: a scheduler, workers, and
a client that runs a job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.batch.jobs import Job
from tests.support.jobs import environment, wait_for

_CLIENT = """
import sys
from distributed import Client
import forkrun
from forkrun.errors import ForkrunError
job, run, scheduler, n_nodes = sys.argv[1:]
client = Client(scheduler_file=scheduler, timeout=5)
try:
    forkrun.load(job).run(cluster=client, nodes=int(n_nodes), output=run, quiet=True)
except ForkrunError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


@dataclass
class Processes:
    """`folder`: of what they say; `workers`: those that were begun and not killed."""

    folder: Path
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    others: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def scheduler_file(self) -> Path:
        return self.folder / "scheduler.json"

    def begin(self, n_workers: int) -> None:
        """A scheduler, and its workers."""
        self.scheduler_file.unlink(missing_ok=True)
        options = ("--port", "0", "--no-dashboard", "--scheduler-file", str(self.scheduler_file))
        self.scheduler = self._start("scheduler", *options)
        wait_for(self._is_known)
        for _ in range(n_workers):
            self.add_worker()

    def _is_known(self) -> bool:
        try:
            return bool(json.loads(self.scheduler_file.read_bytes())["address"])
        except (OSError, ValueError, LookupError):
            return False

    def add_worker(self) -> None:
        """One more, which does one task at a time."""
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "20",
                   "--local-directory", str(self.folder))  # fmt: skip
        self.workers.append(
            self._start("worker", "--scheduler-file", str(self.scheduler_file), *options)
        )

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *options]
        with (self.folder / f"{name}.out").open("ab") as said:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment()
            )
        self.others.append(process)
        return process

    def client(self, job: Job, run: Path, n_nodes: int) -> subprocess.Popen[bytes]:
        """A process that runs the job and ends with its exit code."""
        arguments = [str(job.file), str(run), str(self.scheduler_file), str(n_nodes)]
        command = [sys.executable, "-c", _CLIENT, *arguments]
        with (self.folder / "client.err").open("wb") as said:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=said, env=environment(), cwd=job.folder
            )
        self.others.append(process)
        return process

    def said(self) -> str:
        """What the last client wrote."""
        return (self.folder / "client.err").read_text()

    def kill_worker(self, place: int) -> None:
        """Kills one of the workers."""
        process = self.workers.pop(place)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def lose_scheduler(self) -> None:
        """Kills it; its workers end by themselves."""
        assert self.scheduler
        self.scheduler.kill()
        self.scheduler.wait()

    def end(self) -> None:
        """Kills all."""
        for process in self.others:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    """Their processes, killed at the end."""
    made = Processes(folder)
    try:
        yield made
    finally:
        made.end()
