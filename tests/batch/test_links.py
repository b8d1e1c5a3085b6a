"""What others put into a run directory, in the place of its folders and files: links, pipes,
devices, files of any size. Nothing is read, written or removed through them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from resource import RLIMIT_DATA

import pytest

from tests.batch.jobs import Job
from tests.support.jobs import Ended, forkrun, forkrun_after


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=4)


@pytest.fixture(scope="module")
def unmerged(job: Job) -> Path:
    run = job.folder / "unmerged"
    assert forkrun("run", job.file, "-o", run, "-q", "--no-merge", cwd=job.folder).code == 0
    return run


@pytest.fixture(scope="module")
def on_nodes(job: Job) -> Path:
    """Two nodes; the second is done."""
    run = job.folder / "nodes"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    return run


def in_its_place(run: Path, name: str, victim: Path) -> dict[str, bytes]:
    """Moves a folder elsewhere, with files that are precious, and puts a link to it there."""
    place = run / name
    if place.exists():
        shutil.move(place, victim)
    victim.mkdir(exist_ok=True)
    (victim / "thesis.root").write_text("precious")
    (victim / "thesis.root.01234567.part").write_text("precious")
    place.symlink_to(victim)
    return content(victim)


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


MERGES = [("merge", name) for name in ("output", "ledger", "logs", "monitoring", "units")]
REPORTS = [("report", "plots"), ("report", "ledger"), ("report --site", "site")]


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(("command", "name"), [*MERGES, *REPORTS])
def test_no_command_follows_a_link_in_the_place_of_a_folder(
    tmp_path: Path, unmerged: Path, command: str, name: str
) -> None:
    run = Path(shutil.copytree(unmerged, tmp_path / "run"))
    before = in_its_place(run, name, tmp_path / "victim")
    verb, *options = command.split()
    ended = forkrun(verb, run, *options, cwd=tmp_path)
    assert ended.code == 4
    assert f"{run / name}: a symbolic link is not followed here" in ended.err
    assert content(tmp_path / "victim") == before


COLLECTS = [("collect", name) for name in ("output", "ledger", "logs", "monitoring", "batch",
                                           "nodes", "nodes/0001", "batch/merge")]  # fmt: skip
LOOKS = [(f"{command} RUN", name) for command in ("status", "resubmit", "kill", "logs")
         for name in ("batch", "nodes")]  # fmt: skip
NODES = [("node RUN 0", name) for name in ("batch", "batch/ends", "nodes", "nodes/0000")]


@pytest.mark.quick_cases(6)
@pytest.mark.parametrize(
    ("command", "name"), [*((f"{command} RUN", n) for command, n in COLLECTS), *LOOKS, *NODES]
)
def test_no_command_of_a_job_on_many_nodes_follows_a_link(
    tmp_path: Path, on_nodes: Path, command: str, name: str
) -> None:
    run = Path(shutil.copytree(on_nodes, tmp_path / "run"))
    before = in_its_place(run, name, tmp_path / "victim")
    ended = forkrun(*command.replace("RUN", str(run)).split(), cwd=tmp_path)
    assert ended.code == 4, ended.err
    assert f"{run / name}: a symbolic link is not followed here" in ended.err
    assert content(tmp_path / "victim") == before


def test_ledgers_of_a_node_are_not_read_through_a_link(tmp_path: Path, on_nodes: Path) -> None:
    run = Path(shutil.copytree(on_nodes, tmp_path / "run"))
    before = in_its_place(run, "nodes/0001/ledger", tmp_path / "victim")
    for command in (["collect", run], ["node", run, 1]):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 4, ended.err
        assert "nodes/0001/ledger" in ended.err
    assert content(tmp_path / "victim") == before


# --- what is no file ------------------------------------------------------------------------------


def bounded(*arguments: object, cwd: Path) -> Ended:
    """With 3 GB; what waits for a pipe is an error of the test."""
    most = [3 << 30, 3 << 30]
    return forkrun_after(("resource", "setrlimit", [RLIMIT_DATA, most]), *arguments, cwd=cwd)


@pytest.mark.parametrize("kind", ["pipe", "link to zeros"])
def test_what_is_no_file_is_not_read_as_a_configuration(
    tmp_path: Path, job: Job, kind: str
) -> None:
    place = tmp_path / "run/config.json"
    place.parent.mkdir()
    make(place, kind)
    what = {"pipe": "it is not a regular file", "link to zeros": "a symbolic link is not followed"}
    commands: Sequence[Sequence[object]] = [
        ["run", job.file, "-o", place.parent], ["resume", place.parent], ["merge", place.parent],
        ["submit", job.file, "--on", "local", "--nodes", 2, "-o", place.parent],
    ]  # fmt: skip
    for command in commands:
        ended = bounded(*command, cwd=tmp_path)
        assert ended.code in (3, 4), ended.err
        assert f"{place}: " in ended.err
        assert what[kind] in ended.err


def make(place: Path, kind: str) -> None:
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "link to zeros":
            place.symlink_to("/dev/zero")
        case _:
            place.touch()
            os.truncate(place, 1 << 40)


@pytest.mark.parametrize("kind", ["pipe", "link to zeros", "a terabyte of zeros"])
@pytest.mark.parametrize("name", ["ledger/child-000.jsonl", "plan.json", "fingerprint.json"])
def test_what_is_no_record_takes_neither_memory_nor_time(
    tmp_path: Path, job: Job, unmerged: Path, kind: str, name: str
) -> None:
    run = Path(shutil.copytree(unmerged, tmp_path / "run"))
    place = next(iter(run.glob(name)), run / name)
    place.unlink(missing_ok=True)
    make(place, kind)
    if name == "fingerprint.json":
        ended = bounded("run", job.file, "-o", run, cwd=tmp_path)
    else:
        ended = bounded("merge", run, cwd=tmp_path)
    assert ended.code == (3 if name == "plan.json" else 4), ended.err
    assert f"{place}: " in ended.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_configuration_that_somebody_else_has_put_there_is_not_run(
    tmp_path: Path, on_nodes: Path
) -> None:
    run = Path(shutil.copytree(on_nodes, tmp_path / "run"))
    os.chown(run / "config.json", 12345, 12345)
    for command in (["node", run, 0], ["resubmit", run], ["collect", run]):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 4
        assert "this file belongs to user 12345, the folder to root" in ended.err
