"""Files that commands of the user copy."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from forkrun.batch.staging import filled, variables, with_variables
from tests.batch.jobs import Job, problem_of
from tests.support.jobs import Ended, forkrun, write_job


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=6)


def _prepare(job: Job, run: Path, *settings: str) -> None:
    given = [word for text in settings for word in ("--set", text)]
    ended = job.submit(run, "--nodes", 2, "--dry-run", "--set", "batch.scratch=/tmp", *given)
    assert ended.code == 0, ended.err


def _node(job: Job, run: Path, number: int, scratch: Path) -> Ended:
    return forkrun("node", run, number, "--scratch", scratch, "-q", cwd=job.folder)


@pytest.mark.slow
def test_input_is_read_from_its_copy(job: Job, tmp_path: Path) -> None:
    run, log = job.folder / "copied", tmp_path / "log"
    command = f"cp {{source}} {{target}} && echo {{source}} >> {log}"
    _prepare(job, run, f"batch.stage_in={json.dumps(command)}")
    for number in (0, 1):
        ended = _node(job, run, number, tmp_path)
        assert ended.code == 0, ended.err
    assert set(log.read_text().split()) == {str(job.folder / n) for n in ("a.root", "b.root")}
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("echo proxy expired >&2; false {source} {target}", ": proxy expired (3 times)"),
        pytest.param(
            "head -c 100 {source} > {target}",
            "copied 100 bytes, not",
            marks=pytest.mark.long,
        ),
        pytest.param("true {source} {target}", " does not exist after: ", marks=pytest.mark.long),
    ],
)
def test_a_copy_that_is_not_whole_is_an_error(
    job: Job, tmp_path: Path, command: str, problem: str
) -> None:
    _prepare(job, tmp_path / "run", f"batch.stage_in={json.dumps(command)}")
    ended = _node(job, tmp_path / "run", 0, tmp_path)
    assert ended.code == 3
    assert "a.root: batch.stage_in: " in ended.err
    assert problem in ended.err


@pytest.mark.slow
def test_outputs_are_copied_once_and_again_where_that_failed(job: Job, tmp_path: Path) -> None:
    run, storage = job.folder / "stored", tmp_path / "storage"
    command = f"echo {{adler32}} >> {tmp_path}/log; cp {{source}} {storage}/{{name}}"
    _prepare(job, run, f"batch.stage_out={json.dumps(command)}")
    for number in (0, 1):
        assert forkrun("node", run, number, "-q", cwd=job.folder).code == 0
    ended = forkrun("collect", run, "-q", cwd=job.folder)
    assert ended.code == 4
    assert "batch.stage_out: exit code 1 of: " in ended.err
    assert f"forkrun collect {run} tries again" in ended.err
    storage.mkdir()
    for _ in range(2):
        assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    for name in ("all.root", "skim.root", "accumulators.json"):
        assert (storage / name).read_bytes() == (run / "output" / name).read_bytes()
    n_files = len(list((run / "output").iterdir()))
    assert len((tmp_path / "log").read_text().split()) == 3 + n_files
    shutil.rmtree(storage)


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("batch.stage_in='cp {source} there'", "write {target} where the command needs it"),
        ("batch.stage_in='cp {source} {target}'", "name that as well"),
        ("batch.scratch='a\"b'", "is not of the form"),
    ],
)
def test_commands_that_cannot_work_are_refused(
    job: Job, tmp_path: Path, setting: str, problem: str
) -> None:
    ended = job.submit(tmp_path / "run", "--nodes", 2, "--set", setting)
    assert ended.code == 2
    assert problem in ended.err


@pytest.mark.parametrize(
    "command",
    [
        "cp {source} {target}",
        "cp '{source}' '{target}'",
        'cp "{source}" "{target}"',
        "bash -c 'cp {source} {target}'",
        'bash -c "cp {source} {target}"',
        "(cp {source} {target})",
        "test \"$(basename {source})\" = 'x;touch X;.root' && cp {source} {target}",
        "echo \\'; cp {source} {target}",
    ],
)
@pytest.mark.parametrize(
    "source", ["plain.root", "{target};touch X;.root", "x;touch X;.root", "$(touch X) `touch X`",
               "a 'b\" c", "'; touch X #"]
)  # fmt: skip
def test_a_name_of_a_file_is_never_a_command(tmp_path: Path, command: str, source: str) -> None:
    """Where it may be read twice by shells, or is quoted by the user, it may not be found."""
    (tmp_path / source).write_text("content")
    values = {"source": source, "target": "copied"}
    done = subprocess.run(
        ["bash", "-c", with_variables(command, values)],
        env={"PATH": "/usr/bin:/bin", **variables(values)}, cwd=tmp_path, capture_output=True,
    )  # fmt: skip
    assert not (tmp_path / "X").exists(), done.stderr
    is_copied = (tmp_path / "copied").exists()
    reads_once = command.startswith(("cp {", "(cp", "echo", "bash"))
    assert is_copied == (done.returncode == 0)
    assert is_copied or not reads_once
    assert is_copied or source != "plain.root" or "basename" in command


def test_all_places_of_a_command_are_filled_at_once() -> None:
    values = {"source": "{target};touch X;.root", "target": "/scratch/1"}
    assert filled("cp {source} {target}", values) == "cp '{target};touch X;.root' /scratch/1"


def test_a_file_whose_name_holds_commands_is_copied(job: Job, tmp_path: Path) -> None:
    strange = tmp_path / "{target};touch X;.root"
    shutil.copy(job.folder / "a.root", strange)
    described = json.loads(job.file.read_bytes())
    described["source"]["files"] = [str(strange)]
    described["batch"] = {"stage_in": "cp {source} {target}", "scratch": str(tmp_path)}
    file, run = write_job(tmp_path, described), tmp_path / "run"
    shape = ("--nodes", 1, "--on", "local", "--dry-run", "-q", "-o", run)
    assert forkrun("submit", file, *shape, cwd=tmp_path).code == 0
    ended = forkrun("node", run, 0, "--scratch", tmp_path, "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert not (tmp_path / "X").exists()
