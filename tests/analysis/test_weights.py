"""Every kind of value with every kind of weight: what a plain program fills."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import pytest
import uproot

import forkrun
from tests.analysis.objects_file import write_objects
from tests.support.jobs import environment

QUIET: dict[str, Any] = {"quiet": True, "plots": False}
M_AXIS, P_AXIS = (
    hist.axis.Regular(7, 0, 120, name="met"),
    hist.axis.Regular(5, 10, 20, name="muon"),
)
VALUES: dict[str, tuple[Any, tuple[Any, ...], Callable[[Any], Any]]] = {
    "column": ("MET_pt", (M_AXIS,), lambda e: [e.MET_pt]),
    "expression": ("2 * MET_pt", (M_AXIS,), lambda e: [2 * e.MET_pt]),
    "constant": ("30", (M_AXIS,), lambda e: [30 + 0 * e.MET_pt]),
    "function": (lambda e: e["MET_pt"] + 1, (M_AXIS,), lambda e: [e.MET_pt + 1]),
    "awkward": (lambda e: ak.firsts(e["Muon_pt"]), (P_AXIS,), lambda e: [ak.firsts(e.Muon_pt)]),
    "lists": ("Muon_pt", (P_AXIS,), lambda e: [e.Muon_pt]),
    "lists_of_a_function": (lambda e: e.Muon.pt, (P_AXIS,), lambda e: [e.Muon_pt]),
    "two_axes": ("MET_pt, genWeight", (M_AXIS, P_AXIS), lambda e: [e.MET_pt, e.genWeight]),
    "lists_and_numbers": (
        "Muon_pt, MET_pt",
        (P_AXIS, M_AXIS),
        lambda e: [e.Muon_pt, e.MET_pt],
    ),
    "tuple": (
        lambda e: (e.Muon.pt, e.MET.pt),
        (P_AXIS, M_AXIS),
        lambda e: [e.Muon_pt, e.MET_pt],
    ),
}
WEIGHTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "none": (None, lambda e: 1 + 0 * e.genWeight),
    "column": ("genWeight", lambda e: e.genWeight),
    "expression": ("2.0 * genWeight", lambda e: 2 * e.genWeight),
    "constant": ("1.5", lambda e: 1.5 + 0 * e.genWeight),
    "function": (lambda e: 3 * e["genWeight"], lambda e: 3 * e.genWeight),
    "scalar": (lambda e: 0.25, lambda e: 0.25 + 0 * e.genWeight),
    "integer": (2, lambda e: 2 + 0 * e.genWeight),
    "number": (2.5, lambda e: 2.5 + 0 * e.genWeight),
    "numpy": (np.float32(0.5), lambda e: 0.5 + 0 * e.genWeight),
    "lists": ("Muon_eta", lambda e: e.Muon_eta),
    "lists_of_a_function": (lambda e: e.Muon.eta + 1, lambda e: e.Muon_eta + 1),
}
OF_ONE_VALUE = ("column", "expression", "constant", "function", "awkward", "two_axes")
PAIRS = [
    pair
    for pair in itertools.product(VALUES, WEIGHTS)
    if not (pair[1].startswith("lists") and pair[0] in OF_ONE_VALUE)
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    return write_objects(tmp_path / "objects.root")


def filled_plainly(axes: Any, columns: list[Any], weight: Any) -> Any:
    made = hist.Hist(*axes, storage=hist.storage.Weight())
    *columns, weight = (ak.to_list(each) for each in (*columns, weight))
    entries: list[list[float]] = []
    for event in zip(*columns, weight, strict=True):
        n = max((len(each) for each in event if isinstance(each, list)), default=1)
        for entry in range(n):
            *x, w = (each[entry] if isinstance(each, list) else each for each in event)
            if None not in x:
                entries.append([*x, w])
    *xs, ws = np.array(entries).reshape(-1, len(axes) + 1).T
    made.fill(*xs, weight=ws)
    return made


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 1])
def test_every_value_with_every_weight_is_what_a_plain_program_fills(
    file: Path, children: int
) -> None:
    job = forkrun.Job(file, forking={"distribution": "lumi"})
    for value, weight in PAIRS:
        what, axes, _ = VALUES[value]
        job.hist(what, *axes, name=f"{value}_by_{weight}", weight=WEIGHTS[weight][0])
    histograms = job.run(children=children, **QUIET).histograms
    events = uproot.open(file)["Events"].arrays()
    for value, weight in PAIRS:
        _, axes, columns = VALUES[value]
        right = filled_plainly(axes, columns(events), WEIGHTS[weight][1](events)).view(flow=True)
        found = histograms[f"{value}_by_{weight}"].view(flow=True)
        np.testing.assert_allclose(found.value, right.value, rtol=1e-6, err_msg=f"{value} {weight}")
        np.testing.assert_allclose(found.variance, right.variance, rtol=1e-6, atol=1e-12)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("value", OF_ONE_VALUE)
@pytest.mark.parametrize("weight", ["lists", "lists_of_a_function"])
def test_a_list_of_weights_for_one_value_is_refused(file: Path, value: str, weight: str) -> None:
    what, axes, _ = VALUES[value]
    job = forkrun.Job(file).hist("MET_pt", (1, 0, 1), name="good")
    job.hist(what, *axes, name="bad", weight=WEIGHTS[weight][0])
    with pytest.raises(forkrun.JobError, match=r"hist_bad.*the weight has a list per event, and"):
        job.run(children=0, **QUIET)


@pytest.mark.parametrize("value", ["MET_pt", "Muon_pt", "function"])
def test_a_weight_for_each_variation_fills_each(file: Path, value: str) -> None:
    names = ["nominal", "up", "down"]
    job = forkrun.Job(file, forking={"distribution": "lumi"})

    def met(events: Any) -> Any:
        return (events["MET_pt"] if value == "function" else events[value]), names

    job.hist(
        met, M_AXIS, hist.axis.StrCategory(names, name="variation"), name="varied",
        weight=lambda events: events["genWeight"][:, None] * [1.0, 1.5, 0.5],
    )  # fmt: skip
    varied = job.run(children=0, **QUIET).histograms["varied"]
    events = uproot.open(file)["Events"].arrays()
    column = events["MET_pt" if value == "function" else value]
    for number, factor in enumerate((1.0, 1.5, 0.5)):
        right = filled_plainly([M_AXIS], [column], factor * events.genWeight)
        assert varied[:, number].view(flow=True).tolist() == right.view(flow=True).tolist()


@pytest.mark.parametrize(
    "weight", [True, float("nan"), 1j, [1.0, 2.0], np.ones(3), {"a": 1}, M_AXIS, set]
)
def test_what_is_no_weight_is_refused_with_the_kinds_allowed(file: Path, weight: Any) -> None:
    words = r'job.hist\("met", …\): weight takes an expression, a function or a finite number, not'
    with pytest.raises(forkrun.ConfigError, match=words):
        forkrun.Job(file).hist("MET_pt", (5, 0, 100), name="met", weight=weight)


@pytest.mark.parametrize("given", [{"what": lambda e: None}, {"weight": lambda e: None}])
def test_a_function_without_return_is_an_error(file: Path, given: dict[str, Any]) -> None:
    arguments = {"what": "MET_pt", "weight": None} | given
    job = forkrun.Job(file)
    job.hist(arguments["what"], (5, 0, 100), name="met", weight=arguments["weight"])
    with pytest.raises(
        forkrun.ForkrunError, match=r"hist_met.*returned None; `return` may be missing"
    ):
        job.run(children=0, **QUIET)


def test_two_names_that_differ_in_a_dash_are_two_functions(file: Path) -> None:
    job = forkrun.Job(file)
    job.hist(lambda e: e["MET_pt"], (1, 0, 1000), name="a-b")
    job.hist(lambda e: e["Muon_pt"], (1, 0, 1000), name="a_b")
    histograms = job.run(children=1, **QUIET).histograms
    assert histograms["a-b"].sum().value == 6
    assert histograms["a_b"].sum().value == 10


CONFIGURED = """
[source]
files = ["objects.root"]
[[modules]]
label = "met"
type = "expression:MET_pt"
kind = "histogram"
axes = [{ bins = 1, low = 0, high = 1000 }]
weight = 2.5
[paths]
main = ["met"]
"""


def test_a_configuration_takes_a_number_as_weight(file: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(CONFIGURED)
    result = forkrun.load("job.toml").run(children=1, **QUIET)
    assert result.histograms["met"].sum().value == 15
    same = forkrun.Job(file).hist("MET_pt", (1, 0, 1000), name="met", weight=2.5).to_toml()
    assert "weight = 2.5" in same
    (tmp_path / "job.toml").write_text(CONFIGURED.replace("2.5", "true"))
    with pytest.raises(forkrun.ConfigError, match="weight"):
        forkrun.load("job.toml")
