"""A real Slurm cluster of three nodes on this machine: munged, slurmctld and three slurmd, as root
and without systemd."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.jobs import wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
_PORTS = 16816
"""slurmctld's; those of the nodes follow."""

_CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
MpiDefault=none
RequeueExit=9
JobRequeue=1
KillWait=30
SlurmdTimeout=10
SlurmctldTimeout=10
MessageTimeout=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/d.%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
NodeName=n[1-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=6000
PartitionName=p Nodes=ALL Default=YES State=UP
"""
_CGROUP = "CgroupPlugin=autodetect\nIgnoreSystemd=yes\nCgroupAutomount=yes\n"


def why_not() -> str:
    """Why there can be no cluster here; "" if there can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        return f"Slurm is not installed: {', '.join(missing)} (make test-batch installs it)"
    return "" if os.geteuid() == 0 else "a Slurm cluster needs root"


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


@dataclass
class Cluster:
    """Its programs; `environment` is that of clients."""

    folder: Path
    programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def configuration(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.configuration), "PATH": _path()}

    def begin(self) -> None:
        """Until all nodes are idle."""
        host = socket.gethostname()
        text = _CONFIG.format(
            host=host, folder=self.folder, port=_PORTS, first=_PORTS + 1, last=_PORTS + 3
        )
        self.configuration.write_text(text)
        (self.folder / "cgroup.conf").write_text(_CGROUP)
        (self.folder / "state").mkdir()
        self._begin_munge()
        self.begin_controller()
        for number in (1, 2, 3):
            self.begin_node(number)
        wait_for(lambda: self.ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * 3)

    def _begin_munge(self) -> None:
        folder = self.folder / "munge"
        folder.mkdir(mode=0o755)
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log",
                 "seed-file": "seed"}  # fmt: skip
        options = [f"--{option}={folder / name}" for option, name in names.items()]
        self._start("munged", "munged", "--foreground", "--force", *options)
        wait_for((folder / "socket").exists)

    def begin_controller(self) -> None:
        """Also after it was ended."""
        self._start("slurmctld", "slurmctld", "-D", "-f", str(self.configuration))
        wait_for(lambda: self.ask("scontrol", "ping").startswith("Slurmctld(primary) at"))

    def begin_node(self, number: int) -> None:
        """Also after it was lost."""
        name = f"n{number}"
        (self.folder / f"d.{name}").mkdir(exist_ok=True)
        self._start(name, "slurmd", "-D", "-N", name, "-f", str(self.configuration))

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as said:
            self.programs[name] = subprocess.Popen(
                command, env={**os.environ, **self.environment}, stdout=said, stderr=said,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def end_controller(self) -> None:
        """Ends it well: it saves its state."""
        self.programs["slurmctld"].terminate()
        self.programs["slurmctld"].wait()

    def lose_node(self, number: int) -> None:
        """Kills a node's slurmd and all that it has started, as a machine that fails."""
        name = f"n{number}"
        self.programs[name].kill()
        self.programs[name].wait()
        for pid in self._processes_of(name):
            _kill(pid)

    def _processes_of(self, name: str) -> Iterator[int]:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "environ").read_bytes().split(b"\0")
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            is_of = f"SLURMD_NODENAME={name}".encode() in words
            is_of &= f"SLURM_CONF={self.configuration}".encode() in words
            is_step = command.startswith(b"slurmstepd") and self._is_step_of(process, name)
            if is_of or is_step:
                yield int(process.name)

    def _is_step_of(self, process: Path, name: str) -> bool:
        """Whether a slurmstepd has the log or the spool of this node open."""
        places = []
        for link in (process / "fd").iterdir():
            try:
                places.append(os.readlink(link))
            except OSError:
                continue
        spool, log = str(self.folder / f"d.{name}"), str(self.folder / f"slurmd.{name}.log")
        return any(place == log or place.startswith(spool) for place in places)

    def ask(self, *command: str) -> str:
        """What a client prints; nothing if it fails."""
        try:
            done = subprocess.run(
                command, env={**os.environ, **self.environment}, capture_output=True, text=True,
                timeout=30,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout if done.returncode == 0 else ""

    def end(self) -> None:
        """Kills all programs and the jobs that are left."""
        self.ask("scancel", "--user=root")
        for name in ("n1", "n2", "n3"):
            if name in self.programs:
                self.lose_node(int(name[1]))
        for program in self.programs.values():
            if program.poll() is None:
                program.kill()
                program.wait()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster while the body runs."""
    made = Cluster(folder)
    try:
        made.begin()
        yield made
    finally:
        made.end()


def wait_long(fact: Callable[[], bool], limit_s: float = 400.0) -> None:
    """Waits for something that a batch system does in its own time."""
    deadline_s = time.monotonic() + limit_s
    while not fact():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.5)
