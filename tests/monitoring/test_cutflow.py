"""What the filters of a path leave: counted once, with efficiencies."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.monitoring.report.cutflow import wilson
from forkrun.parent.result import Result
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, module, write_job

N_EVENTS = 240
MANY = [n for n in range(1, N_EVENTS + 1) if n % 5 >= 2]
MORE = [n for n in MANY if n % 5 >= 3]


def job(folder: Path, **monitoring: Any) -> Path:
    write_events(folder / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    return write_job(
        folder,
        {
            "source": {"files": ["a.root"]},
            "modules": [
                module("two", "ManyJets", n=2, pt_min=1.0),
                module("three", "ManyJets", n=3, pt_min=1.0),
                module("plots", "Plots"),
            ],
            "paths": {"skim": ["two", "plots", "three"], "loose": ["two"], "plain": ["plots"]},
            "outputs": [{"label": "events", "paths": ["skim"]}],
            "monitoring": monitoring,
        },
    )


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_efficiency_is_within_its_interval_and_that_within_0_and_1(numbers: Any) -> None:
    efficiency = wilson(*numbers)
    assert efficiency is not None
    assert 0 <= efficiency.low <= efficiency.value <= efficiency.high <= 1
    assert efficiency.low < efficiency.high


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    found = wilson(5, 10)
    assert found is not None
    half = math.sqrt(0.25 / 10 + 1 / 400) / 1.1
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))
    assert wilson(0, 0) is None


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 1, 3])
def test_events_are_counted_behind_each_filter(tmp_path: Path, children: int) -> None:
    ended = forkrun("run", job(tmp_path), "-o", "run", "--children", children, cwd=tmp_path)
    assert ended.code == 0, ended.err
    flow = Result.read(tmp_path / "run").cutflow
    counts = {
        path: [(cut["after"], cut["n_events"]) for cut in cuts] for path, cuts in flow.items()
    }
    assert counts == {
        "skim": [("", N_EVENTS), ("two", len(MANY)), ("three", len(MORE))],
        "loose": [("", N_EVENTS), ("two", len(MANY))],
    }
    result = Result.read(tmp_path / "run")
    assert repr(result) == f"<Result of {tmp_path / 'run'}: done, 240 events>"
    page = result._repr_html_()
    assert "<td>three</td><td>96</td><td>66.7 ± 3.9 %</td><td>40.0 ± 3.2 %</td>" in page
    assert f"<code>{tmp_path / 'run/output/events.root'}</code>" in page
    assert flow._repr_html_() in page
    assert flow["loose"]._repr_html_().partition("<td>loose")[2] in flow._repr_html_()
    of_all = [line.split() for line in str(flow).splitlines()]
    assert of_all[:4] == [line.split() for line in str(flow["skim"]).splitlines()]
    assert repr(flow["skim"]) == str(flow["skim"])
    last = flow["skim"][2]
    assert str(last) == "three: 96 events, 66.7 ± 3.9 % of the last, 40.0 ± 3.2 % of all"
    assert str(flow["skim"][0]) == "(all): 240 events"
    assert last["step"]["value"] == len(MORE) / len(MANY)
    assert last["total"]["value"] == len(MORE) / N_EVENTS
    assert "three      96  66.7 ± 3.9 %  40.0 ± 3.2 %" in (tmp_path / "run/report.txt").read_text()
    assert "  Path      skim: 96 of 240 (40.0 %)\n  Path      loose: " in ended.out
    assert "cutflow 1" not in (tmp_path / "run/timing.json").read_text()


def test_weights_are_summed_exactly_through_deaths(tmp_path: Path) -> None:
    file = job(tmp_path, cutflow_weight="event")
    faults = [
        {"fault": "SIGKILL", "at": "before_rename"},
        {"fault": "SIGKILL", "at": "after_rename"},
    ]
    chaos = environment(FORKRUN_CHAOS=json.dumps(faults))
    more = ("--set", "forking.max_unit_events=10", "--children", 2, "-q")
    ended = forkrun("run", file, "-o", "run", *more, cwd=tmp_path, env=chaos)
    assert ended.code == 0, ended.err
    cuts = Result.read(tmp_path / "run").cutflow["skim"]
    assert [cut["sum_weights"] for cut in cuts] == [
        sum(range(1, N_EVENTS + 1)), sum(MANY), sum(MORE),
    ]  # fmt: skip
    assert cuts[2]["sum_weights2"] == sum(n**2 for n in MORE)
    assert cuts[2]["weighted_step"]["value"] == sum(MORE) / sum(MANY)
    report = (tmp_path / "run/report.txt").read_text()
    head, *rows = str(cuts).splitlines()
    assert head.split() == [
        "path",
        "after",
        "events",
        "of",
        "the",
        "last",
        "of",
        "all",
        "weights",
        "of",
        "the",
        "last",
        "of",
        "all",
    ]
    assert len(rows) == 3
    assert all(row.split()[-8:] in map(_ends, report.splitlines()) for row in rows[1:])


def test_nothing_is_counted_where_that_is_switched_off(tmp_path: Path) -> None:
    ended = forkrun("run", job(tmp_path, cutflow=False), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    flow = Result.read(tmp_path / "run").cutflow
    assert flow == {}
    assert (
        str(flow)
        == repr(flow)
        == ("no cutflow: no path has a filter, or the job does not count (monitoring.cutflow)")
    )
    assert flow.records() == []
    assert "Path" not in ended.out
    assert "Cutflow" not in (tmp_path / "run/report.txt").read_text()


def test_a_weight_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    ended = forkrun("check", job(tmp_path, cutflow_weight="genWeigth"), cwd=tmp_path)
    assert ended.code == 2
    assert "monitoring.cutflow_weight" in ended.err


def _ends(line: str) -> list[str]:
    return line.split()[-8:]
