"""The analysis that is compared: seven columns, six histograms, dimuon combinations. Each framework
calls it with columns of its own; it needs Awkward Array, hist and NumPy alone."""

from __future__ import annotations

from typing import Any

import awkward as ak
import hist
import numpy as np

COLUMNS = (
    "Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge", "Jet_pt", "MET_pt", "genWeight",
)  # fmt: skip


def make_histograms() -> dict[str, hist.Hist]:
    """Empty histograms by name."""
    regular, counts = hist.axis.Regular, hist.storage.Double()
    return {
        "mass": hist.Hist(regular(120, 0.0, 240.0, name="mass"), storage=hist.storage.Weight()),
        "muon_pt": hist.Hist(regular(100, 0.0, 200.0, name="pt"), storage=counts),
        "muon_eta": hist.Hist(regular(60, -3.0, 3.0, name="eta"), storage=counts),
        "n_muons": hist.Hist(regular(10, -0.5, 9.5, name="n"), storage=counts),
        "sum_of_jets": hist.Hist(regular(100, 0.0, 1000.0, name="ht"), storage=counts),
        "missing": hist.Hist(regular(100, 0.0, 200.0, name="met"), storage=counts),
    }


def fill(histograms: dict[str, hist.Hist], columns: Any) -> None:
    """Fills them with events. `columns[name]`: (n_events,) or jagged (n_events, n)."""
    pt, eta, phi = columns["Muon_pt"], columns["Muon_eta"], columns["Muon_phi"]
    is_good = (pt > 5.0) & (abs(eta) < 2.4)
    muons = ak.zip(
        {
            "pt": pt[is_good],
            "eta": eta[is_good],
            "phi": phi[is_good],
            "charge": columns["Muon_charge"][is_good],
        }
    )
    first, second = ak.unzip(ak.combinations(muons, 2))
    opposite = first.charge != second.charge
    first, second = first[opposite], second[opposite]
    angles = np.cosh(first.eta - second.eta) - np.cos(first.phi - second.phi)
    mass = np.sqrt(2.0 * first.pt * second.pt * angles)
    weight, _ = ak.broadcast_arrays(columns["genWeight"], mass)
    histograms["mass"].fill(ak.flatten(mass), weight=ak.flatten(weight))
    histograms["muon_pt"].fill(ak.flatten(muons.pt))
    histograms["muon_eta"].fill(ak.flatten(muons.eta))
    histograms["n_muons"].fill(ak.num(muons))
    jets = columns["Jet_pt"]
    histograms["sum_of_jets"].fill(ak.sum(jets[jets > 30.0], axis=1))
    histograms["missing"].fill(columns["MET_pt"])
