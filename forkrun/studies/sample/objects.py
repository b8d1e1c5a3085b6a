"""Physics objects of an event: muons, electrons, jets, photons, and their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.studies.sample.collections import (
    Array,
    Column,
    Momenta,
    Objects,
    accepted,
    falling,
    join,
    reduced,
    smeared,
    z_to_leptons,
)

MUON_MASS_GEV = 0.1056583745
ELECTRON_MASS_GEV = 0.000510998950
Z_FRACTION = {"Muon": 0.35, "Electron": 0.15}


def make_leptons(
    rng: np.random.Generator, decays: npt.NDArray[np.int64], size: Array, kind: str
) -> Objects:
    """Leptons of one kind: from Z decays and from a combinatorial background.

    decays: indices of the events with a Z of this kind; size: (n_events,) relative event size."""
    resolution, eta_max = {"Muon": (0.012, 2.4), "Electron": (0.02, 2.5)}[kind]
    parts = []
    for momenta, charge in zip(z_to_leptons(rng, decays.size), (-1, 1), strict=True):
        seen = smeared(rng, momenta, resolution)
        found = accepted(rng, seen, 3.0, eta_max, 0.96)
        charges = np.full(int(found.sum()), charge, np.int32)
        parts.append((decays[found], Momenta(*(x[found] for x in seen)), charges, True))
    event = np.repeat(np.arange(size.size), rng.poisson(0.3 * np.sqrt(size)))
    soft = falling(rng, event.size, 3.0, 3.5, 1.3)
    found = accepted(rng, soft, 3.0, eta_max, 1.0)
    charges = rng.choice(np.array([-1, 1], np.int32), event.size)[found]
    parts.append((event[found], Momenta(*(x[found] for x in soft)), charges, False))
    return join(size.size, *parts)


def make_hadronic(
    rng: np.random.Generator,
    size: Array,
    mean: float,
    pt_min: float,
    power: float,
    eta_width: float,
) -> Objects:
    """Jets, photons, …: `mean` per event of size 1, with a falling spectrum."""
    event = np.repeat(np.arange(size.size), rng.poisson(mean * size))
    momenta = falling(rng, event.size, pt_min, power, eta_width)
    return join(size.size, (event, momenta, np.zeros(event.size, np.int32), False))


def momentum_columns(name: str, objects: Objects, mass: Array) -> dict[str, Column]:
    """`NAME_pt`, `_eta`, `_phi`, `_mass`."""
    pt, eta, phi = objects.momenta
    columns = {"pt": pt.astype(np.float32), "eta": reduced(eta), "phi": reduced(phi), "mass": mass}
    return {
        f"{name}_{key}": objects.jagged(np.asarray(v, np.float32)) for key, v in columns.items()
    }


def lepton_columns(rng: np.random.Generator, name: str, objects: Objects) -> dict[str, Column]:
    """Columns of muons or electrons: prompt ones are isolated and come from the vertex."""
    n, prompt = objects.n, objects.prompt
    mass, code = {"Muon": (MUON_MASS_GEV, 13), "Electron": (ELECTRON_MASS_GEV, 11)}[name]
    width = np.where(prompt, 0.003, 0.02)
    isolation = np.where(prompt, rng.exponential(0.04, n), rng.exponential(0.6, n))
    quality = rng.random(n) + 0.35 * prompt
    columns: dict[str, Any] = {
        "charge": objects.charge,
        "pdgId": -code * objects.charge,
        "dxy": reduced(rng.normal(0.0, width)),
        "dz": reduced(rng.normal(0.0, 2 * width)),
        "ip3d": reduced(np.abs(rng.normal(0.0, width)) + 1e-4),
        "sip3d": reduced(rng.exponential(np.where(prompt, 1.0, 4.0))),
        "pfRelIso03_all": reduced(isolation),
        "miniPFRelIso_all": reduced(isolation * rng.uniform(0.5, 1.0, n)),
        "jetIdx": rng.integers(-1, 3, n, dtype=np.int32),
        **_identification(rng, name, n, quality),
    }
    jagged = {f"{name}_{key}": objects.jagged(values) for key, values in columns.items()}
    return {**momentum_columns(name, objects, np.full(n, mass)), **jagged}


def _identification(
    rng: np.random.Generator, name: str, n: int, quality: Array
) -> dict[str, Array]:
    if name == "Electron":
        return {
            "cutBased": np.clip(4 * quality, 0, 4).astype(np.int32),
            "convVeto": quality > 0.1,
            "lostHits": rng.poisson(0.1, n).astype(np.uint8),
            "r9": reduced(rng.beta(8, 1, n)),
        }
    return {
        "pfRelIso04_all": reduced(rng.exponential(0.1, n)),
        "looseId": quality > 0.05,
        "mediumId": quality > 0.2,
        "tightId": quality > 0.4,
        "isGlobal": quality > 0.1,
        "nStations": rng.integers(0, 5, n, dtype=np.int32),
        "highPtId": rng.integers(0, 3, n, dtype=np.uint8),
    }


def jet_columns(rng: np.random.Generator, objects: Objects) -> dict[str, Column]:
    """Columns of jets."""
    n = objects.n
    charged = rng.beta(4, 3, n)
    columns: dict[str, Array] = {
        "btagDeepFlavB": reduced(rng.beta(0.3, 2.5, n)),
        "chHEF": reduced(charged),
        "neHEF": reduced((1 - charged) * rng.random(n)),
        "area": reduced(rng.normal(0.5, 0.03, n)),
        "rawFactor": reduced(rng.normal(0.05, 0.05, n)),
        "jetId": rng.choice(np.array([0, 2, 6], np.int32), n, p=[0.02, 0.03, 0.95]),
        "puId": rng.choice(np.array([0, 4, 7], np.int32), n, p=[0.1, 0.1, 0.8]),
        "hadronFlavour": rng.choice(np.array([0, 4, 5], np.int32), n, p=[0.85, 0.1, 0.05]),
        "nConstituents": rng.poisson(18, n).clip(0, 255).astype(np.uint8),
    }
    jagged = {f"Jet_{key}": objects.jagged(values) for key, values in columns.items()}
    return {**momentum_columns("Jet", objects, _jet_mass(rng, objects)), **jagged}


def fat_jet_columns(rng: np.random.Generator, objects: Objects) -> dict[str, Column]:
    """Columns of large-radius jets."""
    tau1 = rng.beta(4, 8, objects.n)
    columns = {
        "tau1": tau1,
        "tau2": tau1 * rng.beta(6, 3, objects.n),
        "msoftdrop": rng.gamma(2, 20, objects.n),
    }
    jagged = {f"FatJet_{key}": objects.jagged(reduced(values)) for key, values in columns.items()}
    return {**momentum_columns("FatJet", objects, _jet_mass(rng, objects)), **jagged}


def photon_columns(rng: np.random.Generator, objects: Objects) -> dict[str, Column]:
    """Columns of photons."""
    return {
        **momentum_columns("Photon", objects, np.zeros(objects.n)),
        "Photon_r9": objects.jagged(reduced(rng.beta(8, 1, objects.n))),
        "Photon_electronVeto": objects.jagged(rng.random(objects.n) < 0.9),
    }


def _jet_mass(rng: np.random.Generator, objects: Objects) -> npt.NDArray[np.float32]:
    return reduced(objects.momenta.pt * rng.gamma(9.0, 0.014, objects.n))
