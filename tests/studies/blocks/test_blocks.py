"""Modules whose results depend on blocks are named, with the first event; others are not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.config.model import JobConfig
from forkrun.studies.blocks.layouts import (
    Column,
    EventIds,
    Layout,
    filter_outputs,
    first_decision,
    first_difference,
    first_place,
    layouts,
)
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.files import write_events
from tests.support.jobs import ROOT, Ended, environment, forkrun, write_job

HERE = Path(__file__).resolve().parent
RIGHT = {"jets": "CountJets", "smear": "Smear", "by_lumi": "LumiMean", "two": "TwoJets",
         "plot": "Plot"}  # fmt: skip


def check(folder: Path, modules: dict[str, str], path: Sequence[str], *options: str) -> Ended:
    """The command, for 60 events of three lumis. `modules`: classes by label."""
    file = write_events(folder / "a.root", [(1, 1, 30), (1, 2, 10), (2, 1, 20)])
    params = {"normal": {"normalise": True}}
    job: dict[str, Any] = {
        "source": {"files": [str(file)]},
        "modules": [
            {"label": label, "type": f"python:{HERE / 'modules.py'}:{name}",
             "params": params.get(label, {})}
            for label, name in modules.items()
        ],
        "paths": {"filter0": list(path)},
        "outputs": [{"label": "events", "paths": ["filter0"]}],
    }  # fmt: skip
    return forkrun("check", "--blocks", *options, write_job(folder, job), cwd=folder)


@pytest.mark.long
def test_modules_that_see_events_one_by_one_pass(tmp_path: Path) -> None:
    ended = check(tmp_path, RIGHT, ["two", "plot"])
    assert ended.code == 0, ended.err
    words = "blocks of 1 event (60 events); blocks of 7 events (60 events);"
    assert f"no result depends on blocks: large ones compared with {words}" in ended.out


@pytest.mark.long
def test_each_module_that_uses_the_whole_block_is_named_with_its_first_event(
    tmp_path: Path,
) -> None:
    wrong = {"share": "JetShare", "noise": "SequentialNoise", "late": "LateHalf", "normal": "Plot"}
    ended = check(tmp_path, {**RIGHT, **wrong}, ["two", "plot", "late", "normal"], "--events", "40")
    assert ended.code == 6
    lines = [line.strip() for line in ended.err.splitlines() if 'module "' in line]
    lines = [line for line in lines if "warning: " not in line]
    of_one = "(blocks of 1 event)"
    assert [line.removeprefix("forkrun: ") for line in lines] == [
        f'module "share": column share differs from event 1:1:1 on {of_one}',
        f'module "late": its decision differs from event 1:1:1 on {of_one}',
        f'module "normal": histogram events differs from event 1:1:3 on {of_one};'
        ' this may follow from "late"',
        'module "noise": column noise differs from event 1:1:21 on'
        " (blocks of 1,000 events in 2 children)",
    ]
    assert "use events.random" in ended.err


@pytest.mark.slow
def test_columns_of_modules_in_cpp_are_those_that_each_makes(tmp_path: Path) -> None:
    """Whatever their order in the alphabet."""
    (file,) = write_sample(tmp_path / "a.root", SampleSettings(10, 1, 1))
    modules = [
        {"label": "smear", "type": "cpp:MuonSmearing"},
        {"label": "jets", "type": f"python:{HERE / 'modules.py'}:CountJets"},
        {"label": "dimuon", "type": "cpp:DimuonMass"},
        {"label": "two", "type": "cpp:TwoMuons"},
    ]
    job = {
        "job": {"plugins": ["forkrun_modules"]},
        "source": {"files": [str(file)]},
        "forking": {"children": 1},
        "modules": modules,
        "paths": {"p": ["two"]},
    }
    program = (
        "import json, sys; from forkrun.config.read import validate;"
        "from forkrun.parent.preparation import prepare;"
        "found = prepare(validate(json.load(sys.stdin), 'job')).schedule.columns_of;"
        "print(json.dumps({label: sorted(names) for label, names in found.items()}))"
    )
    # A process of its own: what it calls modules in is a fork, and pytest has threads.
    ended = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(job), env=environment(),
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "smear": ["SmearedMuon_pt"],
        "jets": ["Hard_pt", "n_jets"],
        "dimuon": ["Dimuon_mass", "GoodMuon_pt"],
    }


def test_a_module_that_fails_in_one_layout_says_in_which(tmp_path: Path) -> None:
    ended = check(tmp_path, {"several": "NeedsSeveral"}, ["several"])
    assert ended.code == 5
    assert "blocks of 1 event, the first 60 events" in ended.err
    assert "two events are needed" in ended.err


@pytest.mark.parametrize("options", [["--events", "0"], ["--set", "source.only=['1:1:1']"]])
def test_wrong_wishes_are_errors(tmp_path: Path, options: list[str]) -> None:
    assert check(tmp_path, {"jets": "CountJets"}, [], *options).code == 2


def test_events_are_for_blocks_alone(tmp_path: Path) -> None:
    job = write_job(tmp_path, {})
    ended = forkrun("check", job, "--events", "10", cwd=tmp_path)
    assert (ended.code, "--blocks" in ended.err) == (2, True)


def test_few_events_are_compared_in_the_smallest_blocks() -> None:
    assert layouts(20_000) == [Layout(100, 1), Layout(2_000, 7), Layout(20_000, 1_000, 2)]
    assert layouts(50) == [Layout(50, 1), Layout(50, 7), Layout(50, 1_000, 2)]
    assert layouts(1) == []


def test_paths_of_the_job_keep_their_names() -> None:
    config = JobConfig(paths={"filter0": ("a",), "filter_": ("b",)})
    names = filter_outputs(config, ["a", "b"])
    assert not set(names.values()) & set(config.paths)
    assert len(set(names.values())) == 2


columns = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=8)


def jagged(rows: list[list[int]]) -> Column:
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    return offsets, np.array([value for row in rows for value in row], dtype=np.float32)


@given(columns, columns)
def test_the_first_event_that_differs_is_found(
    one: list[list[int]], other: list[list[int]]
) -> None:
    n = min(len(one), len(other))
    expected = next((i for i in range(n) if one[i] != other[i]), None)
    assert first_difference(jagged(one[:n]), jagged(other[:n])) == expected


def test_values_are_compared_bit_by_bit() -> None:
    nan = np.array([1.0, np.nan, 0.0])
    assert first_difference(nan, nan.copy()) is None
    assert first_difference(nan, np.array([1.0, np.nan, -0.0])) == 2


def ids_of(numbers: Sequence[int]) -> EventIds:
    return np.array([(1, 1, number) for number in numbers], dtype=np.uint64).reshape(-1, 3)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=9))
def test_the_first_event_that_is_decided_otherwise_is_found(
    decisions: list[tuple[bool, bool]],
) -> None:
    one, other = (
        ids_of([n for n, both in enumerate(decisions) if both[which]]) for which in (0, 1)
    )
    expected = next((n for n, (a, b) in enumerate(decisions) if a != b), None)
    assert first_decision(one, other, ids_of(range(len(decisions)))) == expected


@given(st.integers(1, 5_000), st.data())
def test_the_first_place_is_found_in_few_trials(n_events: int, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, n_events - 1))
    tried: list[int] = []

    def differs(n: int) -> bool:
        tried.append(n)
        return n > place

    assert first_place(differs, n_events) == place
    assert len(tried) <= 2 * np.log2(place + 1) + 2
