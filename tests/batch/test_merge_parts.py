"""Outputs that are made in parts by several jobs and joined."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from forkrun import _core
from forkrun.base.durable import read_json
from tests.batch.jobs import Job, problem_of, status_of
from tests.batch.slurm_cluster import wait_long
from tests.support.jobs import Ended, forkrun, output_digests, wait_for, write_job

N_NODES, N_PARTS = 4, 3


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The output `all` has a cluster for each of the input, `skim` has two."""
    folder = tmp_path_factory.mktemp("job")
    files = [folder / f"{name}.root" for name in ("a", "b")]
    for number, file in enumerate(files):
        shape = ("--events", 80_000, "--lumis", 5, "--seed", number + 1)
        assert forkrun("sample", file, *shape, cwd=folder).code == 0
    return Job.of(folder, files)


@pytest.fixture(scope="module")
def processed(job: Job) -> Path:
    """All nodes are done, nothing is merged."""
    run = job.folder / "processed"
    assert job.submit(run, "--nodes", N_NODES, "--dry-run").code == 0
    for number in range(N_NODES):
        assert forkrun("node", run, number, "-q", cwd=job.folder).code == 0
    return run


def _copy(processed: Path, name: str) -> Path:
    run = processed.parent / name
    shutil.copytree(processed, run)
    return run


def _make_part(run: Path, number: int) -> Ended:
    return forkrun("collect", run, "--part", f"{number}/{N_PARTS}", cwd=run.parent)


def _clusters(run: Path, label: str) -> list[int]:
    cuts = read_json(run / "batch/merge/cuts.json")["cuts"][label]
    return [len(sizes) for _, _, sizes in cuts]


@pytest.mark.long
def test_outputs_joined_of_parts_have_the_same_bytes(job: Job, processed: Path) -> None:
    run = _copy(processed, "parts")
    for number in range(N_PARTS):
        ended = _make_part(run, number)
        assert ended.code == 0, ended.err
    assert sum(_clusters(run, "skim")) == 2
    assert all(n > 5 for n in _clusters(run, "all"))
    assert len(list(run.glob("batch/merge/*/all.root"))) == N_PARTS
    collected = forkrun("collect", run, "-q", cwd=job.folder)
    assert collected.code == 0, collected.err
    assert problem_of(run, job.truth) == ""
    assert not (run / "batch/merge").exists()


@pytest.mark.long
def test_a_part_that_is_missing_or_damaged_is_made_by_the_merge(job: Job, processed: Path) -> None:
    run = _copy(processed, "missing")
    for number in (0, 2):
        assert _make_part(run, number).code == 0
    damaged = run / "batch/merge/0002/all.root"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    collected = forkrun("collect", run, "-q", cwd=job.folder)
    assert collected.code == 0, collected.err
    assert problem_of(run, job.truth) == ""


@pytest.mark.long
def test_parts_of_other_commits_are_not_used(job: Job, processed: Path) -> None:
    run = _copy(processed, "other")
    for number in range(N_PARTS):
        assert _make_part(run, number).code == 0
    shutil.rmtree(run / "nodes/0001")
    missing = _make_part(run, 1)
    assert missing.code == 5
    assert "1 of 4 nodes is not done (node 1: " in missing.err
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.long
def test_the_queue_makes_the_parts_and_merges(job: Job) -> None:
    run = job.folder / "queue"
    settings = ("--set", "batch.merge_jobs=2", "--set", "batch.at_once=2")
    ended = job.submit(run, "--nodes", 2, "--merge", *settings)
    assert ended.code == 0, ended.err
    wait_long(lambda: bool(status_of(run)["collected"]))
    wait_for(lambda: (run / "processedLumis.json").exists() and (run / "report.json").exists())
    assert problem_of(run, job.truth) == ""
    assert [(run / f"batch/logs/merge.log.{n}").exists() for n in range(3)] == [True, True, False]


def _write_uneven(path: Path) -> Path:
    """Light events, then heavy ones of 100 kB, then light ones: a cluster of heavy ones ends long
    before it has as many events as the mean lets expect."""
    columns = [("run", "uint32"), ("luminosityBlock", "uint32"), ("event", "uint64")]
    writer = _core.TreeWriter(str(path), "Events", [*columns, ("Hit_e", "float32[]")], "zstd:1")
    first = 1
    for lumi, (n_events, n_hits) in enumerate([(5000, 1), (1000, 25_000), (5000, 1)], start=1):
        for begin in range(first, first + n_events, 250):
            values = {
                "run": np.full(250, 1, np.uint32),
                "luminosityBlock": np.full(250, lumi, np.uint32),
                "event": np.arange(begin, begin + 250, dtype=np.uint64),
                "Hit_e": (np.arange(251) * n_hits, np.zeros(250 * n_hits, np.float32)),
            }
            writer.write(values)
        first += n_events
    writer.close()
    return path


@pytest.mark.long
def test_an_output_with_a_cluster_of_large_events_is_made_whole_by_the_merge(
    tmp_path: Path,
) -> None:
    """The other output, without the large column, is joined of its parts."""
    described = {
        "source": {"files": [str(_write_uneven(tmp_path / "uneven.root"))]},
        "modules": [{"label": "most", "type": "expression:event % 10 != 0", "kind": "filter"}],
        "paths": {"most": ["most"]},
        "outputs": [
            {"label": "uneven", "paths": ["most"]},
            {"label": "even", "paths": ["most"], "keep": ["event"]},
        ],
        "forking": {"children": 2},
    }
    config = write_job(tmp_path, described)
    assert forkrun("run", config, "-o", "one", "-q", cwd=tmp_path).code == 0
    run = tmp_path / "run"
    shape = ("--on", "local", "--nodes", N_PARTS, "--dry-run")
    assert forkrun("submit", config, *shape, "-o", run, cwd=tmp_path).code == 0
    for number in range(N_PARTS):
        assert forkrun("node", run, number, "-q", cwd=tmp_path).code == 0
    for number in range(N_PARTS):
        ended = _make_part(run, number)
        assert ended.code == 0, ended.err
    made = [read_json(run / f"batch/merge/{n:04d}/made.json")["files"] for n in range(N_PARTS)]
    assert None in [files["uneven"] for files in made]
    assert None not in [files["even"] for files in made]
    collected = forkrun("collect", run, "-q", cwd=tmp_path)
    assert collected.code == 0, collected.err
    assert output_digests(run) == output_digests(tmp_path / "one")


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("part", ["3/3", "1/99", "x", "1"])
def test_a_part_that_cannot_be_is_an_error(tmp_path: Path, part: str) -> None:
    job = Job.make(tmp_path, n_lumis=2)
    assert job.submit(tmp_path / "run", "--nodes", 3, "--dry-run").code == 0
    ended = forkrun("collect", tmp_path / "run", "--part", part, cwd=tmp_path)
    assert ended.code == 2
    assert "write K/N" in ended.err
