"""Files with other names than NanoAOD's, as experiments write them."""

from __future__ import annotations

import array
from typing import Any

N_EVENTS = 300
_VECTORS = {
    "AnalysisElectronsAuxDyn.pt": "float",
    "AnalysisElectronsAuxDyn.eta": "float",
    "AnalysisElectronsAuxDyn.phi": "float",
    "AnalysisElectronsAuxDyn.m": "float",
    "AnalysisElectronsAuxDyn.charge": "float",
    "AnalysisMuonsAuxDyn.pt": "float",
    "AnalysisMuonsAuxDyn.eta": "float",
    "AnalysisMuonsAuxDyn.phi": "float",
    "AnalysisJetsAuxDyn.SumPtTrkPt500": "std::vector<float>",
    "MET_Core_AnalysisMETAuxDyn.mpx": "double",
    "MET_Core_AnalysisMETAuxDyn.mpy": "double",
    "MET_Core_AnalysisMETAuxDyn.name": "std::string",
    # As links to tracks: objects in lists, which are no columns.
    "AnalysisElectronsAuxDyn.trackParticleLinks": "TLorentzVector",
}


def write_physlite(path: str) -> None:
    """`N_EVENTS` events of run 284500, 100 in a lumi: event i has i % 4 electrons, the k-th of
    20 000 + 1000 k + i MeV, and one muon."""
    import ROOT

    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("CollectionTree", "")
    ids = {
        "EventInfoAuxDyn.runNumber": array.array("I", [284500]),
        "EventInfoAuxDyn.lumiBlock": array.array("I", [1]),
        "EventInfoAuxDyn.eventNumber": array.array("Q", [0]),
    }
    for name, value in ids.items():
        tree.Branch(name, value, f"{name.split('.')[1]}/{'l' if 'event' in name else 'i'}")
    vectors = {name: ROOT.std.vector(kind)() for name, kind in _VECTORS.items()}
    for name, value in vectors.items():
        tree.Branch(name, value)
    for i in range(N_EVENTS):
        ids["EventInfoAuxDyn.lumiBlock"][0] = 1 + i // 100
        ids["EventInfoAuxDyn.eventNumber"][0] = i + 1
        _fill(ROOT, vectors, i)
        tree.Fill()
    tree.Write()
    file.Close()


def _fill(root: Any, vectors: dict[str, Any], i: int) -> None:
    for name, value in vectors.items():
        value.clear()
        field = name.split(".")[1]
        if name.startswith("MET"):
            value.push_back("Final" if field == "name" else 1000.0 * i)
            continue
        for k in range(1 if "Muons" in name else i % 4):
            if field == "trackParticleLinks":
                value.push_back(root.TLorentzVector(1, 2, 3, 4))
            elif field == "SumPtTrkPt500":
                value.push_back(root.std.vector("float")([k, i]))
            else:
                numbers = {"pt": 20_000 + 1000 * k + i, "eta": 0.5 * k, "phi": 1.5 * k, "m": 0.511}
                value.push_back(numbers.get(field, 1 - 2 * (k % 2)))
