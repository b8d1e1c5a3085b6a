"""Files of nodes that are done."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.packing import pack_records
from tests.batch.jobs import Job, problem_of
from tests.support.jobs import forkrun


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=6)


def test_a_node_that_is_done_keeps_few_files_and_can_work_again(job: Job) -> None:
    run = job.folder / "run"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    for number in (0, 1):
        assert forkrun("node", run, number, "-q", cwd=job.folder).code == 0
    node = run / "nodes/0001"
    assert {path.name for path in node.iterdir()} == {
        "config.json", "fingerprint.json", "failedLumis.json", "ledger", "notFinishedLumis.json",
        "processedLumis.json", "records.tar", "sums", "units",
    }  # fmt: skip
    with tarfile.open(node / "records.tar") as records:
        names = set(records.getnames())
    assert {"plan.json", "report.json", "report.txt", "logs", "monitoring/events.jsonl"} <= names
    fragment = next((node / "units").glob("*/all.fragment"))
    fragment.write_bytes(fragment.read_bytes()[:-1] + b"?")
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 6
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    assert (node / "records.1.tar").exists()
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""
    n_files = sum(path.is_file() for path in (run / "nodes/0000").rglob("*"))
    assert n_files <= 11


def test_packing_twice_packs_nothing_and_loses_nothing(tmp_path: Path) -> None:
    node = RunDirectory(tmp_path)
    node.logs.mkdir()
    (node.logs / "1-child-000.log").write_text("said")
    (tmp_path / "lock").write_text("held")
    for _ in range(2):
        pack_records(node)
    assert {path.name for path in tmp_path.iterdir()} == {"lock", "records.tar"}
    with tarfile.open(node.records) as records:
        member = records.extractfile("logs/1-child-000.log")
        assert member is not None
        assert member.read() == b"said"
