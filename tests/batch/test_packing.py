"""Files of nodes that are done."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import RunLock
from forkrun.rundir.packing import pack_records, pack_units, unpack_units
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
        "config.json", "fingerprint.json", "ledger", "records.tar", "sums", "units.tar",
    }  # fmt: skip
    assert files_of(run, 0) <= 11
    with tarfile.open(node / "records.tar") as records:
        names = set(records.getnames())
    assert {"plan.json", "report.json", "report.txt", "logs", "monitoring/events.jsonl"} <= names
    assert "processedLumis.json" in names
    damage(node / "units.tar", "/all.fragment")
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 6
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    assert (node / "records.1.tar").exists()
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""
    assert files_of(run, 0) <= 10
    assert not (node / "units.tar").exists()


def files_of(run: Path, node: int) -> int:
    """Files of a node, in its run directory and in `batch/`."""
    own = sum(path.is_file() for path in (run / f"nodes/{node:04d}").rglob("*"))
    return own + len(list((run / "batch").glob(f"*/{node:04d}.*")))


def damage(archive: Path, suffix: str) -> None:
    """Changes the last byte of the first file of this name in it."""
    with tarfile.open(archive) as opened:
        member = next(each for each in opened if each.name.endswith(suffix))
    with archive.open("r+b") as file:
        file.seek(member.offset_data + member.size - 1)
        file.write(b"?")


def test_a_node_that_ends_while_its_job_is_collected_keeps_the_files_of_its_units(job: Job) -> None:
    run = job.folder / "collected"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    with RunLock.held(run / "lock"):
        for number in (0, 1):
            assert forkrun("node", run, number, "-q", cwd=job.folder).code == 0
    node = RunDirectory(run / "nodes/0000")
    assert node.records.exists()
    assert not node.packed_units.exists()
    assert list(node.units.glob("*/all.fragment"))
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


def test_what_was_packed_is_unpacked_as_it_was_and_what_is_newer_stays(tmp_path: Path) -> None:
    node = RunDirectory(tmp_path)
    files = {"000000/a.fragment": b"a", "000000/b.fragment": b"", "000012/a.fragment": b"c"}
    for name, content in files.items():
        (node.units / name).parent.mkdir(parents=True, exist_ok=True)
        (node.units / name).write_bytes(content)
    pack_units(node)
    assert [path.name for path in tmp_path.iterdir()] == ["units.tar"]
    (node.units / "000012").mkdir(parents=True)
    (node.units / "000012/a.fragment").write_bytes(b"newer")
    unpack_units(node)
    names = {str(path.relative_to(node.units)) for path in node.units.rglob("*") if path.is_file()}
    assert names == set(files)
    assert (node.units / "000000/a.fragment").read_bytes() == b"a"
    assert (node.units / "000012/a.fragment").read_bytes() == b"newer"


def test_names_that_lead_elsewhere_are_not_unpacked(tmp_path: Path) -> None:
    node = RunDirectory(tmp_path / "node")
    node.path.mkdir()
    with tarfile.open(node.packed_units, "x") as archive:
        for name in ("../outside", "000001/../../outside", "/outside", "000001/inside"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        link = tarfile.TarInfo("000001/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    unpack_units(node)
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {node.packed_units, node.units / "000001/inside"}


@pytest.mark.parametrize("n_bytes", [0, 100, 700, 1100])
def test_an_archive_that_is_cut_short_gives_what_it_has(tmp_path: Path, n_bytes: int) -> None:
    node = RunDirectory(tmp_path)
    for name in "ab":
        (node.units / "000000").mkdir(parents=True, exist_ok=True)
        (node.units / f"000000/{name}").write_bytes(name.encode() * 200)
    pack_units(node)
    node.packed_units.write_bytes(node.packed_units.read_bytes()[:n_bytes])
    unpack_units(node)
    assert {path.name for path in node.units.glob("*/*")} <= {"a", "b"}


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
