"""Paths that go on behind others, and modules in C++, of jobs that are built in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import forkrun
from forkrun.errors import ConfigError
from tests.support.files import write_events

N_EVENTS = 1000
PLUGINS = {"plugins": ["forkrun_modules"]}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_events(tmp_path / "a.root", [(1, 1, N_EVENTS)])


def run(job: forkrun.Job, children: int = 0) -> forkrun.Result:
    return job.run(children=children, quiet=True, output="run", force=True)


def test_paths_go_on_behind_a_common_selection_whose_filters_run_once(file: Path) -> None:
    calls = []
    job = forkrun.Job(file)
    presel = job.path("presel")

    @presel.filter
    def two_jets(events: Any) -> Any:
        calls.append(len(events))
        return events.nJet >= 2

    presel.hist("nJet", (5, 0, 5))
    signal, control = presel.path("signal"), presel.path("control")
    signal.filter("nJet >= 3", label="three").hist("nJet", (5, 0, 5)).output("signal_events")
    control.filter("nJet < 3", label="few").hist("nJet", (5, 0, 5))
    tight = signal.path("tight").filter("nJet >= 4", label="four")
    tight.output("tight_events")
    presel.filter("event > 100", label="late")  # behind where the others go on
    result = run(job)
    labels = {path: [cut["after"] for cut in cuts] for path, cuts in result.cutflow.items()}
    assert labels == {
        "presel": ["", "two_jets", "late"],
        "signal": ["", "two_jets", "three"],
        "control": ["", "two_jets", "few"],
        "tight": ["", "two_jets", "three", "four"],
    }
    counts = np.bincount(np.arange(1, N_EVENTS + 1) % 5)
    values = {key: h.values().tolist() for key, h in result.histograms.items()}
    assert values["presel_nJet/nJet"] == [0, 0, *counts[2:]]
    assert values["signal_nJet/nJet"] == [0, 0, 0, *counts[3:]]
    assert values["control_nJet/nJet"] == [0, 0, counts[2], 0, 0]
    assert result.cutflow["tight"][-1]["n_events"] == counts[4]
    assert sum(calls) == N_EVENTS  # what finds out which columns it reads leaves no trace


def test_the_same_name_is_the_same_path_and_another_place_is_refused(file: Path) -> None:
    job = forkrun.Job(file)
    presel = job.path("presel").filter("nJet > 1")
    assert presel.path("signal") is presel.path("signal")
    with pytest.raises(ConfigError, match='path "signal" begins after "presel"; give the new one'):
        job.path("signal")
    with pytest.raises(ConfigError, match='path "presel" begins with all events; give the new one'):
        presel.path("signal").path("presel")
    assert presel.path("signal").filter("nJet > 2").labels == ["filter1", "filter2"]


def test_a_job_with_a_tree_of_paths_is_written_as_a_configuration(file: Path) -> None:
    job = forkrun.Job(file)
    presel = job.path("presel").filter("nJet > 1", label="two")
    presel.path("signal").filter("nJet > 2", label="three").output("skim")
    (file.parent / "job.toml").write_text(job.to_toml())
    loaded = forkrun.load("job.toml").config
    assert loaded.paths == {"presel": ("two",), "signal": ("two", "three")}


def test_columns_of_modules_in_cpp_are_known_to_functions_and_expressions(file: Path) -> None:
    job = forkrun.Job(file, job=PLUGINS)
    job.add("cpp:BootstrapWeights", n=3)
    job.filter(lambda events: ak.num(events.BootstrapWeight) == 3, label="three")
    job.define("total", "sum(BootstrapWeight)")
    job.hist("total", (20, 0, 20)).hist("BootstrapWeight", (10, 0, 10), weight="total")
    result = run(job, children=1)
    weights = result.histograms["BootstrapWeight"].values(flow=True).sum()
    totals = result.histograms["total"].values(flow=True)
    assert totals.sum() == N_EVENTS
    assert weights == 3 * (totals * np.arange(-1, 21)).sum()  # once for each of the three
    assert result.cutflow["main"][-1]["n_events"] == N_EVENTS


def with_muons(job: Any) -> Any:
    """Columns of Python's that those in C++ read."""
    job.define("Muon_pt", lambda events: events.Jet_pt)
    job.define("Muon_eta", lambda events: ak.values_astype(0 * events.Jet_pt, np.float32))
    job.define("Muon_phi", lambda events: ak.values_astype(0 * events.Jet_pt, np.float32))
    job.define(
        "Muon_charge",
        lambda events: ak.values_astype(1 - 2 * (ak.local_index(events.Jet_pt) % 2), np.int32),
    )
    return job


def test_columns_that_python_makes_feed_one_in_cpp_whose_columns_python_reads(file: Path) -> None:
    job = with_muons(forkrun.Job(file, job=PLUGINS))
    job.add("cpp:DimuonMass", label="dimuon", pt_min=15.0)
    job.hist("GoodMuon_pt", (40, 0, 100))
    job.hist("ceil(Dimuon_mass)", (3, -2, 1), name="mass")
    result = run(job)
    pts = [10 * (j + 1) + n % 7 for n in range(1, N_EVENTS + 1) for j in range(n % 5)]
    assert result.histograms["GoodMuon_pt"].sum(flow=True).value == sum(pt > 15 for pt in pts)
    assert result.histograms["mass"].sum(flow=True).value == N_EVENTS


def test_filters_in_cpp_are_on_their_path_and_common_to_those_behind(file: Path) -> None:
    job = forkrun.Job(file, job=PLUGINS)
    presel = with_muons(job).path("presel")
    presel.add("cpp:TwoMuons", label="two")
    presel.add("cpp:DimuonMass", label="mass")
    presel.path("signal").hist("nJet", (5, 0, 5))
    assert job.config.paths == {"presel": ("two",), "signal": ("two", "signal_nJet")}
    n = sum(n % 5 >= 2 for n in range(1, N_EVENTS + 1))
    assert run(job).histograms["nJet"].sum().value == n


def test_what_is_no_class_in_cpp_is_said(file: Path) -> None:
    job = forkrun.Job(file, job=PLUGINS)
    with pytest.raises(ConfigError, match="takes a class in C"):
        job.add("DimuonMass")
    job.add("cpp:DimuonMas")
    with pytest.raises(ConfigError, match='module class "DimuonMas"; did you'):
        run(job)


def test_calls_go_on_along_the_path_and_decorators_leave_functions_as_they_are(file: Path) -> None:
    job = forkrun.Job(str(file))
    path = job.path("p")

    def cut(block):  # type: ignore[no-untyped-def]
        return block.event > 1

    def column(block):  # type: ignore[no-untyped-def]
        return 2 * block.event

    assert (
        path.filter(lambda block: block.event > 2).hist(
            lambda block: block.event, (5, 0, 5), name="h"
        )
        is path
    )
    assert path.filter(cut, label="again") is cut
    assert path.hist(cut, (2, 0, 2), name="n") is path
    assert job.define("x", cut).redefine("x", lambda block: block.event) is job
    for decorate in (path.filter, path.filter(label="other"), path.hist((2, 0, 2), name="m")):
        assert decorate(cut) is cut
    for decorate in (path.define, job.redefine(on_data=True)):
        assert decorate(column) is column
