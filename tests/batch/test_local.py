"""Jobs on many nodes of this machine: the same bytes as on one, whatever happens to nodes."""

from __future__ import annotations

import json
import shutil
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from forkrun.batch.course import NodeJobs, note_submission
from forkrun.batch.submit import with_profile
from forkrun.config.read import read_config
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory
from tests.batch.failures import run_round
from tests.batch.jobs import Job, problem_of, status_of
from tests.support.jobs import environment, forkrun, output_digests, wait_for, write_job

pytestmark = pytest.mark.own_process  # signals to groups of processes, and memory of each node


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=20)


@pytest.fixture(scope="module")
def prepared(job: Job) -> Path:
    """Two nodes of which nothing was submitted."""
    run = job.folder / "prepared"
    ended = job.submit(run, "--nodes", 2, "--dry-run")
    assert ended.code == 0, ended.err
    return run


@pytest.mark.slow
def test_a_job_on_many_nodes_has_the_bytes_of_one_node(job: Job) -> None:
    run = job.folder / "three"
    ended = job.submit(run, "--nodes", 3, "--set", "batch.at_once=3")
    assert ended.code == 0, ended.err
    wait_for(lambda: status_of(run)["states"]["done"] == 3)
    status = status_of(run)
    assert (status["n_events"], status["n_events_planned"]) == (400, 400)
    assert [node["n_starts"] for node in status["nodes"]] == [1, 1, 1]
    collected = forkrun("collect", run, cwd=job.folder)
    assert collected.code == 0, collected.err
    assert problem_of(run, job.truth) == ""
    assert not list(run.glob("nodes/*/units"))
    assert status_of(run)["collected"]
    for name in ("report.json", "report.txt", "processedLumis.json"):  # killed when it had merged
        (run / name).unlink()
    again = forkrun("collect", run, "-q", cwd=job.folder)
    assert again.code == 0, again.err
    assert problem_of(run, job.truth) == ""
    assert "400" in (run / "report.txt").read_text()
    check_that_all_nodes_are_reported(run)


def check_that_all_nodes_are_reported(run: Path) -> None:
    """In what the report says of time, memory and input."""
    report = json.loads((run / "report.json").read_bytes())
    assert [node["node"] for node in report["nodes"]] == [0, 1, 2]
    assert {node["outcome"] for node in report["nodes"]} == {"done"}
    sessions = report["sessions"]
    nodes = [session["node"] for session in sessions if session["node"] is not None]
    assert sorted(nodes) == [0, 1, 2]
    assert len(sessions) > 3  # those in which it was collected
    assert sum(session["n_events"] for session in sessions) == 400
    memories = {node["node"]: node["memory"] for node in report["nodes"]}
    highest = max(memories, key=lambda node: memories[node]["peak"]["pss_bytes"])
    assert report["memory"] == {
        **memories[highest],
        "is_at_least": any(each["is_at_least"] for each in memories.values()),
        "node": highest,
        "all_nodes_bytes": sum(each["peak"]["pss_bytes"] for each in memories.values()),
        "all_nodes_saving_bytes": sum(each["saving_bytes"] for each in memories.values()),
    }
    begin_s, end_s = (
        min(session["start_s"] for session in sessions),
        max(session["end_s"] for session in sessions),
    )
    (line,) = (run / "batch/submitted.jsonl").read_text().splitlines()
    for node in report["nodes"]:
        assert node["submitted_s"] == [json.loads(line)["time_s"]]
        (start_s,) = (each["start_s"] for each in sessions if each["node"] == node["node"])
        assert node["queue_s"] == pytest.approx(start_s - node["submitted_s"][0])
    phases = report["phases"]
    assert phases["wall_s"] + phases["gaps_s"] == pytest.approx(end_s - begin_s)
    costs = {cost["column"]: cost for cost in report["input"]["columns"]}
    of_nodes = [timing_of_node(node) for node in sorted(run.glob("nodes/*"))]
    for name, cost in costs.items():
        each = [c for timing in of_nodes for c in timing["input"]["columns"] if c["column"] == name]
        assert cost["read_bytes"] == sum(c["read_bytes"] for c in each) > 0
    assert report["spent"]["processing_s"] == pytest.approx(
        sum(timing["spent"]["processing_s"] for timing in of_nodes)
    )
    table = (run / "report.txt").read_text().partition("\nNodes\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in table.splitlines()] == ["node", "0", "1", "2"]


def timing_of_node(node: Path) -> dict[str, Any]:
    with tarfile.open(node / "records.tar") as archive:
        content = archive.extractfile("timing.json")
        assert content is not None
        return dict(json.load(content))


@pytest.mark.slow
def test_nodes_that_are_killed_lose_and_double_nothing(job: Job) -> None:
    assert run_round(job, seed=1, n_failures=2, n_nodes=2).problem == ""


@pytest.mark.slow
def test_what_is_missing_is_said_and_the_rest_can_be_collected(job: Job) -> None:
    run = job.folder / "partial"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    ended = forkrun("collect", run, cwd=job.folder)
    assert ended.code == 5
    assert "1 of 2 nodes is not done (node 0: " in ended.err
    assert f"forkrun resubmit {run}" in ended.err
    partial = forkrun("collect", run, "--partial", "-q", cwd=job.folder)
    assert partial.code == 11, partial.err
    assert list((run / "output").iterdir()) == []
    names = {"accumulators.json", "all.root", "histograms.root", "skim.root"}
    assert {file.name for file in (run / "partial").iterdir()} == names
    events = json.loads((run / "report.json").read_bytes())["events"]
    assert events["n_events_read"] == status_of(run)["n_events"]
    assert not status_of(run)["collected"]
    again = forkrun("collect", run, "--partial", cwd=job.folder)
    assert again.code == 11
    assert f"{run}/partial/all.root" in again.out
    assert forkrun("node", run, 0, "-q", cwd=job.folder).code == 0
    assert forkrun("collect", run, "--partial", "-q", cwd=job.folder).code == 0
    assert not (run / "partial").exists()
    assert problem_of(run, job.truth) == ""


def test_a_run_directory_is_submitted_once(job: Job, prepared: Path) -> None:
    ended = job.submit(prepared, "--nodes", 2)
    assert ended.code == 4
    assert "has been submitted already" in ended.err


@pytest.mark.slow
def test_of_two_submits_at_the_same_time_one_is_refused(tmp_path: Path, job: Job) -> None:
    with ThreadPoolExecutor(2) as team:
        shape = (tmp_path / "run", "--nodes", 2, "--dry-run")
        ended = [each.result() for each in [team.submit(job.submit, *shape) for _ in range(2)]]
    assert sorted(each.code for each in ended) == [0, 4]
    for number in (0, 1):
        assert forkrun("node", tmp_path / "run", number, "-q", cwd=tmp_path).code == 0
    assert forkrun("collect", tmp_path / "run", "-q", cwd=tmp_path).code == 0
    assert output_digests(tmp_path / "run") == job.truth


@pytest.mark.parametrize("command", ["run", "resume", "merge"])
def test_other_commands_leave_the_run_directory_alone(
    job: Job, prepared: Path, command: str
) -> None:
    arguments = ["run", job.file, "-o", prepared] if command == "run" else [command, prepared]
    ended = forkrun(*arguments, cwd=job.folder)
    assert ended.code == (2 if command == "merge" else 4)
    assert "forkrun collect" in ended.err or "resubmit and collect" in ended.err


@pytest.mark.slow
def test_a_node_runs_the_code_of_the_submission(tmp_path: Path, job: Job) -> None:
    module = tmp_path / "cut.py"
    module.write_text(_MODULE.format(pt=20))
    described = json.loads(job.file.read_bytes())
    described["modules"] = [{"label": "cut", "type": f"python:{module}:Cut"}]
    described |= {"paths": {"p": ["cut"]}, "outputs": [{"label": "all", "paths": ["p"]}]}
    file, run = write_job(tmp_path, described), tmp_path / "run"
    submitted = forkrun(
        "submit", file, "--on", "local", "--nodes", 2, "--dry-run", "-o", run, cwd=tmp_path
    )
    assert submitted.code == 0, submitted.err
    whole = forkrun("run", file, "-q", "-o", tmp_path / "whole", cwd=tmp_path)
    assert whole.code == 0, whole.err
    module.write_text(_MODULE.format(pt=30))
    for number in (0, 1):
        ended = forkrun("node", run, number, "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
    assert forkrun("collect", run, "-q", cwd=tmp_path).code == 0
    assert output_digests(run) == output_digests(tmp_path / "whole")


def test_a_node_whose_input_was_changed_is_refused(tmp_path: Path) -> None:
    job = Job.make(tmp_path, n_lumis=4)
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 1, "--dry-run").code == 0
    shutil.copy(tmp_path / "b.root", tmp_path / "a.root")
    ended = forkrun("node", run, 0, "-q", cwd=tmp_path)
    assert ended.code in (3, 4)
    assert "a.root" in ended.err


_MODULE = """
import forkrun
import numpy as np

class Cut(forkrun.Filter):
    consumes = ("MET_pt",)

    def filter(self, block):
        return np.asarray(block["MET_pt"]) > {pt}
"""


def test_a_run_directory_of_another_version_is_refused(tmp_path: Path, job: Job) -> None:
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    ranges = run / "batch/nodes.json"
    now = json.loads(ranges.read_text())["version"]
    ranges.write_text(ranges.read_text().replace(f'"version": {now}', f'"version": {now + 1}'))
    for command in ("status", "resubmit", "collect", "kill", "logs"):
        ended = forkrun(command, run, cwd=tmp_path)
        assert ended.code == 4
        assert f"is of version {now + 1} and this forkrun works with version {now}" in ended.err


def test_a_batch_system_that_is_not_there_is_an_error_and_nothing_is_lost(
    tmp_path: Path, job: Job
) -> None:
    run = tmp_path / "run"
    ended = job.submit(run, "--nodes", 2, "--set", "batch.partition=none", on="slurm")
    assert ended.code == 10
    assert ended.err.startswith("forkrun: slurm: ")
    assert f"forkrun resubmit {run} submits it" in ended.err
    assert status_of(run)["states"]["not submitted"] == 2


def test_nodes_of_a_batch_system_that_does_not_answer_are_unknown(tmp_path: Path, job: Job) -> None:
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 2, "--dry-run").code == 0
    submission = NodeJobs(0, "slurm", "name", (0, 1), None, None, 0.0, "host")
    note_submission(RunDirectory(run), submission)
    without = environment(PATH="/nowhere")  # where squeue is not
    ended = forkrun("status", run, "--json", cwd=tmp_path, env=without)
    status = json.loads(ended.out)
    assert status["states"]["unknown"] == 2
    assert not status["batch_system_answers"]
    again = forkrun("resubmit", run, cwd=tmp_path, env=without)
    assert again.code == 10
    assert "so the running nodes are unknown" in again.err


def test_a_node_that_cannot_be_set_up_says_which_line_failed(tmp_path: Path, job: Job) -> None:
    run = tmp_path / "run"
    lines = 'batch.setup=["export IS_SET_UP=yes", "test -e /nowhere/proxy"]'
    assert job.submit(run, "--nodes", 1, "--set", lines, "--set", "batch.retries=0").code == 0
    wait_for(lambda: status_of(run)["states"]["failed"] == 1)
    (node,) = status_of(run)["nodes"]
    assert node["code"] == 10
    assert node["reason"] == "batch.setup: exit code 1 of: test -e /nowhere/proxy"
    again = forkrun("resubmit", run, cwd=tmp_path)
    assert again.code == 5
    assert "nodes 0 have had all their retries (batch.retries = 0): batch.setup" in again.err


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (["forking.distribution=contiguous", "forking.children=2"], "many nodes need"),
        (['source.only=["1:1:1"]'], "a job for one node"),
        (["batch.partitions=x"], 'did you mean "partition"'),
        (["batch.partition='a b'"], "is not of the form"),
    ],
)
def test_a_job_that_cannot_be_submitted_is_refused(
    tmp_path: Path, job: Job, settings: list[str], problem: str
) -> None:
    options = [word for text in settings for word in ("--set", text)]
    ended = job.submit(tmp_path / "run", "--nodes", 2, *options)
    assert ended.code == 2
    assert problem in ended.err
    assert not (tmp_path / "run").exists()


def test_profiles_give_what_the_job_does_not_say(
    tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "forkrun").mkdir()
    profiles = tmp_path / "forkrun/batch.toml"
    profiles.write_text('[default]\npartition = "p"\ncores = 4\n[wrong]\ncore = 4\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config = read_config(job.file, [("batch.cores", 2)])
    batch = with_profile(config, None).batch
    assert (batch.partition, batch.cores) == ("p", 2)
    with pytest.raises(ConfigError, match=r'\[wrong\] core: .*did you mean "cores"'):
        with_profile(config, "wrong")
    with pytest.raises(ConfigError, match='unknown profile "defaults"; did you mean'):
        with_profile(config, "defaults")


@pytest.mark.long
def test_the_queue_merges_when_the_nodes_are_done(job: Job) -> None:
    run = job.folder / "merged"
    ended = job.submit(run, "--nodes", 2, "--merge")
    assert ended.code == 0, ended.err
    assert "the queue merges when its nodes have ended" in ended.out
    wait_for(lambda: bool(status_of(run)["collected"]))
    wait_for(lambda: (run / "processedLumis.json").exists() and (run / "report.json").exists())
    assert problem_of(run, job.truth) == ""


def test_a_merge_that_failed_says_why(tmp_path: Path, job: Job) -> None:
    run = tmp_path / "run"
    only_nodes = 'batch.setup=["test -n \\"$number\\""]'
    assert job.submit(run, "--nodes", 1, "--merge", "--set", only_nodes).code == 0
    wait_for(lambda: "the merge failed: batch.setup: exit code 1 of" in _said(run))
    assert forkrun("collect", run, "-q", cwd=tmp_path).code == 0
    assert _said(run).endswith(f"collected: its outputs are in {run}/output\n")


def _said(run: Path) -> str:
    return forkrun("status", run, cwd=run.parent).out
