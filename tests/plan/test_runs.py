"""Ranges of runs: source.runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import uproot
from hypothesis import given
from hypothesis import strategies as st

from forkrun import Job
from forkrun.config.source import parse_runs
from forkrun.plan.select import LumiMask
from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job

LUMIS = [(run, lumi, 10) for run in (5, 6, 7, 9) for lumi in (1, 2)]


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("7", ((7, 7),)),
        ("9, 5 - 6", ((5, 6), (9, 9))),
        ("5–6,7,7", ((5, 7),)),
        ("1-10,3-4", ((1, 10),)),
    ],
)
def test_ranges_may_overlap_and_come_in_any_order(text: str, ranges: Any) -> None:
    assert parse_runs(text) == ranges


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), min_size=1, max_size=9))
def test_runs_are_accepted_if_they_are_in_some_range(parts: list[tuple[int, int]]) -> None:
    text = ",".join(f"{first}-{first + n}" for first, n in parts)
    mask = LumiMask(None, parse_runs(text))
    wanted = {run for first, n in parts for run in range(first, first + n + 1)}
    assert {run for run in range(70) if mask.accepts(run, 1)} == wanted


@pytest.mark.parametrize(
    ("runs", "what"),
    [
        ("362001-36x", 'source.runs: "362001-36x" is not a run; write runs, and ranges'),
        ("7,,8", "source.runs: a part is empty"),
        ("9-5", 'source.runs: "9-5" ends before it begins'),
        ("7,4294967296", 'source.runs: "4294967296": runs are numbers up to 4,294,967,295'),
        ("-5", 'source.runs: "-5" is not a run'),
        (True, "source.runs: "),
    ],
)
def test_a_wrong_range_is_named_with_its_key(tmp_path: Path, runs: Any, what: str) -> None:
    write_events(tmp_path / "a.root", LUMIS)
    job = write_job(tmp_path, {"source": {"files": ["a.root"], "runs": runs}})
    ended = forkrun("check", job, cwd=tmp_path)
    assert ended.code == 2
    assert f"job.json: {what}" in ended.err


def job_of(folder: Path, **source: Any) -> Path:
    write_events(folder / "a.root", LUMIS)
    given = {"files": ["a.root"], **source}
    return write_job(folder, {"source": given, "outputs": [{"label": "events"}]})


def runs_and_lumis(file: Path) -> list[tuple[int, int]]:
    found = uproot.open(file)["Events"].arrays(["run", "luminosityBlock"], library="np")
    return sorted(set(zip(*(found[name].tolist() for name in found), strict=True)))


def test_only_these_runs_are_processed_accounted_and_resumed(tmp_path: Path) -> None:
    job = job_of(tmp_path, runs="9,5-6")
    assert forkrun("run", job, "--children", "2", cwd=tmp_path).code == 0
    run = tmp_path / "job-run"
    wanted = [(r, lumi) for r, lumi, _ in LUMIS if r != 7]
    assert runs_and_lumis(run / "output/events.root") == wanted
    accounted = json.loads((run / "processedLumis.json").read_text())
    assert accounted == {"5": [[1, 2]], "6": [[1, 2]], "9": [[1, 2]]}
    assert forkrun("run", job, "--children", "2", cwd=tmp_path).code == 0  # done already
    other = forkrun("run", job, "--children", "2", "--runs", "5", cwd=tmp_path)
    assert other.code == 0
    assert {r for r, _ in runs_and_lumis(run / "output/events.root")} == {5}


def test_beside_a_lumi_mask_both_have_to_accept(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps({"5": [[2, 9]], "7": [[1, 1]], "9": [[1, 1]]}))
    job = job_of(tmp_path, lumi_mask="good.json", runs="5-8")
    assert forkrun("run", job, "--children", "1", cwd=tmp_path).code == 0
    assert runs_and_lumis(tmp_path / "job-run/output/events.root") == [(5, 2), (7, 1)]
    ended = forkrun("check", job, "--runs", "6", cwd=tmp_path)
    assert ended.code == 0
    assert "source.runs: 6 together accept no event of the input, which is of runs" in ended.err


def test_nodes_have_the_same_runs(tmp_path: Path) -> None:
    job = job_of(tmp_path, runs="6-7")
    shape = ("--on", "local", "--nodes", 2, "--dry-run", "-q", "-o", "run")
    commands = [("submit", job, *shape), ("node", "run", 0), ("node", "run", 1), ("collect", "run")]
    for command in commands:
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 0, ended.err
    wanted = [(r, lumi) for r, lumi, _ in LUMIS if r in (6, 7)]
    assert runs_and_lumis(tmp_path / "run/output/events.root") == wanted


def test_simulation_beside_data_is_left_whole(tmp_path: Path) -> None:
    data = write_events(tmp_path / "data.root", LUMIS)
    simulation = write_events(tmp_path / "mc.root", [(1, 1, 50)], first_event=1000)
    datasets: dict[str, Any] = {"data": {"files": data, "is_data": True}, "mc": simulation}
    job = Job(datasets, source={"runs": "7"}).hist("event", (1, 0, 1e9))
    result = job.run(children=0, quiet=True, output=tmp_path / "run")
    assert result.report["events"]["n_events_read"] == 70
