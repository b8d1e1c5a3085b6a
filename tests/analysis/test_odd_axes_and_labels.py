"""Axes that JSON and empty lists cannot tell, and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hist
import numpy as np
import pytest

import forkrun
from forkrun.config.modules import AxisConfig
from forkrun.config.read import validate
from tests.analysis.objects_file import N_MUONS, write_objects

QUIET: dict[str, Any] = {"quiet": True, "plots": False}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_objects(tmp_path / "objects.root")


@pytest.mark.parametrize("children", [0, 2])
def test_edges_may_be_infinite(file: Path, children: int) -> None:
    job = forkrun.Job(file)
    job.hist("nMuon", hist.axis.Variable([-np.inf, 1, 2, np.inf]), name="n")
    found = job.run(children=children, **QUIET).histograms["n"]
    wanted = np.histogram(N_MUONS, [-np.inf, 1, 2, np.inf])[0]
    assert found.values(flow=True).tolist() == [0, *wanted, 0]
    assert found.axes[0].edges.tolist() == [-np.inf, 1, 2, np.inf]


def test_an_infinite_edge_is_a_text_in_json_and_an_other_text_is_refused() -> None:
    axis = AxisConfig(edges=(0, float("inf")))
    assert axis.as_json()["edges"] == [0, "inf"]
    assert AxisConfig.checked({"edges": [0, "inf"]}) == axis
    with pytest.raises(ValueError, match="edges"):
        AxisConfig.checked({"edges": [0, "infinite"]})


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("children", [0, 2])
@pytest.mark.parametrize("known", [[], [2]])
def test_growing_categories_of_integers_are_integers(
    file: Path, children: int, known: list[int]
) -> None:
    job = forkrun.Job(file)
    job.hist("nMuon", hist.axis.IntCategory(known, growth=True), name="n")
    found = job.run(children=children, **QUIET).histograms["n"]
    counts = {int(found.axes[0].value(k)): n for k, n in enumerate(found.values().tolist())}
    assert counts == {n: N_MUONS.count(n) for n in set(N_MUONS)}


@pytest.mark.parametrize(
    "call",
    [
        lambda job: job.filter("nMuon > 1", label="2muons"),
        lambda job: job.define("n-muons?", "nMuon"),
        lambda job: job.hist("nMuon", (3, 0, 3), name="number of muons"),
        lambda job: job.path("two muons"),
        lambda job: job.output("two/muons"),
        lambda job: job.producer(lambda events: {}, label="2"),
        lambda job: job.analyzer(lambda events: None, label="a b"),
    ],
)
def test_a_name_that_is_none_is_told_when_the_call_is_made(file: Path, call: Any) -> None:
    with pytest.raises(forkrun.ConfigError, match=r"^(job|path)\.\w+\(.*takes a letter or _, then"):
        call(forkrun.Job(file))


def test_a_wrong_key_is_told_of_its_module_where_datasets_add_one() -> None:
    raw = {
        "datasets": [{"name": "dy", "files": ["a.root"], "cross_section": 1.0}],
        "job": {"luminosity": 1},
        "modules": [
            {"label": "two", "type": "cpp:A", "on_dat": True}, {"label": "three", "type": "cpp:B"},
        ],
    }  # fmt: skip
    with pytest.raises(forkrun.ConfigError) as error:
        validate(raw, "job.toml")
    assert str(error.value).startswith('job.toml: modules[0].on_dat (label "two"): unknown key')


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("Muon_pt > 20", "not one bool per event; use any(mask) or all(mask)"),
        ("nMuon", "not one bool per event; use a comparison such as n > 0"),
        ("MET_pt", "not one bool per event; use a comparison such as values > 30"),
    ],
)
@pytest.mark.parametrize("children", [0, 1])
def test_errors_of_expressions_advise_expressions(
    file: Path, text: str, remedy: str, children: int
) -> None:
    job = forkrun.Job(file).filter(text)
    with pytest.raises(forkrun.ForkrunError) as error:
        job.run(children=children, **QUIET)
    assert "TypeError: the expression returned" in str(error.value)
    assert remedy in str(error.value)


def test_errors_of_functions_advise_awkward(file: Path) -> None:
    job = forkrun.Job(file)
    job.filter(lambda events: events["Muon_pt"] > 20)
    with pytest.raises(forkrun.ForkrunError, match=r"use ak\.any\(mask, axis=1\)"):
        job.run(children=0, **QUIET)


def test_a_column_of_integers_that_may_be_missing_names_fill_none(file: Path) -> None:
    job = forkrun.Job(file)
    job.define("first", "argmax(Muon_pt)")
    job.output("o", keep=["first"])
    with pytest.raises(forkrun.ForkrunError, match=r"column 'first' has .* take fill_none\(…, 0\)"):
        job.run(children=0, **QUIET)


def _filter(job: forkrun.Job) -> None:
    @job.filter
    def ok(events: Any) -> Any:
        return events.nMuon > 1


def _define(job: forkrun.Job) -> None:
    job.define("ok", "nMuon * 2")


def _define_function(job: forkrun.Job) -> None:
    @job.define
    def ok(events: Any) -> Any:
        return events.nMuon * 2


def _analyzer(job: forkrun.Job) -> None:
    @job.analyzer(h=hist.Hist(hist.axis.Regular(9, 0, 9)))
    def ok(events: Any, h: Any) -> None:
        h.fill(events["ok"])


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("children", [0, 1])
@pytest.mark.parametrize(
    "parts",
    [
        (_filter, _define, _analyzer),
        (_define_function, _filter, _analyzer),
        (_define, _analyzer, _filter),
    ],
)
def test_filters_columns_and_analyzers_may_have_one_name(
    file: Path, children: int, parts: tuple[Any, ...]
) -> None:
    job = forkrun.Job(file)
    for add in parts:
        add(job)
    job.hist("ok", (9, 0, 9))
    result = job.run(children=children, **QUIET)
    is_after = parts.index(_filter) < parts.index(_analyzer)
    kept = [2 * n for n in N_MUONS if n > 1]
    counts = np.histogram(kept, 9, (0, 9))[0].tolist()
    every = np.histogram([2 * n for n in N_MUONS], 9, (0, 9))[0].tolist()
    assert result.histograms["ok"].values().tolist() == counts
    analyzed = next(h for name, h in result.histograms.items() if name.endswith("h"))
    assert analyzed.values().tolist() == (counts if is_after else every)
    assert [row["n_events"] for row in result.cutflow["main"]][-1] == len(kept)


def test_two_filters_of_one_name_are_an_error(file: Path) -> None:
    job = forkrun.Job(file)
    _filter(job)
    with pytest.raises(forkrun.ConfigError, match="is defined twice"):
        _filter(job)
