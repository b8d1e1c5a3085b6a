"""Z → μμ in data and three simulations, with a signal and a control region. One program, for this
machine and for many nodes:

    python configs/zmumu/regions.py FOLDER
    forkrun submit configs/zmumu/regions.py --on slurm --nodes 20 -- FOLDER
"""

import sys
from pathlib import Path

import awkward as ak
import numpy as np

import forkrun

DATA = Path(sys.argv[1] if len(sys.argv) > 1 else "data")
job = forkrun.Job(
    {
        "data": {"files": DATA / "data_*.root", "is_data": True},
        "dy": {"files": DATA / "dy_*.root", "cross_section": 6077.2},
        "ttbar": {"files": DATA / "ttbar_*.root", "cross_section": 831.8},
        "ww": {"files": DATA / "ww_*.root", "cross_section": 118.7},
    },
    name="regions",
    job={"luminosity": 0.1},
    source={"branches": {"fill": {"genWeight": 1, "HLT_*": False}}},
)

# Of simulation: data keep their momenta, and have the same events in all variations.
job.redefine("Muon_pt", "where(abs(Muon_eta) < 1.2, 1.01 * Muon_pt, 1.02 * Muon_pt)")
job.vary("Muon_pt", "scale", up="1.005 * Muon_pt", down="0.995 * Muon_pt")
job.define("weight", "genWeight * lumi_weight")
job.vary("weight", "norm", up=lambda events: 1.025 * events.weight, down="0.975 * weight")


@job.producer
def pair(events):
    """Mass and charge of the two muons with the highest momenta; -1 where there are fewer."""
    good = events.Muon[events.Muon.pt > 20]
    good = good[ak.argsort(good.pt, ascending=False, stable=True)]
    has_two = ak.num(good) > 1
    first, second = good[has_two][:, 0], good[has_two][:, 1]
    angles = np.cosh(first.eta - second.eta) - np.cos(first.phi - second.phi)
    mass, charge = np.full(len(events), -1.0), np.full(len(events), 9)
    mass[has_two] = np.sqrt(2 * first.pt * second.pt * angles)
    charge[has_two] = first.charge + second.charge
    return {"mass": mass, "charge": charge}


triggered = job.path("triggered").filter("HLT_IsoMu20 || HLT_IsoMu24", label="trigger")
for name, selection in (
    ("signal", "charge == 0 && 81 < mass < 101 && MET_pt < 40"),
    ("control", "abs(charge) == 2 || (charge == 0 && mass > 101)"),
):
    region = triggered.path(name).filter(selection, label=f"{name}_region")
    region.hist("mass", (40, 0, 200), weight="weight")
    region.hist("Muon_pt", (50, 0, 100), weight="weight")
    region.hist(
        lambda events: events.MET_pt, (20, 0, 100), name="met", weight=lambda events: events.weight
    )
    region.output(name, keep=["run", "luminosityBlock", "event", "mass", "Muon_pt", "nMuon"])

if __name__ == "__main__":
    result = job.run()
    for name in ("signal", "control"):
        print(result.histograms[f"{name}_mass/mass"].project("dataset", "variation"))
        print(result.cutflow[name])
