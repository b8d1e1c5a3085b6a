"""A changed job that is submitted again keeps results of the collected one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.results import RunResults, Store
from tests.batch.jobs import status_of, submit
from tests.rundir.test_kept_results import HIST, other
from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, jets_job, module, output_digests, write_job


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    """Two files; an analyzer, a histogram and accumulators on paths, and an output."""
    files = [tmp_path / f"{run}.root" for run in (1, 2)]
    for run, file in enumerate(files, start=1):
        write_events(file, [(run, lumi, 40) for lumi in range(1, 4)])
    job = jets_job(files)
    job["modules"] += [HIST, module("added", "SumsJets")]
    job["paths"]["skim"].append("counts")
    job["paths"]["added"] = ["added"]
    return job


def submitted(folder: Path, job: dict[str, Any], *options: object) -> Ended:
    ended = submit(write_job(folder, job), "run", *options)
    assert ended.code == 0, ended.err
    return ended


def collected(folder: Path) -> list[int]:
    """Runs the nodes that are not done, and collects. Gives their numbers."""
    nodes = [n["number"] for n in status_of(folder / "run")["nodes"] if n["state"] != "done"]
    for number in nodes:
        ended = forkrun("node", "run", number, "-q", cwd=folder)
        assert ended.code == 0, ended.err
    ended = forkrun("collect", "run", "-q", cwd=folder)
    assert ended.code == 0, ended.err
    return nodes


def check_as_from_scratch(folder: Path, job: dict[str, Any]) -> None:
    ended = forkrun("run", write_job(folder, job), "-o", "one", "-q", "--force", cwd=folder)
    assert ended.code == 0, ended.err
    assert output_digests(folder / "run") == output_digests(folder / "one")
    for name in ("output/accumulators.json", "processedLumis.json"):
        assert (folder / "run" / name).read_bytes() == (folder / "one" / name).read_bytes()
    reports = [json.loads((folder / n / "report.json").read_bytes()) for n in ("run", "one")]
    assert reports[0]["events"]["digests_agree"]
    assert reports[0]["events"]["n_events_read"] == reports[1]["events"]["n_events_read"]
    assert reports[0]["cutflow"] == reports[1]["cutflow"]


@pytest.mark.slow
def test_another_axis_is_computed_by_nodes_and_the_rest_kept(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    submitted(tmp_path, job, "--nodes", 2)
    assert collected(tmp_path) == [0, 1]
    job = other(job, "counts", axes=[{"bins": 3, "low": 0, "high": 6}])
    said = submitted(tmp_path, job, "--nodes", 3).out
    assert "kept 3 of 4 results; computing counts (changed: histogram counts)" in said
    assert "240 events for 3 nodes" in said
    for number in range(3):
        assert forkrun("node", "run", number, "-q", cwd=tmp_path).code == 0
    part = forkrun("collect", "run", "--part", "0/2", cwd=tmp_path)
    assert part.code == 0, part.err
    refused = submit(tmp_path / "job.json", "run", "--extend")
    assert refused.code == 4
    assert "keeps results of an earlier job" in refused.err
    assert collected(tmp_path) == []
    node = json.loads((tmp_path / "run/nodes/0000/config.json").read_bytes())
    assert [each["label"] for each in node["modules"]] == ["jets", "counts"]
    assert node["outputs"] == []
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
def test_new_files_alone_go_to_nodes(tmp_path: Path, job: dict[str, Any]) -> None:
    files = job["source"]["files"]
    less = {**job, "source": {**job["source"], "files": files[:1]}}
    submitted(tmp_path, less, "--nodes", 2)
    collected(tmp_path)
    said = submitted(tmp_path, job, "--nodes", 2).out
    assert "kept 120 of 240 events of 4 results; computing the others" in said
    assert "120 events for 2 nodes" in said
    assert len(status_of(tmp_path / "run")["nodes"]) == 3
    assert forkrun("node", "run", 0, "-q", cwd=tmp_path).code == 0
    assert collected(tmp_path) == [1, 2]
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fragment", "histograms"])
def test_what_is_stored_and_damaged_before_collect_is_computed(
    tmp_path: Path, job: dict[str, Any], kind: str
) -> None:
    files = job["source"]["files"]
    less = {**job, "source": {**job["source"], "files": files[:1]}}
    submitted(tmp_path, less, "--nodes", 2)
    collected(tmp_path)
    submitted(tmp_path, job, "--nodes", 1)
    stored = sorted((tmp_path / "run/results").glob(f"*.{kind}"))[0]
    state, data = stored.stat(), bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    os.utime(stored, ns=(state.st_atime_ns, state.st_mtime_ns))
    for node in (n for n in status_of(tmp_path / "run")["nodes"] if n["state"] != "done"):
        assert forkrun("node", "run", node["number"], "-q", cwd=tmp_path).code == 0
    for _ in range(2):
        ended = forkrun("collect", "run", "-q", cwd=tmp_path)
        assert ended.code != 0
        assert "forkrun submit with the same job computes damaged results" in ended.err
    said = submitted(tmp_path, job, "--nodes", 1).out
    assert "kept" in said
    assert collected(tmp_path)
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
def test_a_job_without_a_histogram_needs_no_node(tmp_path: Path, job: dict[str, Any]) -> None:
    submitted(tmp_path, job, "--nodes", 2)
    collected(tmp_path)
    again = submit(tmp_path / "job.json", "run", "--nodes", 2)
    assert again.code == 4
    assert (
        f"nothing is left to compute: forkrun collect {tmp_path}/run names its files" in again.err
    )
    assert "output/histograms.root" in forkrun("collect", "run", cwd=tmp_path).out
    paths = {**job["paths"], "skim": ["jets", "plots"]}
    modules = [each for each in job["modules"] if each["label"] != "counts"]
    job = {**job, "modules": modules, "paths": paths}
    said = submitted(tmp_path, job, "--nodes", 2).out
    assert "kept 3 results: nothing to compute" in said
    assert "0 events for 0 nodes" in said
    assert collected(tmp_path) == []
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
def test_a_node_with_other_packages_leaves_nothing_for_later_jobs(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    submitted(tmp_path, job, "--nodes", 2)
    for number in range(2):
        assert forkrun("node", "run", number, "-q", cwd=tmp_path).code == 0
    place = tmp_path / "run/nodes/0001/fingerprint.json"
    known = json.loads(place.read_bytes())
    known["results"]["histogram counts"] = "0" * 64
    place.write_text(json.dumps(known))
    collected(tmp_path)
    folder = RunDirectory(tmp_path / "run")
    (counts,) = (each for each in RunResults.read(folder).results if each.label == "counts")
    assert counts.reasons == ("nodes have computed it with other code, packages or builds",)
    assert "counts" not in {each.result.label for each in Store.read(folder).results}
    job = other(job, "jets", params={"n": 3})
    submitted(tmp_path, job, "--nodes", 1)
    assert collected(tmp_path) == [0]
    check_as_from_scratch(tmp_path, job)


def test_a_job_is_submitted_again_after_it_is_collected(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    submitted(tmp_path, job, "--nodes", 1)
    ended = submit(write_job(tmp_path, other(job, "jets", params={"n": 3})), "run", "--nodes", 1)
    assert ended.code == 4
    assert "this job has been submitted already" in ended.err
