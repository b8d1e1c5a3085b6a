"""What analyzers accumulate does not depend on children, units, deaths or resumes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forkrun.errors import InputError
from forkrun.histograms.accumulators.finished import encode_part, merge_parts, read_part
from forkrun.histograms.accumulators.totals import Total, add, decode, encode, total_of
from forkrun.parent.result import Result
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, write_job

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=5)
VALUES = st.recursive(
    st.integers() | FLOATS | st.sets(st.integers()) | st.lists(PLAIN, max_size=4),
    lambda parts: st.dictionaries(st.text(max_size=3), parts, max_size=4),
    max_leaves=8,
)


def summed(values: list[Any]) -> Total:
    totals: dict[str, Total] = {}
    for value in values:
        add(totals, "x", total_of(value))
    return totals["x"]


@given(st.lists(FLOATS, min_size=1), st.randoms())
def test_sums_are_exact_in_any_order(values: list[float], random: Any) -> None:
    try:
        exact: Any = math.fsum(values)
    except OverflowError:  # in between: the sum itself may be finite
        return
    mixed = random.sample(values, len(values))
    assert summed(mixed).result() == exact
    cut = random.randrange(len(values))
    parts = [mixed[:cut], mixed[cut:]]
    units = [decode(json.loads(json.dumps(encode(summed(part))))) for part in parts if part]
    totals: dict[str, Total] = {}
    for unit in units:
        add(totals, "x", unit)
    assert totals["x"].result() == exact


@given(
    hnp.arrays(np.float64, st.integers(0, 30), elements=FLOATS)
    | hnp.arrays(np.float32, st.integers(0, 30))
    | hnp.arrays(hnp.integer_dtypes(endianness="="), st.integers(0, 30))
    | hnp.arrays(hnp.unsigned_integer_dtypes(endianness="="), st.integers(0, 30))
    | hnp.arrays(np.bool_, st.integers(0, 30))
)
def test_an_array_is_the_sum_of_its_elements(values: Any) -> None:
    each = summed([0.0 if values.dtype.kind == "f" else 0, *values.tolist()])
    assert total_of(values).result() == each.result()
    assert total_of(values).result() == summed([values[:3], values[3:]]).result()


@pytest.mark.slow
@given(VALUES)
def test_a_value_comes_back_from_its_file(value: Any) -> None:
    data = json.loads(json.dumps(encode(total_of(value)), allow_nan=False))
    assert decode(data).result() == total_of(value).result()


def test_kinds_are_merged_as_a_physicist_expects() -> None:
    assert summed([1, 2]).result() == 3
    assert type(summed([1, 2]).result()) is int
    assert summed([1, 0.5]).result() == 1.5
    assert summed([{"b": 1}, {"a": 2, "b": 3}]).result() == {"a": 2, "b": 4}
    assert list(summed([{"b": 1}, {"a": 2}]).result()) == ["a", "b"]
    assert summed([{3, 1}, {2, 1}]).result() == [1, 2, 3]
    assert summed([{(1, 2)}, {(1, 1)}]).result() == [[1, 1], [1, 2]]
    assert summed([[3], [1, 3]]).result() == [3, 1, 3]
    assert summed([math.inf, 1.0]).result() == "inf"
    assert summed([math.inf, -math.inf]).result() == "nan"
    assert summed([1e308, 1e308]).result() == "inf"
    assert summed([1e308, 1e308, -1e308]).result() == 1e308


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, [2]], "accumulator 'x' is a number, not a list"),
        ([{"a": 1}, {"a": {1}}], "accumulator 'a' is a number, not a set"),
        ([{1: 2}], "texts: str(1)"),
        ([[math.nan]], "nan is not a JSON number"),
        ([object()], "a object cannot be accumulated"),
        ([[object()]], "its parts are numbers"),
    ],
)
def test_what_cannot_be_accumulated_is_said(values: list[Any], words: str) -> None:
    with pytest.raises(TypeError) as error:
        summed(values)
    assert words in str(error.value)


@pytest.mark.parametrize("text", ["{}", "[1]", '[["m", "x", {"number": [1]}]]', "[[", '{"a": 1}'])
def test_a_file_of_another_form_is_an_input_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "accumulators.json"
    file.write_text(text)
    if text == "{}":
        assert read_part(file) == {}
        return
    with pytest.raises(InputError, match="these are not the accumulators of a unit"):
        read_part(file)


def test_lists_are_joined_in_the_order_of_the_files(tmp_path: Path) -> None:
    files = [tmp_path / "1", tmp_path / "2"]
    for n, file in enumerate(files):
        file.write_bytes(b"".join(encode_part({0: {"m": {"x": total_of([n])}}})))
    assert merge_parts(files)[0]["m"]["x"].result() == [0, 1]


MODULE = """
import awkward as ak
import numpy as np
import forkrun

class Extreme:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def merge(self, other):
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def to_json(self):
        return {"low": self.low, "high": self.high}

    @classmethod
    def from_json(cls, state):
        return cls(state["low"], state["high"])

class Sums(forkrun.Analyzer):
    consumes = ("Jet_pt",)

    def analyze(self, block):
        self.accumulate("n_events", len(block))
        self.accumulate("pt", block["Jet_pt"] / np.float64(3))
        self.accumulate("inverse", 1 / block.events)
        self.accumulate("lumis", {str(lumi): 1 for lumi in block.lumis})
        self.accumulate("modulo", {event % 7 for event in block.events.tolist()})
        self.accumulate("events", block.events.tolist())
        self.accumulate("extreme", Extreme(int(min(block.events)), int(max(block.events))))
"""
N_EVENTS = 240


def job(folder: Path, module: str = MODULE, **sections: Any) -> Path:
    write_events(folder / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    (folder / "mine.py").write_text(module)
    modules = [{"label": "sums", "type": "python:mine.py:Sums"}]
    return write_job(folder, {"source": {"files": ["a.root"]}, "modules": modules, **sections})


def result_of(folder: Path, name: str) -> dict[str, Any]:
    return Result.read(folder / name).accumulators["sums"]


def _jet_pts() -> list[float]:
    events = range(1, N_EVENTS + 1)
    return [10.0 * (jet + 1) + event % 7 for event in events for jet in range(event % 5)]


def expected() -> dict[str, Any]:
    return {
        "n_events": N_EVENTS,
        "pt": math.fsum(pt / 3 for pt in _jet_pts()),
        "inverse": math.fsum(1 / event for event in range(1, N_EVENTS + 1)),
        "modulo": list(range(7)),
        "events": list(range(1, N_EVENTS + 1)),
        "extreme": {"low": 1, "high": N_EVENTS},
    }


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("children", "more"), [(0, ()), (1, ()), (3, ()), (2, ("threads.block_size=7",))]
)
def test_results_are_the_same_in_every_layout(
    tmp_path: Path, children: int, more: tuple[str, ...]
) -> None:
    settings = [word for text in more for word in ("--set", text)]
    file = job(tmp_path)
    ended = forkrun("run", file, "-o", "run", "--children", children, *settings, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert str(tmp_path / "run/output/accumulators.json") in ended.out
    found = result_of(tmp_path, "run")
    assert {key: found[key] for key in expected()} == expected()


def test_a_child_that_dies_and_a_parent_that_dies_change_nothing(tmp_path: Path) -> None:
    file = job(tmp_path)
    faults = [
        {"fault": "SIGKILL", "at": "before_rename"},
        {"fault": "SIGKILL", "at": "after_rename"},
        {"fault": "kill_parent", "at": "after_ledger", "unit": 12},
    ]
    command = ("run", file, "-o", "run", "--children", "2", "-q")
    chaos = environment(FORKRUN_CHAOS=json.dumps(faults))
    more = ("--set", "forking.max_unit_events=10", "--set", "threads.block_size=5")
    forkrun(*command, *more, cwd=tmp_path, env=chaos)
    ended = forkrun(*command, *more, cwd=tmp_path)
    assert ended.code == 0, ended.err
    found = result_of(tmp_path, "run")
    assert {key: found[key] for key in expected()} == expected()


def test_a_merge_without_the_modules_leaves_objects_to_resume(tmp_path: Path) -> None:
    file = job(tmp_path)
    assert forkrun("run", file, "-o", "run", "--children", 1, "--no-merge", cwd=tmp_path).code == 0
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 5
    assert "the class Extreme of an accumulator is not known here; forkrun resume" in ended.err
    ended = forkrun("resume", "run", "--set", "merge.enabled=true", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert result_of(tmp_path, "run")["extreme"] == {"low": 1, "high": N_EVENTS}


def test_a_hook_that_fails_is_said_with_the_users_line(tmp_path: Path) -> None:
    file = job(tmp_path, MODULE.replace("min(self.low, other.low)", "min(self.low, other.lo)"))
    ended = forkrun("run", file, "-o", "run", "--children", 1, "-q", cwd=tmp_path)
    assert ended.code == 5
    assert "has no attribute 'lo'" in ended.err
    assert f"{tmp_path / 'mine.py'}, line 11, in merge" in ended.err


PROGRAM = """
job = forkrun.Job("a.root")
job.path("p").analyzer(Sums, label="sums")
job.run()
"""


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("submitted", ["job.json", "program.py"])
def test_objects_are_merged_wherever_their_class_is_defined(tmp_path: Path, submitted: str) -> None:
    """In a file beside the configuration, or in the program that runs or submits the job."""
    job(tmp_path).rename(tmp_path / "job.json")
    (tmp_path / "program.py").write_text(MODULE + PROGRAM)
    assert forkrun("run", submitted, "-o", "one", "-q", cwd=tmp_path).code == 0
    shape = ("--on", "local", "--nodes", 2, "--dry-run", "-o", "many")
    commands = [("submit", submitted, *shape), *(("node", "many", n) for n in range(2))]
    for command in (*commands, ("collect", "many", "-q")):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 0, ended.err
    expected = {"low": 1, "high": N_EVENTS}
    assert [result_of(tmp_path, run)["extreme"] for run in ("one", "many")] == [expected, expected]
