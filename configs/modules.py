"""Dimuon selection on NanoAOD-like columns: the Python twin of the C++ example modules.

Both compute in double precision with the same order of operations, and cosh and cos come from the
C library through `math`: NumPy's own vectorised versions may differ in the last bit. So the results
of the two agree bit for bit.
"""

import math

import awkward as ak
import hist
import numpy as np

import forkrun

cosh = np.vectorize(math.cosh, otypes=[np.float64])
cos = np.vectorize(math.cos, otypes=[np.float64])


def good_muons(events, pt_min, eta_max):
    """Which muons are good; (n_events, n) bool. Compared in double precision, as C++ does: NumPy
    would round a Python float to the float32 of the column."""
    pt_min, eta_max = np.float64(pt_min), np.float64(eta_max)
    return (events["Muon_pt"] > pt_min) & (abs(events["Muon_eta"]) < eta_max)


def two_leading(column):
    """The first and second value of events that have at least two."""
    pairs = column[ak.num(column) >= 2]
    return ak.to_numpy(pairs[:, 0]), ak.to_numpy(pairs[:, 1])


class TwoMuons(forkrun.Filter):
    """Events whose two leading good muons have opposite charge."""

    consumes = ("Muon_pt", "Muon_eta", "Muon_charge")

    def __init__(self, pt_min: float = 5.0, eta_max: float = 2.4) -> None:
        self.pt_min = pt_min
        self.eta_max = eta_max

    def filter(self, events):
        charge = events["Muon_charge"][good_muons(events, self.pt_min, self.eta_max)]
        first, second = two_leading(charge)
        accept = ak.to_numpy(ak.num(charge) >= 2)
        accept[accept] = first * second < 0
        return accept


class DimuonMass(forkrun.Producer):
    """Dimuon_mass : (n_events,) float32 [GeV], of the two leading good muons taken as massless; -1
    where there are fewer. GoodMuon_pt : (n_events, n) float32 [GeV]."""

    consumes = ("Muon_pt", "Muon_eta", "Muon_phi")
    produces = {"Dimuon_mass": "float32", "GoodMuon_pt": "float32[]"}

    def __init__(self, pt_min: float = 5.0, eta_max: float = 2.4) -> None:
        self.pt_min = pt_min
        self.eta_max = eta_max

    def produce(self, events):
        good = good_muons(events, self.pt_min, self.eta_max)
        pt = events["Muon_pt"][good]
        mass = np.full(len(events), -1.0, dtype=np.float32)
        mass[ak.to_numpy(ak.num(pt) >= 2)] = self.mass(
            pt, events["Muon_eta"][good], events["Muon_phi"][good]
        )
        return {"Dimuon_mass": mass, "GoodMuon_pt": pt}

    @staticmethod
    def mass(pt, eta, phi):
        (pt1, pt2), (eta1, eta2), (phi1, phi2) = (
            [value.astype(np.float64) for value in two_leading(column)] for column in (pt, eta, phi)
        )
        angle = cosh(eta1 - eta2) - cos(phi1 - phi2)
        return np.sqrt(2.0 * pt1 * pt2 * angle).astype(np.float32)


class MassWindow(forkrun.Filter):
    """Events with low <= Dimuon_mass < high [GeV]."""

    consumes = ("Dimuon_mass",)

    def __init__(self, low: float = 60.0, high: float = 120.0) -> None:
        self.low = low
        self.high = high

    def filter(self, events):
        mass = events["Dimuon_mass"].astype(np.float64)
        return (mass >= self.low) & (mass < self.high)


class DimuonPlots(forkrun.Analyzer):
    """Histograms of the mass and of the leading good muon's pt, for the selected events."""

    consumes = ("Dimuon_mass", "GoodMuon_pt")

    def __init__(self) -> None:
        mass = hist.axis.Regular(120, 0.0, 240.0, name="mass", label="m [GeV]")
        pt = hist.axis.Regular(50, 0.0, 200.0, name="pt", label="pt [GeV]")
        self.mass = self.book("mass", hist.Hist(mass, storage=hist.storage.Weight()))
        self.leading_pt = self.book("leading_pt", hist.Hist(pt, storage=hist.storage.Weight()))

    def analyze(self, events):
        pt = events["GoodMuon_pt"]
        has_two = ak.num(pt) >= 2
        self.mass.fill(events["Dimuon_mass"][ak.to_numpy(has_two)])
        self.leading_pt.fill(ak.to_numpy(pt[has_two][:, 0]))
