"""Event weights from scale factors that change with the run; see conditions.toml."""

import json

import awkward as ak
import numpy as np

import forkrun


def read_table(file):
    """A condition: scale factors in bins of pt and |eta|. `values`, `errors`: by pt, then |eta|."""
    with open(file) as opened:
        table = json.load(opened)
    values, errors = np.array(table["values"]), np.array(table["errors"])
    # One more bin on each side of an axis: what is below and above the edges.
    return forkrun.BinnedTable(
        edges=[table["pt"], table["abs_eta"]],
        content=np.pad(values, 1, mode="edge"),
        variances=np.pad(errors**2, 1, mode="edge"),
        axis_titles=["pt [GeV]", "|eta|"],
    )


class MuonWeight(forkrun.Producer):
    """MuonWeight, MuonWeight_up : (n_events,) float32, the product of the scale factors of all good
    muons, and the same with each of them one error larger."""

    consumes = ("Muon_pt", "Muon_eta")
    produces = {"MuonWeight": "float32", "MuonWeight_up": "float32"}
    conditions = ("cuts", "muon_sf")

    def produce(self, events):
        cuts, table = self.conditions["cuts"]["muon"], self.conditions["muon_sf"]
        pt, abs_eta = events["Muon_pt"], abs(events["Muon_eta"])
        good = (pt > cuts["pt_min"]) & (abs_eta < cuts["abs_eta_max"])
        factor = table(pt[good], abs_eta[good])
        error = table.error(pt[good], abs_eta[good])
        return {
            "MuonWeight": ak.prod(factor, axis=1),
            "MuonWeight_up": ak.prod(factor + error, axis=1),
        }
