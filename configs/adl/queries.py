"""The eight queries of the ADL benchmark (github.com/iris-hep/adl-benchmarks-index) on NanoAOD-like
files: python configs/adl/queries.py FILES…"""

import sys

import awkward as ak
import numpy as np

import forkrun

MET, JET_PT = (100, 0, 200), (100, 15, 60)
job = forkrun.Job(sys.argv[1:] or "sample.root", name="adl")
job.hist("MET_pt", MET, name="q1_met")
job.hist("Jet_pt", JET_PT, name="q2_jet_pt")
job.hist("Jet_pt[abs(Jet_eta) < 1]", JET_PT, name="q3_central_jet_pt")
job.path("two_jets").filter("sum(Jet_pt > 40) >= 2").hist("MET_pt", MET, name="q4_met")


@job.path("dimuon").filter
def opposite_muons(events):
    first, second = ak.unzip(ak.combinations(events.Muon, 2))
    mass = (first + second).mass
    return ak.any((first.charge != second.charge) & (mass > 60) & (mass < 120), axis=1)


job.path("dimuon").hist("MET.pt", MET, name="q5_met")


@job.producer
def trijet(events):
    a, b, c = ak.unzip(ak.combinations(events.Jet, 3))
    together = a + b + c
    btag = np.maximum(np.maximum(a.btagDeepFlavB, b.btagDeepFlavB), c.btagDeepFlavB)
    best = ak.argmin(abs(together.mass - 172.5), axis=1, keepdims=True)
    pt, btag = (ak.firsts(values[best]) for values in (together.pt, btag))
    return {"trijet_pt": ak.fill_none(pt, -1), "trijet_btag": ak.fill_none(btag, -1)}


top = job.path("top").filter("num(Jet_pt) >= 3")
top.hist("trijet_pt", (100, 15, 40), name="q6_pt").hist("trijet_btag", (100, 0, 1), name="q6_btag")


@job.hist((100, 15, 200))
def q7_sum_pt(events):
    jets = events.Jet[events.Jet.pt > 30]
    for leptons in (events.Muon, events.Electron):
        jet, lepton = ak.unzip(ak.cartesian([jets, leptons[leptons.pt > 10]], nested=True))
        jets = jets[ak.all(jet.deltaR(lepton) > 0.4, axis=2)]
    return ak.sum(jets.pt, axis=1)


@job.hist((100, 0, 250))
def q8_transverse_mass(events):
    fields = ["pt", "eta", "phi", "mass", "charge", "pdgId"]
    leptons = ak.concatenate([events.Muon[fields], events.Electron[fields]], axis=1)
    pairs = ak.argcombinations(leptons, 2, fields=["i", "j"])
    pairs = pairs[leptons[pairs.i].pdgId == -leptons[pairs.j].pdgId]
    mass = (leptons[pairs.i] + leptons[pairs.j]).mass
    z = ak.firsts(pairs[ak.argmin(abs(mass - 91.2), axis=1, keepdims=True)])
    number = ak.local_index(leptons.pt, axis=1)
    others = leptons[(number != z.i) & (number != z.j)]
    leading = ak.firsts(others[ak.argmax(others.pt, axis=1, keepdims=True)])
    return np.sqrt(2 * leading.pt * events.MET.pt * (1 - np.cos(leading.deltaphi(events.MET))))


if __name__ == "__main__":
    for name, histogram in job.run().histograms.items():
        print(f"{name}: {histogram.sum(flow=True).value:.0f}")
