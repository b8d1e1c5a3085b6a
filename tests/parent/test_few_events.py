"""Modules in Python that get few events in a call: why, and at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun.config.model import JobConfig
from forkrun.config.read import validate
from forkrun.parent.calls import Calls, CallWatch
from forkrun.plan.cuts import Cuts
from forkrun.plan.model import Plan, Units
from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job

MODULE = """
import forkrun

class Lumis(forkrun.Analyzer):
    consumes = ("Jet_pt",)
    one_lumi = True

    def analyze(self, block):
        pass
"""


def lumi_by_lumi(folder: Path, n_lumis: int, n_events: int) -> Path:
    (folder / "lumis.py").write_text(MODULE)
    write_events(folder / "a.root", [(1, lumi, n_events) for lumi in range(1, n_lumis + 1)])
    modules = [{"label": "by_lumi", "type": "python:lumis.py:Lumis"}]
    paths = {"main": ["by_lumi"]}
    return write_job(folder, {"source": {"files": ["a.root"]}, "modules": modules, "paths": paths})


def test_check_plan_run_and_report_say_which_module_makes_calls_small(tmp_path: Path) -> None:
    job = lumi_by_lumi(tmp_path, 250, 2)
    what = 'module "by_lumi" gets 2 events in a call, 250 calls for 500 events: the fixed cost'
    why = 'lumis come one by one, as "by_lumi" has one_lumi or callbacks of lumis or runs, and they'
    for command in ("check", "plan", "run"):
        ended = forkrun(command, job, *(["--children", "1"] * (command == "run")), cwd=tmp_path)
        assert ended.code == 0
        assert ended.err.count(what) == 1
        assert f"{why} have 2 events on average; do without" in ended.err
    warnings = json.loads((tmp_path / "job-run/report.json").read_text())["warnings"]
    assert [what in text and why in text for text in warnings] == [True]
    assert forkrun("check", job, "--strict", cwd=tmp_path).code == 2
    (tmp_path / "lumis.py").write_text(MODULE.replace("True", '"job"'))
    assert "modules in Python get 2 events in a call" in forkrun("check", job, cwd=tmp_path).err


def test_calls_of_many_events_are_no_warning(tmp_path: Path) -> None:
    job = lumi_by_lumi(tmp_path, 20, 2)  # few calls
    ended = forkrun("run", job, "--children", "1", cwd=tmp_path)
    assert (ended.code, "get 2 events" in ended.err) == (0, False)
    assert json.loads((tmp_path / "job-run/report.json").read_text())["warnings"] == []


def plan_of(
    n_events: list[int],
    files: list[int],
    children: list[int] | None = None,
    datasets: tuple[int, ...] = (),
) -> Plan:
    """A unit for each of these, of a lumi of its own. `datasets`: of the files, if any."""
    n = len(n_events)
    units = Units(
        np.array(children or [-1] * n), np.ones(n, np.int64), np.arange(n) + 1,
        np.arange(n + 1), np.array(files), np.zeros(n, np.int64), np.array(n_events),
    )  # fmt: skip
    names = tuple(f"{number}.root" for number in range(max(files) + 1))
    return Plan("guided", 1, sum(n_events), n, names, units, "", datasets=datasets)


def config(**sections: Any) -> JobConfig:
    return validate({"source": {"files": ["a.root"]}, **sections}, "job")


DATASETS = [{"name": f"d{n}", "files": [f"{n}.root"]} for n in range(300)]


@pytest.mark.parametrize(
    ("sections", "iovs", "plan", "words"),
    [
        (
            {"threads": {"block_size": 100}},
            None,
            plan_of([50_000], [0]),
            "get 100 events in a call, 500 calls for 50,000 events: the fixed cost of a"
            " call will be most of the time: threads.block_size = 100 says so; leave it out",
        ),
        ({}, None, plan_of([1] * 16_000, list(range(16_000))), "files have 1 event on average"),
        (
            {"datasets": DATASETS},
            None,
            plan_of([9] * 300, list(range(300)), datasets=tuple(range(300))),
            "each of 300 datasets has 9",
        ),
        (
            {},
            np.arange(400),
            plan_of([3] * 400, [0] * 400),
            "conditions change: they have 400 intervals",
        ),
        (
            {"forking": {"distribution": "round-robin", "events_per_turn": 10, "children": 2}},
            None,
            plan_of([10] * 400, [0] * 400, [0, 1] * 200),
            'forking.distribution = "round-robin" in turns of 10 events gives them to another',
        ),
    ],
)
def test_the_cause_is_what_makes_calls_small(
    sections: dict[str, Any], iovs: Any, plan: Plan, words: str
) -> None:
    cuts = Cuts.of(config(**sections), plan, iovs, [])
    assert words in cuts.warning()


def test_a_plan_without_events_has_no_calls_of_few() -> None:
    zero, none = np.zeros(1, np.int64), np.zeros(0, np.int64)
    units = Units(zero, zero, zero, np.zeros(2, np.int64), none, none, none)
    plan = Plan("guided", 1, 0, 0, ("a.root",), units, "")
    assert Cuts.of(config(), plan, None, []).warning() == ""


def test_scattered_lumis_are_named() -> None:
    plan = plan_of([2] * 300, [0] * 300)
    scattered = Plan("guided", 1, 600, 100, plan.files, plan.units, "", n_pieces=300)
    cuts = Cuts.of(config(), scattered, None, ["a", "b"])
    assert cuts.warning().startswith('modules "a" and "b" get 2 events in a call, 300 calls for')
    assert 'as "a" and "b" has one_lumi' in cuts.warning()
    assert "in 300 pieces: they are scattered over the input" in cuts.warning()
    assert (cuts.n_calls, cuts.few) == (1, "2 events")
    assert Cuts.of(config(), scattered, None, []).warning() == ""
    of_all = Cuts.of(config(), scattered, None, ["a"], one_lumi=True)
    assert of_all.warning().startswith("modules in Python get 2 events in a call, 300 calls for")


@pytest.mark.parametrize(
    ("calls", "is_end", "text"),
    [
        (Calls(10_000, 400, 7.0, 6.0, 2), False, "86 % of the event loops' time is the fixed cost"),
        (Calls(10_000, 400, 5.0, 4.5, 2), False, ""),  # the first calls of each may cost more
        (Calls(10_000, 400, 7.0, 3.0, 2), False, ""),
        (Calls(10_000, 400, 7.0, 6.0, 2), True, ""),  # a short job
        (Calls(4_000, 400, 30.0, 0.0, 2), False, "probably most of the event loops' time"),
        (Calls(4_000_000, 400, 30.0, 0.0, 2), True, ""),
        (Calls(9_000, 3, 30.0, 29.0, 1), True, "9.67 s a call of 3,000 events; larger blocks need"),
    ],
)
def test_what_children_measure_is_said_as_soon_as_it_is_sure(
    calls: Calls, is_end: bool, text: str
) -> None:
    said: list[str] = []
    watch = CallWatch(None, lambda warning, few: said.append(f"{warning} | {few}"))
    watch.look(calls, is_end)
    watch.look(calls, is_end)
    assert len(said) == bool(text)
    assert text in "".join(said)
    if said and calls.n_calls == 400:
        assert said[0].endswith(f"| {calls.n_events // 400} events a call")
