"""The eight ADL queries of configs/adl with a loop of uproot: FILE; prints the fills by query."""

from __future__ import annotations

import sys
from typing import Any

import awkward as ak
import hist
import numpy as np
import uproot
import vector

COLLECTIONS = {
    "Muon": ("pt", "eta", "phi", "mass", "charge", "pdgId"),
    "Electron": ("pt", "eta", "phi", "mass", "charge", "pdgId"),
    "Jet": ("pt", "eta", "phi", "mass", "btagDeepFlavB"),
}
COLUMNS = [f"{name}_{key}" for name, keys in COLLECTIONS.items() for key in keys]
MET, JET_PT = (100, 0, 200), (100, 15, 60)
AXES = {
    "q1_met": MET, "q2_jet_pt": JET_PT, "q3_central_jet_pt": JET_PT, "q4_met": MET, "q5_met": MET,
    "q6_pt": (100, 15, 40), "q6_btag": (100, 0, 1), "q7_sum_pt": (100, 15, 200),
    "q8_transverse_mass": (100, 0, 250),
}  # fmt: skip


def main() -> None:
    """Fills all histograms."""
    vector.register_awkward()
    histograms = {name: hist.Hist(hist.axis.Regular(*axis)) for name, axis in AXES.items()}
    columns = [*COLUMNS, "MET_pt", "MET_phi"]
    for events in uproot.iterate(f"{sys.argv[1]}:Events", columns, step_size=262_144):
        met = events["MET_pt"]
        muons, electrons, jets = (
            ak.zip({key: events[f"{name}_{key}"] for key in keys}, with_name="Momentum4D")
            for name, keys in COLLECTIONS.items()
        )
        pt, btag = best_trijet(jets[ak.num(jets) >= 3])
        values = {
            "q1_met": met,
            "q2_jet_pt": ak.flatten(jets.pt),
            "q3_central_jet_pt": ak.flatten(jets.pt[abs(jets.eta) < 1]),
            "q4_met": met[ak.sum(jets.pt > 40, axis=1) >= 2],
            "q5_met": met[has_opposite_muons(muons)],
            "q6_pt": pt,
            "q6_btag": btag,
            "q7_sum_pt": sum_without_leptons(jets, muons, electrons),
            "q8_transverse_mass": ak.drop_none(
                transverse_mass(muons, electrons, met, events["MET_phi"])
            ),
        }
        for name, filled in values.items():
            histograms[name].fill(np.asarray(filled))
    for name, histogram in histograms.items():
        print(f"{name}: {histogram.sum(flow=True):.0f}")


def has_opposite_muons(muons: Any) -> Any:
    first, second = ak.unzip(ak.combinations(muons, 2))
    mass = (first + second).mass
    return ak.any((first.charge != second.charge) & (mass > 60) & (mass < 120), axis=1)


def best_trijet(jets: Any) -> tuple[Any, Any]:
    a, b, c = ak.unzip(ak.combinations(jets, 3))
    together = a + b + c
    btag = np.maximum(np.maximum(a.btagDeepFlavB, b.btagDeepFlavB), c.btagDeepFlavB)
    best = ak.argmin(abs(together.mass - 172.5), axis=1, keepdims=True)
    return ak.firsts(together.pt[best]), ak.firsts(btag[best])


def sum_without_leptons(jets: Any, *collections: Any) -> Any:
    jets = jets[jets.pt > 30]
    for leptons in collections:
        jet, lepton = ak.unzip(ak.cartesian([jets, leptons[leptons.pt > 10]], nested=True))
        jets = jets[ak.all(jet.deltaR(lepton) > 0.4, axis=2)]
    return ak.sum(jets.pt, axis=1)


def transverse_mass(muons: Any, electrons: Any, met: Any, phi: Any) -> Any:
    leptons = ak.concatenate([muons, electrons], axis=1)
    pairs = ak.argcombinations(leptons, 2, fields=["i", "j"])
    pairs = pairs[leptons[pairs.i].pdgId == -leptons[pairs.j].pdgId]
    mass = (leptons[pairs.i] + leptons[pairs.j]).mass
    z = ak.firsts(pairs[ak.argmin(abs(mass - 91.2), axis=1, keepdims=True)])
    number = ak.local_index(leptons.pt, axis=1)
    others = leptons[(number != z.i) & (number != z.j)]
    leading = ak.firsts(others[ak.argmax(others.pt, axis=1, keepdims=True)])
    return np.sqrt(2 * leading.pt * met * (1 - np.cos(leading.phi - phi)))


if __name__ == "__main__":
    main()
