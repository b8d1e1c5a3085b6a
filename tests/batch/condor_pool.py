"""A real HTCondor pool of one machine, in a Debian that `make test-batch` unpacks into a folder, in
namespaces of its own for processes and mounts: nothing of it is left when it ends.

FORKRUN_CONDOR names the folder (build/condor)."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.jobs import ROOT, Ended, wait_for

USER = 1000
_PATH = "/usr/bin:/usr/sbin:/bin:/sbin"
"""All of its environment: HTCondor's bindings set CONDOR_CONFIG where they are imported."""
_HOME = Path(os.environ.get("FORKRUN_CONDOR", ROOT / "build/condor"))
_PASSWD = f"physicist:x:{USER}:{USER}:physicist:/home/physicist:/bin/bash\n"
_CONFIG = """
MOUNT_UNDER_SCRATCH =
PER_JOB_NAMESPACES = false
USE_PID_NAMESPACES = false
NUM_CPUS = 4
MEMORY = 8000
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = true
NUM_SLOTS_TYPE_1 = 1
NEGOTIATOR_INTERVAL = 2
NEGOTIATOR_CYCLE_DELAY = 2
NEGOTIATOR_MIN_INTERVAL = 1
SCHEDD_INTERVAL = 2
SCHEDD_MIN_INTERVAL = 1
PERIODIC_EXPR_INTERVAL = 2
JOB_START_DELAY = 0
DAGMAN_USE_STRICT = 0
STARTER_INITIAL_UPDATE_INTERVAL = 1
"""


def why_not() -> str:
    """Why there can be no pool here; "" if there can."""
    if not (_HOME / "usr/sbin/condor_master").exists():
        return f"there is no HTCondor in {_HOME} (make test-batch unpacks it)"
    missing = [name for name in ("unshare", "nsenter", "chroot") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} is missing"
    return "" if os.geteuid() == 0 else "a pool in a folder needs root"


def _shared() -> list[Path]:
    """What the machines of a site share: Python, forkrun and the libraries of both."""
    found = {Path(sys.base_prefix), Path(sys.prefix), ROOT, *map(Path, sys.path)}
    folders = sorted(path.resolve() for path in found if path.is_dir())
    return [p for p in folders if not any(p != q and p.is_relative_to(q) for q in folders)]


@dataclass
class Pool:
    """`folder`: of the jobs, which all see under its own name."""

    folder: Path
    _master: subprocess.Popen[bytes] | None = None
    _init: int = 0

    def begin(self) -> None:
        """Until the machine can be had."""
        (_HOME / "etc/condor/config.d/99-test").write_text(_CONFIG)
        self._make_user()
        self._own()
        script = "\n".join([
            "set -e",
            "mount --make-rprivate /",
            f"mount -t proc proc {_HOME}/proc",
            *(self._bind(path) for path in (Path("/dev"), *_shared(), self.folder)),
            f"rm -rf {_HOME}/var/spool/condor/* {_HOME}/var/log/condor/*",
            f"chroot {_HOME} condor_master -f",
        ])  # fmt: skip
        with (self.folder / "pool.out").open("wb") as said:
            self._master = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", script],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
                preexec_fn=_end_with_parent, env={"PATH": _PATH},
            )  # fmt: skip
        wait_for(lambda: self._find_init())
        wait_for(lambda: "Unclaimed" in self.ask("condor_status", "-af", "State"))

    def _own(self) -> None:
        """Gives the folder of jobs to the user."""
        for place in (self.folder, *self.folder.rglob("*")):
            os.chown(place, USER, USER, follow_symlinks=False)

    def _make_user(self) -> None:
        passwd, home = _HOME / "etc/passwd", _HOME / "home/physicist"
        if _PASSWD not in passwd.read_text():
            with passwd.open("a") as file:
                file.write(_PASSWD)
        home.mkdir(exist_ok=True)
        os.chown(home, USER, USER)
        (_HOME / "root").chmod(0o755)

    def _bind(self, path: Path) -> str:
        inside = f"{_HOME}{path}"
        return f"mkdir -p {shlex.quote(inside)}; mount --rbind {path} {shlex.quote(inside)}"

    def _find_init(self) -> bool:
        """The first process of the namespace."""
        assert self._master is not None
        assert self._master.poll() is None, (self.folder / "pool.out").read_text()
        pid = self._master.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self._init = int(children[0]) if children else 0
        return bool(self._init)

    def call(self, *command: object) -> Ended:
        """Runs a command on the pool's machine, as its user."""
        inside = ["nsenter", "--mount", "--pid", f"--target={self._init}", "chroot"]
        inside.append(f"--userspec={USER}:{USER}")
        environment = [f"PYTHONPATH={ROOT}", "HOME=/home/physicist", f"PATH={_PATH}"]
        run = [*inside, str(_HOME), "env", "-i", *environment, "sh", "-c",
               f"cd {self.folder} && exec {shlex.join(map(str, command))}"]  # fmt: skip
        done = subprocess.run(run, capture_output=True, text=True, timeout=300)
        return Ended(done.returncode, done.stdout, done.stderr)

    def ask(self, *command: object) -> str:
        """What a command prints; nothing if it fails."""
        ended = self.call(*command)
        return ended.out if ended.code == 0 else ""

    def forkrun(self, *arguments: object) -> Ended:
        """`forkrun …`, as its user."""
        return self.call(sys.executable, "-m", "forkrun", *arguments)

    def kill_daemon(self, name: str) -> None:
        """Kills a process of HTCondor; its master starts it again."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_here = os.readlink(process / "root") == str(_HOME.resolve())
                if is_here and (process / "comm").read_text().strip() == name:
                    os.kill(int(process.name), signal.SIGKILL)

    def end(self) -> None:
        """Kills the first process, and with it all of the namespace."""
        if self._init:
            with suppress(ProcessLookupError):
                os.kill(self._init, signal.SIGKILL)
        if self._master:
            self._master.wait()


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


@contextmanager
def pool(folder: Path) -> Iterator[Pool]:
    """A pool while the body runs."""
    made = Pool(folder)
    try:
        made.begin()
        yield made
    finally:
        made.end()
