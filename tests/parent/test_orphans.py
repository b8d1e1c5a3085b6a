"""Nothing that a job starts outlives it: processes of modules, and shared memory."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.files import write_events
from tests.support.jobs import PATIENCE_S, forkrun, jets_job, running, wait_for, write_job

MODULE = """
import os
import signal
import subprocess
import time

import numpy as np

import forkrun


def note(folder, pid):
    open(os.path.join(folder, str(pid)), "w").close()


def start(how, folder):
    if how == "program":
        note(folder, subprocess.Popen(["sleep", "1000"]).pid)
        return
    pid = os.fork()
    if pid == 0:
        if how == "daemon":
            os.setsid()
            if os.fork():
                os._exit(0)
        note(folder, os.getpid())
        time.sleep(1000)
        os._exit(0)
    if how == "daemon":
        os.waitpid(pid, 0)


class Starts(forkrun.Filter):
    def __init__(self, how: str, folder: str, end: str):
        self.how, self.folder, self.end = how, folder, end

    def begin_job(self):
        start(self.how, self.folder)

    def filter(self, block):
        while self.end == "wait":
            time.sleep(0.05)
        if 150 in block.events and self.end == "crash" and len(os.listdir(self.folder)) < 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.ones(len(block), dtype=bool)
"""


def job_of(folder: Path, how: str, end: str) -> Path:
    (folder / "mods.py").write_text(MODULE)
    (folder / "pids").mkdir()
    events = write_events(folder / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    job = jets_job([events], forking={"children": 2})
    params = {"how": how, "folder": str(folder / "pids"), "end": end}
    job["modules"].append(
        {"label": "starts", "type": f"python:{folder / 'mods.py'}:Starts", "params": params}
    )
    job["paths"]["skim"].insert(0, "starts")
    return write_job(folder, job)


def pids(folder: Path) -> list[int]:
    return [int(file.name) for file in (folder / "pids").iterdir()]


def forked(run: Path) -> list[int]:
    """Children of the job, by its timeline."""
    text = (run / "monitoring/events.jsonl").read_text().rpartition("\n")[0]
    lines = [json.loads(line) for line in text.splitlines()]
    return [line["pid"] for line in lines if line["event"] == "fork"]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # ended; the process that adopted it has not waited for it


@pytest.mark.slow
@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("how", ["program", "copy", "daemon"])
@pytest.mark.parametrize("end", ["well", "crash"])
def test_processes_of_modules_do_not_outlive_the_job(tmp_path: Path, how: str, end: str) -> None:
    ended = forkrun("run", job_of(tmp_path, how, end), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    started = pids(tmp_path)
    assert len(started) >= (3 if end == "crash" else 1)
    assert [pid for pid in started if is_running(pid)] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_processes_and_shared_memory_of_a_killed_job_are_gone(
    tmp_path: Path, number: signal.Signals
) -> None:
    before = set(os.listdir("/dev/shm"))
    grace = ["--set", "recovery.grace=0.2"]
    job = job_of(tmp_path, "copy", "wait")
    with running("run", job, "-o", "run", *grace, "--no-plots", cwd=tmp_path) as process:
        wait_for(lambda: len(pids(tmp_path)) == 2)
        wait_for(lambda: len(forked(tmp_path / "run")) == 2)
        children = forked(tmp_path / "run")
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
        wait_for(lambda: not any(map(is_running, [*pids(tmp_path), *children])))
    assert process.returncode in (143, -number)
    after = set(os.listdir("/dev/shm")) - before
    # Other jobs of this machine warm up meanwhile; what a killed one leaves is the next test's.
    assert [name for name in after if "forkrun" in name and "-warm-up-" not in name] == []


@pytest.mark.slow
def test_what_a_parent_killed_in_its_warm_up_left_in_memory_is_removed_by_the_next(
    tmp_path: Path,
) -> None:
    """Old folders, but only those whose parent does not live any more."""
    folders = [Path(tempfile.mkdtemp(prefix="forkrun-warm-up-", dir="/dev/shm")) for _ in "ab"]
    left, held = folders
    for folder in folders:
        os.utime(folder, (time.time() - 60, time.time() - 60))
    fd = os.open(held, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        events = write_events(tmp_path / "a.root", [(1, 1, 1000)])
        job = jets_job([events], forking={"children": 3})  # enough for a warm-up job
        ended = forkrun("run", write_job(tmp_path, job), "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert (left.exists(), held.exists()) == (False, True)
    finally:
        os.close(fd)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
