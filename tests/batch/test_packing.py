"""Files of nodes that are done."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from forkrun.batch.course import NodeCourse, read_course
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import RunLock
from forkrun.rundir.packing import (
    find_in_batch,
    pack_batch,
    pack_records,
    pack_units,
    read_batch,
    unpack_batch,
    unpack_units,
)
from tests.batch.jobs import Job, problem_of, status_of
from tests.support.jobs import forkrun, wait_for


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=6)


@pytest.mark.slow
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
    ended = forkrun("collect", run, "-q", cwd=job.folder)
    assert ended.code == 6
    assert f"forkrun resubmit {run}" in ended.err
    assert [n["state"] == "done" for n in status_of(run)["nodes"]] == [True, False]
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


@pytest.mark.slow
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


def write_archive(place: Path, names: Sequence[str], link: str) -> None:
    """Files of a byte each, and a link to one of the system's."""
    with tarfile.open(place, "x") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        member = tarfile.TarInfo(link)
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)


def test_names_that_lead_elsewhere_are_not_unpacked(tmp_path: Path) -> None:
    node = RunDirectory(tmp_path / "node")
    node.path.mkdir()
    names = ("../outside", "000001/../../outside", "/outside", "000001/inside")
    write_archive(node.packed_units, names, "000001/link")
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


@pytest.mark.slow
def test_of_a_collected_job_the_records_of_its_nodes_are_one_file(job: Job) -> None:
    run = job.folder / "whole"
    assert job.submit(run, "--nodes", 2).code == 0
    wait_for(lambda: status_of(run)["states"]["done"] == 2)
    wait_for(lambda: all(course.last_code == 0 for course in courses_of(run)))
    before, said = courses_of(run), forkrun("logs", run, "--nodes", "0-1", cwd=job.folder)
    n_files = [files_of(run, node) for node in (0, 1)]
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert [files_of(run, node) for node in (0, 1)] == [n - 4 for n in n_files]  # and units.tar
    assert not [*(run / "batch/parts").iterdir(), *(run / "batch/ends").iterdir()]
    with tarfile.open(run / "batch/nodes.tar") as archive:
        kinds = ("ends", "logs", "parts")
        suffixes = {"ends": "jsonl", "logs": "log", "parts": "json"}
        assert archive.getnames() == [f"{k}/000{n}.{suffixes[k]}" for k in kinds for n in (0, 1)]
    assert courses_of(run) == before
    status = status_of(run)
    assert status["collected"]
    assert [node["n_starts"] for node in status["nodes"]] == [1, 1]
    logs = forkrun("logs", run, "--nodes", "0-1", cwd=job.folder)
    assert logs.out == said.out
    assert "--- forkrun: submission 0" in logs.out
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.long
def test_a_node_of_a_collected_job_works_again_with_its_records(job: Job) -> None:
    run = job.folder / "again"
    assert job.submit(run, "--nodes", 2).code == 0
    wait_for(lambda: all(course.last_code == 0 for course in courses_of(run)))
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    shutil.rmtree(run / "nodes/0001/ledger")
    (run / "output/all.root").unlink()
    (run / "ledger/merge.json").unlink()
    assert forkrun("resubmit", run, "-q", cwd=job.folder).code == 0
    assert not (run / "batch/nodes.tar").exists()
    wait_for(lambda: [course.codes for course in courses_of(run)] == [(0,), (0, 0)])
    shutil.rmtree(run / "nodes/0000/ledger")
    assert forkrun("node", run, 0, "-q", cwd=job.folder).code == 0
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


def courses_of(run: Path) -> list[NodeCourse]:
    return [read_course(RunDirectory(run), number) for number in (0, 1)]


def test_records_that_are_packed_are_read_as_they_were_and_newer_ones_first(
    tmp_path: Path,
) -> None:
    folder = RunDirectory(tmp_path)
    contents = {
        folder.node_part(3): b"part",
        folder.node_ends(3): b"ends",
        folder.batch_log(3): b"",
    }
    for file, content in contents.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    pack_batch(folder, contents)
    assert {file.name for file in folder.batch.rglob("*.*")} == {"nodes.tar"}
    assert {file: read_batch(file) for file in contents} == contents
    assert read_batch(folder.node_part(3), 2) == b"rt"
    assert find_in_batch(folder.batch_log(0).parent, "*3.log") == [folder.batch_log(3)]
    folder.node_ends(3).write_bytes(b"newer")
    folder.node_ends(4).write_bytes(b"other")
    assert read_batch(folder.node_ends(3)) == b"newer"
    pack_batch(folder, [folder.node_ends(3), folder.node_ends(4), folder.node_ends(5)])
    contents |= {folder.node_ends(3): b"newer", folder.node_ends(4): b"other"}
    assert {file: read_batch(file) for file in contents} == contents
    with pytest.raises(FileNotFoundError):
        read_batch(folder.node_ends(5))
    unpack_batch(folder)
    assert not folder.packed_nodes.exists()
    assert {file: file.read_bytes() for file in contents} == contents


def test_names_that_lead_elsewhere_are_not_put_back(tmp_path: Path) -> None:
    folder = RunDirectory(tmp_path / "run")
    folder.batch.mkdir(parents=True)
    names = ("../outside", "ends/../../outside", "/outside", "nodes.json", "ends/0001.jsonl")
    write_archive(folder.packed_nodes, names, "logs/0001.log")
    unpack_batch(folder)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [folder.node_ends(1)]


@pytest.mark.parametrize("content", [b"", b"no archive", b"\0" * 2048])
def test_an_archive_of_records_that_is_damaged_has_none(tmp_path: Path, content: bytes) -> None:
    folder = RunDirectory(tmp_path)
    folder.batch.mkdir()
    folder.packed_nodes.write_bytes(content)
    assert find_in_batch(folder.batch_log(0).parent, "*.log") == []
    assert read_course(folder, 0) == NodeCourse()


@pytest.mark.slow
def test_a_node_packs_nothing_while_its_job_is_collected_in_parts(job: Job) -> None:
    run = job.folder / "in_parts"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    assert forkrun("node", run, 0, "-q", cwd=job.folder).code == 0
    (run / "batch/merge").mkdir()
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    assert (run / "nodes/0000/units.tar").exists()
    assert not (run / "nodes/0001/units.tar").exists()
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.long
def test_a_part_of_the_outputs_waits_for_a_node_that_packs(job: Job) -> None:
    run = job.folder / "waits"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    for number in (0, 1):
        assert forkrun("node", run, number, "-q", cwd=job.folder).code == 0
    command = [sys.executable, "-m", "forkrun", "collect", str(run), "--part", "0/1"]
    with RunLock.held(run / "nodes/0001/lock"):
        collecting = subprocess.Popen(command, cwd=job.folder)
        wait_for(lambda: (run / "nodes/0000/units").is_dir())
        assert (run / "batch/merge").is_dir()
        assert not (run / "nodes/0001/units").exists()
        assert collecting.poll() is None
    assert collecting.wait(120) == 0
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""
