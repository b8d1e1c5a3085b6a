"""Jobs on many nodes whose input grows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.config.read import default_config
from forkrun.index.model import FileIndex, LumiRange
from forkrun.plan.make import make_plan
from forkrun.plan.model import Plan
from forkrun.plan.part import extended, first_units
from tests.batch.jobs import Job, problem_of, status_of
from tests.support.fault_proxy import fault_proxy
from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, module, output_digests, wait_for, write_job
from tests.support.xrootd_server import xrootd_server

Sizes = st.lists(st.lists(st.integers(1, 300), min_size=1, max_size=6), min_size=1, max_size=4)


def plan_of(files: list[list[int]], first_lumi: int, most: int) -> Plan:
    """A plan of files with lumis of these sizes, in units of at most so many events."""
    index, lumi = [], first_lumi
    for sizes in files:
        ranges, first = [], 0
        for n_events in sizes:
            ranges.append(LumiRange(1, lumi, first, first + n_events, "0" * 32))
            first, lumi = first + n_events, lumi + 1
        index.append(FileIndex(f"{lumi}.root", f"{lumi}", first, (0, first), tuple(ranges), ()))
    return make_plan(default_config([("forking.max_unit_events", most)]), index)


@pytest.mark.long
@given(Sizes, Sizes, st.integers(5, 100))
def test_what_was_planned_keeps_its_place(
    before: list[list[int]], more: list[list[int]], most: int
) -> None:
    n_lumis = sum(map(len, before))
    plan, behind = plan_of(before, 1, most), plan_of(more, n_lumis + 1, 2 * most)
    whole = plan_of(before + more, 1, 3 * most)
    joined = extended(plan, behind, whole)
    assert joined is not None
    assert (joined.files, joined.n_events) == (whole.files, plan.n_events + behind.n_events)
    n = len(plan.units)
    assert joined.units[:n] == list(plan.units)
    assert joined.units.n_events[n:].tolist() == behind.units.n_events.tolist()
    again = first_units(joined, n)
    assert (again.units, again.files) == (plan.units, plan.files)


@pytest.mark.parametrize("order", ["input", "lumi"])
def test_a_lumi_that_goes_on_in_new_files_can_be_added_where_lumis_need_not_be_whole(
    order: str,
) -> None:
    index = [
        FileIndex(name, name, 20, (0, 20), tuple(_two_lumis(first)), ())
        for name, first in (("a", 1), ("b", 1))
    ]
    before, more, whole = (
        make_plan(default_config([("source.order", order), ("forking.min_unit_events", 10)]), files)
        for files in (index[:1], index[1:], index)
    )
    joined = extended(before, more, whole)
    assert (joined is None) == (order == "lumi")
    if joined is not None:
        assert joined.units.lumi.tolist() == [1, 2, 1, 2]


def _two_lumis(first: int) -> list[LumiRange]:
    return [LumiRange(1, first + n, 10 * n, 10 * n + 10, "0" * 32) for n in (0, 1)]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Of two files, of which the second comes later; no lumi is in both."""
    return _job(tmp_path_factory.mktemp("job"))


def _job(folder: Path, *more: dict[str, Any]) -> Job:
    lumis = [[(1, first + n, 10) for n in range(10)] for first in (1, 11)]
    files = [write_events(folder / f"{name}.root", own, first_event)
             for name, own, first_event in zip("ab", lumis, (1, 101), strict=True)]  # fmt: skip
    return Job.of(folder, files, more=more)


def _extend(job: Job, run: Path, *options: object) -> Ended:
    return job.submit(run, "--extend", *options)


@pytest.mark.slow
def test_new_files_alone_are_processed_and_the_bytes_are_those_of_one_run(job: Job) -> None:
    run = job.folder / "grown"
    shape = ("--nodes", 2, "--dry-run", "--set", "merge.keep_temporary=true")
    assert job.submit(run, job.folder / "a.root", *shape).code == 0
    assert forkrun("node", run, 0, "-q", cwd=job.folder).code == 0
    ended = _extend(job, run, "--nodes", 1)
    assert ended.code == 0, ended.err
    assert "100 more events for 1 node" in ended.out
    wait_for(lambda: bool(status_of(run)["nodes"][2]["state"] == "done"))
    states = [node["state"] for node in status_of(run)["nodes"]]
    assert states == ["done", "not submitted", "done"]
    again = forkrun("node", run, 0, "-q", cwd=job.folder)  # it is the same job to the first node
    assert again.code == 0, again.err
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    collected = forkrun("collect", run, "-q", cwd=job.folder)
    assert collected.code == 0, collected.err
    assert problem_of(run, job.truth) == ""
    assert "no new files" in _extend(job, run).out


@pytest.mark.long
def test_files_without_ids_are_lumis_by_their_place_in_the_whole_input(tmp_path: Path) -> None:
    for name, first in (("a", 1), ("b", 11)):
        write_events(tmp_path / f"{name}.root", [(1, 1, 10)], first)
    none = {f"{name}_branch": "" for name in ("run", "lumi", "event")}
    source = {"files": str(tmp_path / "*.root"), **none}
    config = write_job(tmp_path, {"source": source, "outputs": [{"label": "all"}]})
    shape = ("--on", "local", "--dry-run", "-o", "run")
    for options in ([tmp_path / "a.root", "--nodes", 1], ["--extend"]):
        ended = forkrun("submit", config, *options, *shape, cwd=tmp_path)
        assert ended.code == 0, ended.err
    for number in range(2):
        assert forkrun("node", "run", number, "-q", cwd=tmp_path).code == 0
    assert forkrun("collect", "run", "-q", cwd=tmp_path).code == 0
    assert forkrun("run", config, "-o", "one", "-q", cwd=tmp_path).code == 0
    assert output_digests(tmp_path / "run") == output_digests(tmp_path / "one")
    lumis = [(tmp_path / run / "processedLumis.json").read_bytes() for run in ("run", "one")]
    assert lumis[0] == lumis[1] == b'{"1": [[1, 2]]}\n'


@pytest.mark.long
def test_a_job_grows_while_it_runs(tmp_path: Path) -> None:
    go_on, run = tmp_path / "go on", tmp_path / "run"
    go_on.touch()
    job = _job(tmp_path, module("waits", "Waits", until=str(go_on), event=95))
    go_on.unlink()
    assert job.submit(run, job.folder / "a.root", "--nodes", 1).code == 0
    wait_for(lambda: bool(status_of(run)["nodes"][0]["state"] == "running"))
    ended = _extend(job, run)
    assert ended.code == 0, ended.err
    assert status_of(run)["nodes"][0]["state"] == "running"
    go_on.touch()
    wait_for(lambda: status_of(run)["states"]["done"] == 2)
    assert [node["n_starts"] for node in status_of(run)["nodes"]] == [1, 1]
    assert forkrun("collect", run, "-q", cwd=tmp_path).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.long
def test_a_job_that_was_collected_can_grow_if_its_fragments_were_kept(job: Job) -> None:
    for keeps in (True, False):
        run = job.folder / f"collected-{keeps}"
        kept = ("--set", f"merge.keep_temporary={str(keeps).lower()}")
        submitted = job.submit(run, job.folder / "a.root", "--nodes", 1, "--dry-run", *kept)
        assert submitted.code == 0, submitted.err
        assert forkrun("node", run, 0, "-q", cwd=job.folder).code == 0
        assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
        before = json.loads((run / "batch/nodes.json").read_bytes())
        ended = _extend(job, run, "--dry-run")
        if keeps:
            assert ended.code == 0, ended.err
            assert not status_of(run)["collected"]
            assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
            assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
            assert problem_of(run, job.truth) == ""
        else:
            assert ended.code == 4
            assert "submit with --set merge.keep_temporary=true" in ended.err
            assert json.loads((run / "batch/nodes.json").read_bytes()) == before
            assert status_of(run)["collected"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--set", "modules.jets.params.n=3"], "only the input may grow"),
        (["b.root"], "a.root is not in the input any more"),
        (["--max-events", "5"], "only the input may grow"),
    ],
)
def test_nothing_but_the_input_may_change(job: Job, options: list[str], problem: str) -> None:
    run = job.folder / "kept"
    if not run.exists():
        assert job.submit(run, job.folder / "a.root", "--nodes", 1, "--dry-run").code == 0
    ended = _extend(job, run, *options)
    assert ended.code == 2
    assert problem in ended.err
    assert len(status_of(run)["nodes"]) == 1


@pytest.mark.slow
def test_a_remote_file_is_the_same_by_another_url(tmp_path: Path) -> None:
    """So nothing is processed twice, and nothing is missing."""
    job = _job(tmp_path)
    with xrootd_server() as server, fault_proxy(server.port) as proxy:
        for name in "ab":
            shutil.copy(tmp_path / f"{name}.root", server.data)
        there = [f"root://127.0.0.1:{proxy.port}/{server.data}/{name}.root" for name in "ab"]
        shape = ("--nodes", 1, "--dry-run")
        assert job.submit(tmp_path / "run", server.url("a.root"), *shape).code == 0
        twice = job.submit(tmp_path / "run", server.url("a.root"), *there, "--extend", *shape)
        assert twice.code == 2
        assert "is another URL" in twice.err
        lost = job.submit(tmp_path / "run", there[1], "--extend", *shape)
        assert lost.code == 2
        assert f"{server.url('a.root')} is not in the input any more" in lost.err
        ended = job.submit(tmp_path / "run", *there, "--extend", *shape)
        assert ended.code == 0, ended.err
        assert "100 more events" in ended.out
        less = job.submit(tmp_path / "run", server.url("b.root"), "--extend", *shape)
        assert less.code == 2
        assert "/a.root is not in the input any more" in less.err
        for number in range(2):
            done = forkrun("node", tmp_path / "run", number, "-q", cwd=tmp_path)
            assert done.code == 0, done.err
        collected = forkrun("collect", tmp_path / "run", "-q", cwd=tmp_path)
        assert collected.code == 0, collected.err
    assert output_digests(tmp_path / "run") == job.truth
