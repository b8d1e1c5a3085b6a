"""What users are told to paste into a shell, who can read what they wrote into [batch], and which
processes `kill` ends."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forkrun.batch.systems.local import new_order, take_orders
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import RunLock, process_of
from tests.batch.jobs import Job, status_of
from tests.support.jobs import forkrun, wait_for


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=6)


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\x1b[31mb"])
@pytest.mark.parametrize("command", ["run", "submit"])
def test_a_run_directory_has_no_control_characters_in_its_name(
    tmp_path: Path, job: Job, name: str, command: str
) -> None:
    more = ("--on", "local", "--nodes", 2, "--dry-run") if command == "submit" else ()
    ended = forkrun(command, job.file, "-o", tmp_path / name, *more, cwd=tmp_path)
    assert ended.code == 4
    assert "has no line breaks or control characters" in ended.err
    assert "\x1b" not in ended.err
    assert list(tmp_path.iterdir()) == []


def test_hints_are_quoted_for_the_shell(tmp_path: Path, job: Job) -> None:
    run = tmp_path / "my run; touch X"
    shown = shlex.quote(str(run))
    submitted = job.submit(run, "--nodes", 2, "--dry-run")
    assert f"forkrun resubmit {shown} does it" in submitted.out
    assert f"forkrun resubmit {shown} submits" in forkrun("status", run, cwd=tmp_path).out
    for again in (job.submit(run, "--nodes", 2), forkrun("run", job.file, "-o", run, cwd=tmp_path)):
        assert f"forkrun status {shown} shows" in again.err
    assert f"forkrun resubmit {shown} processes" in forkrun("collect", run, cwd=tmp_path).err


def test_commands_of_users_are_for_their_eyes_alone(tmp_path: Path, job: Job) -> None:
    run = tmp_path / "run"
    secret = 'batch.setup=["export TOKEN=for-your-eyes-alone"]'
    assert job.submit(run, "--nodes", 1, "--dry-run", "--set", secret).code == 0
    assert forkrun("node", run, 0, "-q", cwd=tmp_path).code == 0
    holders = {
        file
        for file in run.rglob("*")
        if file.is_file() and b"for-your-eyes-alone" in file.read_bytes()
    }
    names = {str(file.relative_to(run)) for file in holders}
    assert names == {"config.json", "batch/node-0.sh", "nodes/0000/config.json"}
    assert {file.stat().st_mode & 0o077 for file in holders} == {0}
    again = forkrun("resubmit", run, "--set", "batch.cores=1", cwd=tmp_path)
    assert again.code == 0, again.err
    assert (run / "config.json").stat().st_mode & 0o077 == 0


# --- kill -----------------------------------------------------------------------------------------


def test_no_order_to_end_nodes_replaces_another(tmp_path: Path) -> None:
    folder = RunDirectory(tmp_path)
    folder.batch.mkdir()
    for node in range(20):
        new_order(folder, 0).write_text(json.dumps([node]))
    new_order(folder, 1).write_text("[77]")
    new_order(folder, 0).write_text("no numbers")
    assert sorted(take_orders(folder, 0)) == list(range(20))
    assert take_orders(folder, 0) == []
    assert take_orders(folder, 1) == [77]


@pytest.mark.slow
def test_each_of_several_kills_at_once_is_obeyed(tmp_path: Path) -> None:
    job = Job.make(tmp_path, n_lumis=4, time_s=20.0)
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 4, "--set", "batch.at_once=4").code == 0
    wait_for(lambda: status_of(run)["states"]["running"] == 4)
    with ThreadPoolExecutor(4) as team:
        said = list(team.map(lambda n: forkrun("kill", run, "--nodes", n, cwd=tmp_path), range(4)))
    assert [(each.code, each.out) for each in said] == [(0, "1 node asked to stop\n")] * 4
    wait_for(lambda: status_of(run)["states"]["running"] == 0)
    assert status_of(run)["states"]["waiting"] == 0


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


def test_kill_ends_no_process_that_does_not_hold_its_lock(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    lock = tmp_path / "lock"
    with RunLock.held(lock):
        mine = json.loads(lock.read_text())
        assert process_of(lock) == os.getpid()
        for change in ({"pid": sleeper.pid}, {"pid": sleeper.pid, "start_ticks": None},
                       {"boot": "another"}, {"host": "another"}):  # fmt: skip
            other = tmp_path / "other"
            other.write_text(json.dumps({**mine, **change}))
            assert process_of(other) is None
        del mine["start_ticks"]
        (tmp_path / "other").write_text(json.dumps(mine))
        assert process_of(tmp_path / "other") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_kill_is_for_jobs_of_the_user_alone(tmp_path: Path, job: Job) -> None:
    with RunLock.held(tmp_path / "lock"):
        os.chown(tmp_path / "lock", 12345, 12345)
        assert process_of(tmp_path / "lock") is None
        os.chown(tmp_path / "lock", 0, 0)
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 1, "--dry-run").code == 0
    os.chown(run / "config.json", 12345, 12345)
    ended = forkrun("kill", run, cwd=tmp_path)
    assert ended.code == 4
    assert "belongs to user 12345" in ended.err
