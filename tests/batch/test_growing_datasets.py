"""Jobs of several datasets on many nodes: some of them alone, and such whose files grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forkrun.parent.result import Result
from tests.batch.jobs import Job, status_of
from tests.parent.test_results_by_dataset import described, everything, write
from tests.support.jobs import Ended, forkrun, wait_for, write_job

FILES = {"data_1": 40, "dy_1": 30, "tt_1": 20, "data_2": 30, "dy_2": 20, "tt_2": 10}
PATTERNS = {"data": ["data_*.root"], "dy": ["dy_*.root"], "tt": ["tt_*.root"]}


def make(folder: Path, *names: str) -> None:
    for name in names:
        write(folder / f"{name}.root", FILES[name])


def job(folder: Path, files: dict[str, list[str]], **sections: Any) -> Path:
    forking = {"children": 1, "max_unit_events": 15}
    made = described(folder, with_objects=False, forking=forking, **sections)
    for dataset in made["datasets"]:
        dataset["files"] = [str(folder / file) for file in files[dataset["name"]]]
    return write_job(folder, made)


def submit(folder: Path, *options: object) -> Ended:
    return forkrun("submit", "job.json", "--on", "local", "-o", "run", "--dry-run", *options,
                   cwd=folder)  # fmt: skip


def finish(folder: Path, n_nodes: int) -> None:
    for command in (*[("node", "run", n) for n in range(n_nodes)], ("collect", "run")):
        ended = forkrun(*command, "-q", cwd=folder)
        assert ended.code == 0, ended.err


def fresh(folder: Path, *options: object) -> dict[str, Any]:
    """What a job over all files, on one node, says and writes."""
    ended = forkrun("run", "job.json", "-o", "fresh", "-q", *options, cwd=folder)
    assert ended.code == 0, ended.err
    return everything(folder / "fresh")


@pytest.mark.slow
@pytest.mark.parametrize(
    "new",
    [
        ("data_2", "dy_2", "tt_2"),
        *(pytest.param((name,), marks=pytest.mark.long) for name in ("data_2", "dy_2")),
    ],
)
def test_new_files_of_any_dataset_give_the_bytes_of_one_job(
    tmp_path: Path, new: tuple[str, ...]
) -> None:
    make(tmp_path, "data_1", "dy_1", "tt_1")
    job(tmp_path, PATTERNS)
    assert submit(tmp_path, "--nodes", 2).code == 0
    assert forkrun("node", "run", 0, "-q", cwd=tmp_path).code == 0
    make(tmp_path, *new)
    ended = submit(tmp_path, "--extend", "--nodes", 1)
    assert ended.code == 0, ended.err
    finish(tmp_path, 3)
    assert everything(tmp_path / "run") == fresh(tmp_path)


@pytest.mark.long
def test_longer_lists_of_datasets_give_the_bytes_of_one_job(tmp_path: Path) -> None:
    make(tmp_path, "data_1", "dy_1", "tt_1", "data_2", "tt_2")
    job(tmp_path, {"data": ["data_1.root"], "dy": ["dy_1.root"], "tt": ["tt_1.root"]})
    assert submit(tmp_path, "--nodes", 2).code == 0
    assert forkrun("node", "run", 0, "-q", cwd=tmp_path).code == 0
    job(tmp_path, {**PATTERNS, "data": ["data_1.root", "data_2.root"]})
    ended = submit(tmp_path, "--extend", "--nodes", 1)
    assert ended.code == 0, ended.err
    assert "no new files" in submit(tmp_path, "--extend").out
    finish(tmp_path, 3)
    assert everything(tmp_path / "run") == fresh(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outputs": [{"label": "all", "datasets": "together"}]},
         'output "all" has several datasets, and events of the new files of "data" would come'
         ' after those of "tt"; submit the whole input to another folder'),
        ({"source": {"order": "sorted"}},
         'source.order = "sorted" puts events of the new files before others'),
    ],
)  # fmt: skip
def test_what_would_give_other_bytes_is_refused_before_anything_is_done(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    make(tmp_path, "data_1", "dy_1", "tt_1")
    job(tmp_path, PATTERNS, **change)
    assert submit(tmp_path, "--nodes", 2).code == 0
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*.json")}
    make(tmp_path, "data_2")
    ended = submit(tmp_path, "--extend")
    assert ended.code == 2
    assert words in ended.err
    assert {file: file.read_bytes() for file in (tmp_path / "run").rglob("*.json")} == before


def test_files_move_to_no_other_dataset_and_datasets_stay_as_they_are(tmp_path: Path) -> None:
    make(tmp_path, "data_1", "dy_1", "tt_1")
    job(tmp_path, PATTERNS)
    assert submit(tmp_path, "--nodes", 1).code == 0
    make(tmp_path, "dy_2")
    job(tmp_path, {"data": ["data_1.root"], "dy": ["dy_2.root"], "tt": ["dy_1.root", "tt_1.root"]})
    ended = submit(tmp_path, "--extend")
    assert ended.code == 2
    assert "files that the job has are of other datasets now" in ended.err
    made = json.loads(job(tmp_path, PATTERNS).read_bytes())
    made["datasets"][1]["cross_section"] = 7.0
    write_job(tmp_path, made)
    ended = submit(tmp_path, "--extend")
    assert ended.code == 2
    assert "only the input may grow; what has changed: datasets: dy" in ended.err


@pytest.mark.long
def test_datasets_of_a_pattern_are_submitted_resubmitted_and_resumed(tmp_path: Path) -> None:
    make(tmp_path, "data_1", "dy_1", "tt_1")
    job(tmp_path, PATTERNS)
    some = ("--dataset", "d*")
    file, run = tmp_path / "job.json", tmp_path / "run"
    assert Job(tmp_path, file, {}).submit(run, "--nodes", 2, "--dry-run", *some).code == 0
    assert forkrun("node", "run", 0, "-q", cwd=tmp_path).code == 0
    again = forkrun("resubmit", "run", cwd=tmp_path)
    assert again.code == 0, again.err
    wait_for(lambda: bool(status_of(run)["states"].get("done") == 2))
    make(tmp_path, "dy_2", "tt_2")
    without = submit(tmp_path, "--extend")
    assert without.code == 2
    assert "only the input may grow; what has changed: source: datasets" in without.err
    ended = submit(tmp_path, "--extend", "--nodes", 1, *some)
    assert ended.code == 0, ended.err
    assert "20 more events for 1 node" in ended.out
    finish(tmp_path, 3)
    truth = fresh(tmp_path, *some)
    assert everything(tmp_path / "run") == truth
    assert list(Result.read(tmp_path / "run").datasets) == ["data", "dy"]
    ended = forkrun("run", "job.json", *some, "-o", "stopped", "-q", "--no-merge", cwd=tmp_path)
    assert ended.code == 0, ended.err
    ledger = next((tmp_path / "stopped/ledger").glob("child-*.jsonl"))
    ledger.write_bytes(ledger.read_bytes()[:-20])  # its process died in the middle of a line
    ended = forkrun("run", "job.json", "-o", "stopped", "-q", cwd=tmp_path)
    assert ended.code == 4
    assert "belongs to another job; what has changed: configuration: source" in ended.err
    ended = forkrun("resume", "stopped", "-q", "--set", "merge.enabled=true", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert everything(tmp_path / "stopped") == truth
