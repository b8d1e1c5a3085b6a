"""Files with other names than NanoAOD's, by a naming rule: PHYSLITE's and TreeMaker's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
import vector

import forkrun
from tests.analysis.objects_file import N_JETS, N_MUONS, write_objects
from tests.analysis.schema_files import N_EVENTS, write_physlite
from tests.server.root_program import call_root

PHYSLITE = {
    "run_branch": "EventInfoAuxDyn.runNumber",
    "lumi_branch": "EventInfoAuxDyn.lumiBlock",
    "event_branch": "EventInfoAuxDyn.eventNumber",
    "collections": "{collection}AuxDyn.{field}",
    "fields": {"mpx": "px", "mpy": "py"},
}
TREEMAKER = {
    "collections": ["{collection}.fCoordinates.f{field}", "{collection}_{field}"],
    "fields": {"Pt": "pt", "Eta": "eta", "Phi": "phi", "E": "energy"},
}


@pytest.fixture(scope="module")
def physlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("physlite") / "physlite.root"
    call_root(write_physlite, str(path))
    return path


def masses(path: Path) -> Any:
    """Of the first two electrons, in MeV, as uproot and vector have them; of events with two."""
    with uproot.open(path) as file:
        tree = file["CollectionTree"]
        columns = {
            name: ak.values_astype(tree[f"AnalysisElectronsAuxDyn.{field}"].array(), "float64")
            for name, field in (("pt", "pt"), ("eta", "eta"), ("phi", "phi"), ("mass", "m"))
        }
    two = vector.zip(columns)[ak.num(columns["pt"]) >= 2]
    return ak.to_numpy((two[:, 0] + two[:, 1]).mass)


@pytest.mark.slow
def test_physlite_gives_histograms_and_a_skim(physlite: Path, tmp_path: Path) -> None:
    job = forkrun.Job(physlite, tree="CollectionTree", source=PHYSLITE)
    job.define("ht", "sum(AnalysisElectronsAuxDyn.pt) / 1000")
    job.define("met", "fill_none(MET_Core_AnalysisMET[0].pt, -1) / 1000")
    job.filter("num(AnalysisElectrons) >= 2")
    job.hist("(AnalysisElectrons[0] + AnalysisElectrons[1]).mass", (40, 0, 80_000), name="mass")
    job.hist("AnalysisMuonsAuxDyn.pt / 1000", (10, 19, 22), name="muon_pt")
    keep = ["EventInfoAuxDyn.*", "AnalysisElectronsAuxDyn.*", "ht", "met"]
    job.output("skim", keep=keep)
    result = job.run(children=2, output=tmp_path / "run", quiet=True)
    expected = masses(physlite)
    np.testing.assert_array_equal(
        result.histograms["mass"].values(flow=True)[1:-1],
        np.histogram(expected, 40, (0, 80_000))[0],
    )
    n_left = sum(i % 4 >= 2 for i in range(N_EVENTS))
    assert result.histograms["muon_pt"].sum().value == n_left
    skim = uproot.open(result.outputs["skim"])["CollectionTree"]
    numbers = skim["EventInfoAuxDyn.eventNumber"].array().tolist()
    assert numbers == [i + 1 for i in range(N_EVENTS) if i % 4 >= 2]
    assert "AnalysisElectronsAuxDyn.trackParticleLinks" in skim
    pt = skim["AnalysisElectronsAuxDyn.pt"].array()
    np.testing.assert_allclose(skim["ht"].array(), ak.sum(pt, axis=1) / 1000, rtol=1e-6)
    met = [np.hypot(n - 1, n - 1) for n in numbers]
    np.testing.assert_allclose(skim["met"].array(), met, rtol=1e-6)


def test_treemaker_has_two_ways_to_name_the_fields_of_a_collection(tmp_path: Path) -> None:
    """Coordinates with the energy, and fields beside them."""
    names = {
        f"{name}_{field}": f"{name}s.fCoordinates.f{new}"
        for name in ("Muon", "Jet")
        for field, new in (("pt", "Pt"), ("eta", "Eta"), ("phi", "Phi"), ("mass", "E"))
    }
    file = write_objects(tmp_path / "a.root", {**names, "Muon_charge": "Muons_charge"})
    job = forkrun.Job(file, source=TREEMAKER, forking={"min_unit_events": 10})
    found: list[Any] = []

    @job.filter(label="two")
    def two(block: Any) -> Any:
        muons = block.Muons
        found.append((ak.to_list(muons.charge), ak.to_list(muons.energy), muons.E.tolist()))
        assert ak.all(muons.deltaR(muons) == 0)
        return ak.num(muons[muons.pt > 0]) >= 2

    job.hist("Jets.pt[0]", (10, 0, 200), name="jet_pt")
    result = job.run(children=0, output=tmp_path / "run", quiet=True)
    charges, energies, first = found[-1]
    assert [len(each) for each in charges] == list(N_MUONS)
    assert energies[0] == pytest.approx([0.1057, 0.1057])
    assert first == energies
    with_both = [m >= 2 and j >= 1 for m, j in zip(N_MUONS, N_JETS, strict=True)]
    assert result.histograms["jet_pt"].sum(flow=True).value == sum(with_both) == 4
