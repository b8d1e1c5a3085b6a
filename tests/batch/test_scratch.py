"""Nodes that work on a disk of their own."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from forkrun.batch.scratch import Publisher
from forkrun.errors import OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart, read_ledgers
from tests.batch.jobs import Job, problem_of, status_of
from tests.batch.synthetic import commit
from tests.support.jobs import forkrun, wait_for
from tests.support.mounts import in_own_mounts


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=20, time_s=0.01)


def _submit(job: Job, run: Path, scratch: str, *options: object) -> None:
    settings = ("--set", f"batch.scratch='{scratch}'", "--set", "batch.publish_every=0.2")
    ended = job.submit(run, "--nodes", 2, *settings, *options)
    assert ended.code == 0, ended.err


@pytest.mark.long
def test_what_is_committed_on_scratch_is_published_and_has_the_same_bytes(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_DISK", str(tmp_path))
    run = job.folder / "scratch"
    _submit(job, run, "$OWN_DISK")
    wait_for(lambda: status_of(run)["nodes"][0]["n_units"] > 0)
    wait_for(lambda: status_of(run)["states"]["done"] == 2)
    wait_for(lambda: not list(tmp_path.iterdir()))  # nothing is left there
    collected = forkrun("collect", run, "-q", cwd=job.folder)
    assert collected.code == 0, collected.err
    assert problem_of(run, job.truth) == ""


@pytest.mark.long
def test_a_node_whose_processes_are_all_killed_goes_on_with_what_was_published(
    job: Job, tmp_path: Path
) -> None:
    run = job.folder / "killed"
    _submit(job, run, str(tmp_path), "--dry-run")
    assert forkrun("resubmit", run, "--nodes", 0, cwd=job.folder).code == 0
    wait_for(lambda: status_of(run)["nodes"][0]["n_units"] > 0)
    (node,) = json.loads((run / "batch/queue-0.json").read_bytes())["running"].values()
    os.killpg(node, signal.SIGKILL)
    wait_for(lambda: status_of(run)["states"]["running"] == 0)
    kept = status_of(run)["n_units"]
    assert 0 < kept < status_of(run)["n_units_planned"]
    (left,) = tmp_path.iterdir()
    (tmp_path / "forkrun-0007-of-somebody-without-a-lock").mkdir()
    for number in (0, 1):
        ended = forkrun("node", run, number, "--scratch", tmp_path, "-q", cwd=job.folder)
        assert ended.code == 0, ended.err
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["forkrun-0007-of-somebody-without-a-lock"]
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.long
def test_a_full_disk_says_so_and_another_node_goes_on_with_what_was_published(
    job: Job, tmp_path: Path
) -> None:
    run = job.folder / "full"
    _submit(job, run, "$TMPDIR", "--dry-run")
    for kb in (16, 160):
        ended = in_own_mounts(
            f"mount -t tmpfs -o size={kb}k none {tmp_path};"
            f" $PY -m forkrun node {run} 0 --scratch {tmp_path} -q",
            job.folder,
        )
        assert ended.returncode == 4, ended.stderr
        assert f"scratch of this node ({tmp_path}; batch.scratch names another" in ended.stderr
        assert "No space left on device" in ended.stderr
    for number in (0, 1):
        again = forkrun("node", run, number, "--scratch", tmp_path, "-q", cwd=job.folder)
        assert again.code == 0, again.err
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.parametrize(
    ("scratch", "problem"), [("/nowhere", "is not a folder"), ("", "is empty")]
)
def test_a_scratch_folder_that_is_not_there_is_an_error(
    job: Job, scratch: str, problem: str
) -> None:
    run = job.folder / "nowhere"
    if not run.exists():
        _submit(job, run, "$TMPDIR", "--dry-run")
    ended = forkrun("node", run, 0, "--scratch", scratch, "-q", cwd=job.folder)
    assert ended.code == 10
    assert f"batch.scratch: {'' if not scratch else chr(34)}" in ended.err
    assert problem in ended.err


def _committed(local: RunDirectory, unit: int, data: bytes, checksum: int) -> Commit:
    file = f"units/{unit:06d}/all.fragment"
    (local.path / file).parent.mkdir(parents=True)
    (local.path / file).write_bytes(data)
    part = OutputPart(file, 1, "0" * 32, len(data), checksum)
    return commit(unit, outputs={"all": part}, histograms=None, accumulators=None)


def test_a_line_of_the_ledger_follows_the_files_and_a_wrong_copy_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from forkrun import _core

    monkeypatch.setattr("forkrun.batch.scratch._WAIT_S", 0.0)
    local, shared = RunDirectory(tmp_path / "local"), RunDirectory(tmp_path / "shared")
    local.ledger.mkdir(parents=True)
    local.fingerprint.write_text("{}")
    publisher = Publisher(local, shared)
    lines = [_committed(local, 0, b"abc", _core.crc32c(b"abc", 0)).to_line()]
    ledger = local.ledger / "child-000.jsonl"
    ledger.write_text(lines[0] + lines[0][:30])  # the second is being written
    publisher.publish()
    assert [c.unit for c in read_ledgers(shared.ledger)] == [0]
    assert (shared.path / "units/000000/all.fragment").read_bytes() == b"abc"
    lines.append(_committed(local, 1, b"abc", 7).to_line())
    ledger.write_text("".join(lines))
    with pytest.raises(OutputError, match="the checksum of its copy from scratch differs"):
        publisher.publish()
    assert [c.unit for c in read_ledgers(shared.ledger)] == [0]
    assert not (shared.path / "units/000001/all.fragment").exists()
