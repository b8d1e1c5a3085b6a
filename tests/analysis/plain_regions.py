"""What configs/zmumu/regions.py does, with uproot, Awkward Array, NumPy and hist alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import uproot

from tests.analysis.zmumu_files import N_FILES, read

LUMINOSITY = 0.1
CROSS_SECTIONS = {"dy": 6077.2, "ttbar": 831.8, "ww": 118.7}
VARIATIONS = ["nominal", "scale_up", "scale_down", "norm_up", "norm_down"]
REGIONS = ("signal", "control")
AXES = {"mass": (40, 0, 200), "Muon_pt": (50, 0, 100), "met": (20, 0, 100)}


def empty(bins: tuple[int, float, float]) -> Any:
    return hist.Hist(
        hist.axis.Regular(*bins),
        hist.axis.StrCategory(list(N_FILES)),
        hist.axis.StrCategory(VARIATIONS),
        storage=hist.storage.Weight(),
    )


def lumi_weight(folder: Path, name: str) -> float:
    if name == "data":
        return 1.0
    total = 0.0
    for n in range(N_FILES[name]):
        with uproot.open(folder / f"{name}_{n}.root") as file:
            total += float(file["Runs"]["genEventSumw"].array(library="np").sum())
    return LUMINOSITY * 1000 * CROSS_SECTIONS[name] / total


def momenta(events: ak.Array, is_data: bool, variation: str) -> ak.Array:
    """Each step has the precision of the column."""
    pt = events.Muon_pt
    if is_data:
        return pt
    factor = ak.where(abs(events.Muon_eta) < 1.2, 1.01, 1.02)
    pt = ak.values_astype(factor * pt, np.float32)
    shift = {"scale_up": 1.005, "scale_down": 0.995}.get(variation)
    return pt if shift is None else ak.values_astype(shift * pt, np.float32)


def rows(column: ak.Array) -> list[Any]:
    """The values of each event: many times faster than Awkward's own."""
    ends = np.cumsum(ak.to_numpy(ak.num(column)))
    return np.split(ak.to_numpy(ak.flatten(column)), ends[:-1])


def pairs(events: ak.Array, pt: ak.Array) -> tuple[Any, Any]:
    mass, charge = np.full(len(events), -1.0), np.full(len(events), 9)
    columns = map(rows, (pt, events.Muon_eta, events.Muon_phi, events.Muon_charge))
    for i, values in enumerate(zip(*columns, strict=True)):
        order = np.argsort(-values[0], kind="stable")
        order = order[values[0][order] > 20][:2]
        if len(order) == 2:
            (p1, p2), (e1, e2), (f1, f2), (c1, c2) = (each[order] for each in values)
            angles = np.cosh(e1 - e2) - np.cos(f1 - f2)
            mass[i], charge[i] = np.sqrt(2 * p1 * p2 * angles), c1 + c2
    return mass, charge


def run(folder: Path) -> dict[str, Any]:
    """Histograms of each region, and by dataset the events and the numbers after each cut."""
    histograms = {region: {n: empty(axis) for n, axis in AXES.items()} for region in REGIONS}
    events_of: dict[str, dict[str, list[int]]] = {r: {n: [] for n in N_FILES} for r in REGIONS}
    cutflow = {region: {name: np.zeros(3, np.int64) for name in N_FILES} for region in REGIONS}
    for name, n_files in N_FILES.items():
        for n in range(n_files):
            events = read(folder / f"{name}_{n}.root")
            trigger = ak.to_numpy(events.HLT_IsoMu20 | events.HLT_IsoMu24)
            weight = ak.to_numpy(events.genWeight).astype(np.float64) * lumi_weight(folder, name)
            for variation in VARIATIONS:
                pt = momenta(events, name == "data", variation)
                mass, charge = pairs(events, pt)
                met = ak.to_numpy(events.MET_pt)
                is_z = (charge == 0) & (mass > 81) & (mass < 101)
                selected = {
                    "signal": trigger & is_z & (met < 40),
                    "control": trigger & ((abs(charge) == 2) | ((charge == 0) & (mass > 101))),
                }
                factor = {"norm_up": 1.025, "norm_down": 0.975}.get(variation, 1.0)
                each = weight * (1.0 if name == "data" else factor)
                for region, left in selected.items():
                    of = histograms[region]
                    of["mass"].fill(mass[left], name, variation, weight=each[left])
                    of["met"].fill(met[left], name, variation, weight=each[left])
                    n_muons = ak.to_numpy(ak.num(pt[left]))
                    of["Muon_pt"].fill(
                        ak.to_numpy(ak.flatten(pt[left])), name, variation,
                        weight=np.repeat(each[left], n_muons),
                    )  # fmt: skip
                    if variation == "nominal":
                        events_of[region][name] += ak.to_numpy(events.event)[left].tolist()
                        cutflow[region][name] += [len(left), int(trigger.sum()), int(left.sum())]
    return {"histograms": histograms, "events": events_of, "cutflow": cutflow}
