"""The mass that recoils against Z → μμ in e+e- → ZH, whatever the Higgs boson becomes:
forkrun sample events.slcio && python configs/lcio/recoil.py events.slcio"""

import sys

import awkward as ak
import numpy as np

import forkrun

job = forkrun.Job(sys.argv[1:] or ["events.slcio"], name="recoil")


@job.producer
def z(events):
    """The pair of muons next to the Z, and the mass of all that is not in it [GeV]."""
    found = events.PandoraPFOs
    is_muon = (abs(found.pid.LikelihoodPID.pdg) == 13) & (ak.num(found.tracks, axis=2) == 1)
    first, second = ak.unzip(ak.combinations(found[is_muon & (found.p > 20)], 2))
    pairs = (first + second)[first.charge * second.charge < 0]
    best = pairs[ak.argmin(abs(pairs.mass - 91.19), axis=1, keepdims=True)]
    energy = ak.flatten(events["RunHeader.parameters.Energy_GeV"])[:, np.newaxis]
    recoil = np.sqrt(np.maximum((energy - best.E) ** 2 - best.p2, 0))
    mass, recoil = (ak.fill_none(ak.firsts(each), -1) for each in (best.mass, recoil))
    return {
        "z_mass": ak.values_astype(mass, "float32"),
        "recoil": ak.values_astype(recoil, "float32"),
    }


job.filter("abs(z_mass - 91.19) < 10", label="is_z")
job.hist("z_mass", (40, 81, 101))
job.hist("recoil", (60, 80, 140))
job.output("selected", keep=["*"], drop=["VXD*", "TPC*", "?CalCollection.*"])

if __name__ == "__main__":
    result = job.run()
    print(result.histograms["recoil"], result.cutflow["main"], sep="\n")
