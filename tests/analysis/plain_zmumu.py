"""What configs/zmumu does, as one would write it with Awkward Array, vector and hist alone, in the
style of coffea: a loop over datasets, files and variations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import uproot
import vector

vector.register_awkward()

LUMINOSITY = 0.05
COLUMNS = ["run", "luminosityBlock", "event", "HLT_IsoMu20"]
MUONS = ["Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass", "Muon_charge", "Muon_mediumId"]
VARIATIONS = ["nominal", "scale_up", "scale_down", "trigger_up", "trigger_down"]
SCALE_VARIATIONS = ["nominal", "scale_up", "scale_down"]


def datasets(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        "data": {"file": folder / "nano_dimuon.root", "is_data": True},
        "dy": {"file": folder / "nano_dy.root", "xsec": 6077.2},
        "ttbar": {
            "file": folder / "nanoAOD_2015_CMS_Open_Data_ttbar.root",
            "xsec": 831.8,
            "sum_of_weights": 200.0,
        },
    }


class ScaleTable:
    def __init__(self, path: Path) -> None:
        table = json.loads(path.read_text())
        self.pt, self.eta = np.array(table["pt"]), np.array(table["abs_eta"])
        self.values, self.errors = np.array(table["values"]), np.array(table["errors"])

    def __call__(self, pt: Any, eta: Any) -> tuple[Any, Any]:
        counts = ak.num(pt)
        flat_pt, flat_eta = ak.to_numpy(ak.flatten(pt)), ak.to_numpy(ak.flatten(abs(eta)))
        i = np.clip(np.searchsorted(self.pt, flat_pt, side="right") - 1, 0, len(self.pt) - 2)
        j = np.clip(np.searchsorted(self.eta, flat_eta, side="right") - 1, 0, len(self.eta) - 2)
        return ak.unflatten(self.values[i, j], counts), ak.unflatten(self.errors[i, j], counts)


def empty(bins: int, low: float, high: float, variations: list[str], names: list[str]) -> Any:
    return hist.Hist(
        hist.axis.Regular(bins, low, high),
        hist.axis.StrCategory(names),
        hist.axis.StrCategory(variations),
        storage=hist.storage.Weight(),
    )


def read(path: Path) -> Any:
    with uproot.open(path) as file:
        tree = file["Events"]
        names = tree.keys()
        wanted = COLUMNS + MUONS
        events = {name: tree[name].array() for name in wanted}
        n_events = tree.num_entries
        events["weight"] = tree["genWeight"].array() if "genWeight" in names else np.ones(n_events)
        events["trigger"] = events["HLT_IsoMu20"]
        if "HLT_IsoMu24" in names:
            events["trigger"] = events["trigger"] | tree["HLT_IsoMu24"].array()
    return events


def lumi_weight(dataset: dict[str, Any]) -> float:
    if dataset.get("is_data"):
        return 1.0
    total = dataset.get("sum_of_weights")
    if total is None:
        with uproot.open(dataset["file"]) as file:
            total = float(np.sum(file["Runs"]["genEventSumw_"].array()))
    return float(LUMINOSITY * 1000 * dataset["xsec"] / total)


def scaled(events: Any, table: ScaleTable, variation: str) -> Any:
    values, errors = table(events["Muon_pt"], events["Muon_eta"])
    shift = {"scale_up": 1, "scale_down": -1}.get(variation, 0)
    return ak.values_astype(events["Muon_pt"] * (values + shift * errors), np.float32)


def candidates(events: Any, pt: Any) -> tuple[Any, Any]:
    double = {n: ak.values_astype(events[n], np.float64) for n in MUONS[1:4]}
    muons = ak.zip(
        {
            "pt": ak.values_astype(pt, np.float64),
            "eta": double["Muon_eta"],
            "phi": double["Muon_phi"],
            "mass": double["Muon_mass"],
            "charge": events["Muon_charge"],
        },
        with_name="Momentum4D",
    )
    good = (pt > 15) & (abs(events["Muon_eta"]) < 2.4) & events["Muon_mediumId"]
    first, second = ak.unzip(ak.combinations(muons[good], 2))
    pairs = (first + second)[first.charge != second.charge]
    best = pairs[ak.argmin(abs(pairs.mass - 91.2), axis=1, keepdims=True)]
    mass = ak.fill_none(ak.firsts(best.mass), -1)
    return ak.to_numpy(mass), ak.to_numpy(ak.fill_none(ak.firsts(best.pt), -1))


def fill(filled: Any, values: Any, weight: Any, name: str, variation: str) -> None:
    values, weight = ak.broadcast_arrays(values, weight)
    flat = ak.to_numpy(ak.flatten(values, axis=None))
    filled.fill(flat, name, variation, weight=ak.to_numpy(ak.flatten(weight, axis=None)))


def run(folder: Path, scale_table: Path) -> dict[str, Any]:
    """Histograms; by dataset, events of the skim and the numbers of events after each cut."""
    described, table = datasets(folder), ScaleTable(scale_table)
    names = list(described)
    histograms = {
        "z_mass": empty(60, 60, 120, VARIATIONS, names),
        "z_pt": empty(50, 0, 100, VARIATIONS, names),
        "muon_pt": empty(50, 0, 100, VARIATIONS, names),
    }
    skim: dict[str, list[int]] = {}
    cutflow: dict[str, list[int]] = {}
    for name, dataset in described.items():
        events = read(dataset["file"])
        for variation in VARIATIONS:
            pt = scaled(events, table, variation)
            mass, z_pt = candidates(events, pt)
            mass, z_pt = mass.astype(np.float32), z_pt.astype(np.float32)
            weight = ak.to_numpy(events["weight"]).astype(np.float64) * lumi_weight(dataset)
            if not dataset.get("is_data"):
                weight = weight * {"trigger_up": 1.02, "trigger_down": 0.98}.get(variation, 1.0)
            triggered = ak.to_numpy(events["trigger"]).astype(bool)
            left = triggered & (mass > 60) & (mass < 120)
            for key, values in (("z_mass", mass), ("z_pt", z_pt), ("muon_pt", pt)):
                fill(histograms[key], values[left], weight[left], name, variation)
            if variation == "nominal":
                skim[name] = ak.to_numpy(events["event"])[left].tolist()
                cutflow[name] = [len(left), int(triggered.sum()), int(left.sum())]
    return {"histograms": histograms, "events": skim, "cutflow": cutflow}
