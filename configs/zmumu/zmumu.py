"""Z → μμ in data and simulation, with a correction of the muons' scale and two systematic
variations: python configs/zmumu/zmumu.py FOLDER"""

import json
import sys
from pathlib import Path

import awkward as ak
import numpy as np

import forkrun

HERE, DATA = Path(__file__).parent, Path(sys.argv[1] if len(sys.argv) > 1 else "data")
job = forkrun.Job(
    {
        "data": {"files": DATA / "nano_dimuon.root", "is_data": True},
        "dy": {"files": DATA / "nano_dy.root", "cross_section": 6077.2},
        "ttbar": {
            "files": DATA / "nanoAOD_2015_CMS_Open_Data_ttbar.root",
            "cross_section": 831.8,
            "sum_of_weights": 200.0,
        },
    },
    name="zmumu",
    job={"luminosity": 0.05},
    source={"branches": {"fill": {"genWeight": 1, "HLT_IsoMu24": 0}}},
)
described = json.loads((HERE / "muon_scale.json").read_text())
values, errors = (np.pad(described[name], 1, mode="edge") for name in ("values", "errors"))
scale = forkrun.BinnedTable([described["pt"], described["abs_eta"]], values, errors**2)


@job.producer(replaces=["Muon_pt"], variations={"scale": ["up", "down"]})
def calibrated(events):
    pt, eta = events["Muon_pt"], abs(events["Muon_eta"])
    shift = {"scale_up": 1, "scale_down": -1}.get(events.variation, 0)
    return pt * (scale(pt, eta) + shift * scale.error(pt, eta))


job.define("weight", "genWeight * lumi_weight")
job.vary("weight", "trigger", up="1.02 * weight", down="0.98 * weight")


@job.producer
def z(events):
    muons = events.Muon[(events.Muon.pt > 15) & (abs(events.Muon.eta) < 2.4) & events.Muon.mediumId]
    first, second = ak.unzip(ak.combinations(muons, 2))
    pairs = (first + second)[first.charge != second.charge]
    best = ak.argmin(abs(pairs.mass - 91.2), axis=1, keepdims=True)
    mass, pt = (ak.fill_none(ak.firsts(each[best]), -1) for each in (pairs.mass, pairs.pt))
    return {"z_mass": ak.values_astype(mass, "float32"), "z_pt": ak.values_astype(pt, "float32")}


job.filter("HLT_IsoMu20 || HLT_IsoMu24", label="trigger")
job.filter("60 < z_mass < 120", label="on_shell")
job.hist("z_mass", (60, 60, 120), weight="weight")
job.hist("z_pt", (50, 0, 100), weight="weight")
job.hist("Muon.pt", (50, 0, 100), name="muon_pt", weight="weight")
SKIMMED = ["run", "luminosityBlock", "event", "Muon_pt", "Muon_eta", "z_*", "weight"]
job.output("skim", keep=SKIMMED, decisions=True)

if __name__ == "__main__":
    result = job.run()
    print(result.histograms["z_mass"], result.cutflow["main"], sep="\n")
