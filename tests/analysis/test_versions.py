"""Columns that are replaced and varied, in jobs of all forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun
from tests.analysis.objects_file import N_JETS, write_objects
from tests.support.jobs import environment
from tests.support.jobs import forkrun as command

QUIET: dict[str, Any] = {"quiet": True, "plots": False}
N_ALL = sum(N_JETS)
PT = np.arange(100, 100 + N_ALL)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    return write_objects(tmp_path / "objects.root")


AXIS = (20, 0, 1000)


def counts(values: Any, axis: tuple[int, float, float] = AXIS) -> list[float]:
    return np.histogram(values, axis[0], axis[1:])[0].tolist()  # type: ignore[no-any-return]


def test_those_behind_a_replacement_see_the_new_column(file: Path) -> None:
    job = forkrun.Job(file)
    job.hist("Jet_pt", AXIS, name="before")
    job.redefine("Jet_pt", "2 * Jet_pt")
    job.hist("Jet.pt", AXIS, name="between")

    @job.redefine
    def Jet_pt(block: Any) -> Any:  # noqa: N802 - the column's name
        return block["Jet_pt"] + block["Jet_pt@input"]

    job.hist("Jet_pt", AXIS, name="after").hist("Jet_pt@input", AXIS, name="old")
    job.output("events", keep=["run", "luminosityBlock", "event", "Jet_pt", "Jet_eta"])
    result = job.run(children=2, **QUIET)
    found = {name: h.values().tolist() for name, h in result.histograms.items()}
    assert found == {
        "before": counts(PT), "between": counts(2 * PT), "after": counts(3 * PT), "old": counts(PT),
    }  # fmt: skip
    tree = uproot.open(result.outputs["events"])["Events"]
    assert {branch.name for branch in tree.branches if "Jet" in branch.name} == {
        "nJet",
        "Jet_pt",
        "Jet_eta",
    }
    jets = tree.arrays(["Jet_pt", "Jet_eta"])
    assert ak.num(jets.Jet_pt).tolist() == ak.num(jets.Jet_eta).tolist() == list(N_JETS)
    assert ak.flatten(jets.Jet_pt).tolist() == (3 * PT).tolist()
    assert tree["Jet_pt"].typename == "float[]"


def test_the_vectors_of_objects_follow(file: Path) -> None:
    job = forkrun.Job(file)
    job.redefine("Jet_pt", "where(Jet_eta > 0.35, 3 * Jet_pt, Jet_pt)")
    job.hist("Jet.px", (1, -1e5, 1e5), name="x").define("sums", "sum(Jet_pt)")
    job.redefine("sums", "sums + 1").output("events", keep=["sums"])
    result = job.run(children=0, **QUIET)
    new = np.where(0.1 * np.arange(N_ALL) > 0.35, 3 * PT, PT)
    sums = ak.sum(ak.unflatten(new, N_JETS), axis=1) + 1
    assert uproot.open(result.outputs["events"])["Events/sums"].array().tolist() == sums.tolist()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("Jet_pt[Jet_pt > 102]", "replace each value, or make another column"),
        ("sum(Jet_pt)", "wanted lists of values, one list per event"),
    ],
)
def test_another_form_is_refused(file: Path, what: str, words: str) -> None:
    job = forkrun.Job(file).redefine("Jet_pt", what).hist("Jet_pt", AXIS)
    with pytest.raises(forkrun.ForkrunError, match=words):
        job.run(children=0, **QUIET)


def test_what_is_replaced_has_to_be_there(file: Path) -> None:
    job = forkrun.Job(file).redefine("Jet_ptt", "2 * Jet_pt").hist("Jet_pt", AXIS)
    with pytest.raises(forkrun.ConfigError, match=r'replaces "Jet_ptt".*did you mean "Jet_pt"'):
        job.run(children=0, **QUIET)


FACTORS = {"nominal": 1.0, "jes_up": 1.02, "jes_down": 0.98}


def varied(file: Path) -> forkrun.Job:
    """Jets of 100 to 108 GeV: events, masses and weights follow their scale."""
    job = forkrun.Job(file)
    job.vary("Jet_pt", "jes", up="1.02 * Jet_pt", down="0.98 * Jet_pt")
    job.vary("genWeight", "pu", up="2 * genWeight", down=lambda block: 0.5 * block.genWeight)
    job.define("hard", "Jet_pt[Jet_pt > 104.5]")
    job.filter("num(hard) >= 1").hist("hard", AXIS, name="hard")
    job.hist("MET_pt", (6, 0, 60), weight="genWeight")
    job.path("all").hist("MET_pt", (6, 0, 60), name="all_met")
    return job.output("events", keep=["event", "Jet_pt"])


def expected(variation: str) -> Any:
    jets = ak.unflatten(PT, N_JETS) * FACTORS.get(variation, 1.0)
    hard = jets[ak.values_astype(jets, np.float32) > 104.5]
    return hard[ak.num(hard) > 0], ak.to_numpy(ak.num(hard) > 0)


def test_histograms_have_an_axis_of_the_variations_on_which_they_depend(file: Path) -> None:
    result = varied(file).run(children=0, **QUIET)
    hard, met = result.histograms["hard"], result.histograms["MET_pt"]
    assert list(hard.axes[1]) == ["nominal", "jes_up", "jes_down"]
    assert list(met.axes[1]) == ["nominal", "jes_up", "jes_down", "pu_up", "pu_down"]
    assert len(result.histograms["all_met"].axes) == 1
    for number, variation in enumerate(met.axes[1]):
        values, left = expected(variation)
        if variation in hard.axes[1]:
            assert hard.values()[:, number].tolist() == counts(ak.flatten(values))
        weight = np.arange(1, 7) * {"pu_up": 2.0, "pu_down": 0.5}.get(variation, 1.0)
        assert met.values()[:, number].tolist() == np.where(left, weight, 0).tolist()


def test_what_is_nominal_is_the_same_as_without_variations(file: Path) -> None:
    result = varied(file).run(children=0, **QUIET)
    plain = forkrun.Job(file, name="plain")
    plain.define("hard", "Jet_pt[Jet_pt > 104.5]")
    plain.filter("num(hard) >= 1").hist("hard", AXIS, name="hard")
    plain.hist("MET_pt", (6, 0, 60), weight="genWeight").output("events", keep=["event", "Jet_pt"])
    other = plain.run(children=0, **QUIET)
    for name in ("hard", "MET_pt"):
        nominal = result.histograms[name].view(flow=True)[:, 0]
        assert nominal.tobytes() == other.histograms[name].view(flow=True).tobytes()
    written = [Path(r.outputs["events"]).read_bytes() for r in (result, other)]
    assert written[0] == written[1]
    assert list(result.cutflow) == ["main", "main@jes_up", "main@jes_down"]
    assert {"main": result.cutflow["main"]} == other.cutflow


MODULES = """
import forkrun, hist
import awkward as ak

class Scale(forkrun.Producer):
    consumes = ("Jet_pt",)
    replaces = ("Jet_pt",)
    variations = {"jes": ("up", "down")}

    def produce(self, block):
        factor = {"nominal": 1, "jes_up": 2, "jes_down": 0.5}[block.variation]
        return {"Jet_pt": factor * block["Jet_pt"]}

class Plots(forkrun.Analyzer):
    def __init__(self):
        axis = hist.axis.Regular(20, 0, 1000, name="pt")
        self.pt = self.book("pt", hist.Hist(axis))
        self.met = self.book("met", hist.Hist(hist.axis.StrCategory([], growth=True)))

    def analyze(self, block):
        self.pt.fill(ak.flatten(block.selected["Jet_pt"]))
        self.met.fill([str(block.variation)] * len(block.selected))
        self.accumulate("n", len(block.selected))
"""


def test_a_class_varies_what_it_replaces(file: Path, tmp_path: Path) -> None:
    (tmp_path / "modules.py").write_text(MODULES)
    (tmp_path / "job.toml").write_text(
        """
        source = { files = ["objects.root"] }
        [[modules]]
        type = "python:modules.py:Scale"
        [[modules]]
        label = "hard"
        type = "expression:max(Jet_pt) > 104"
        kind = "filter"
        [[modules]]
        type = "python:modules.py:Plots"
        [paths]
        main = ["hard", "Plots"]
        [[outputs]]
        label = "events"
        paths = ["main"]
        """
    )
    ended = command("run", "job.toml", "--children", "1", cwd=tmp_path)
    assert ended.code == 0, ended.err
    result = forkrun.Result.read(tmp_path / "job-run")
    jets = ak.unflatten(PT, N_JETS)
    pt = result.histograms["pt"]
    assert list(pt.axes[1]) == ["nominal", "jes_up", "jes_down"]
    for number, factor in enumerate([1, 2, 0.5]):
        left = factor * jets[ak.fill_none(ak.max(factor * jets, axis=1) > 104, False)]
        assert pt.values()[:, number].tolist() == counts(ak.flatten(left))
    met = result.histograms["met"]
    assert list(met.axes[0]) == ["jes_up", "nominal"]
    assert met.values().tolist() == [[0, 5, 0], [2, 0, 0]]
    assert result.accumulators["Plots"]["n"] == 2
    assert uproot.open(result.outputs["events"])["Events"].num_entries == 2
