"""Physics objects of an event: muons, electrons, jets, photons, ordered by transverse momentum, and
their columns."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

F64 = npt.NDArray[np.float64]

Z_MASS_GEV = 91.1876
Z_WIDTH_GEV = 2.4952
BEAM_ENERGY_GEV = 13_600.0


class Momenta(NamedTuple):
    """(n,) transverse momentum, pseudorapidity and azimuth in (-pi, pi]."""

    pt: F64
    eta: F64
    phi: F64


def z_masses(rng: np.random.Generator, n: int) -> F64:
    """(n,) masses from a Breit-Wigner between 40 and 200 GeV, by its inverse distribution."""
    low, high = (np.arctan(2 * (m - Z_MASS_GEV) / Z_WIDTH_GEV) for m in (40.0, 200.0))
    return Z_MASS_GEV + 0.5 * Z_WIDTH_GEV * np.tan(rng.uniform(low, high, n))


def z_to_leptons(rng: np.random.Generator, n: int) -> tuple[Momenta, Momenta]:
    """(n,) negative and positive leptons of n Z bosons, massless, before acceptance.

    The pair's transverse momentum peaks near 6 GeV with a long tail; its rapidity is a Gaussian
    within the kinematic limit; the decay angle goes as 1 + cos^2."""
    mass = z_masses(rng, n)
    pt = rng.gamma(1.5, 5.0, n) + np.where(rng.random(n) < 0.2, rng.exponential(35.0, n), 0.0)
    limit = np.log(BEAM_ENERGY_GEV / np.hypot(mass, pt))
    rapidity = np.clip(rng.normal(0.0, 1.7, n), -limit, limit)
    phi = rng.uniform(-np.pi, np.pi, n)
    direction = _unit_vectors(_cos_theta(rng, n), rng.uniform(-np.pi, np.pi, n))
    z = np.array([pt * np.cos(phi), pt * np.sin(phi), np.hypot(mass, pt) * np.sinh(rapidity)])
    energy = np.hypot(mass, pt) * np.cosh(rapidity)
    return _decay(mass, z, energy, direction), _decay(mass, z, energy, -direction)


def _cos_theta(rng: np.random.Generator, n: int) -> F64:
    """(n,) values of density 3/8 (1 + x^2): a mixture of 3/4 flat and 1/4 of 3/2 x^2."""
    flat = rng.uniform(-1.0, 1.0, n)
    return np.where(rng.random(n) < 0.75, flat, np.cbrt(flat))


def _unit_vectors(cos_theta: F64, phi: F64) -> F64:
    """(3, n) unit vectors."""
    sin_theta = np.sqrt(1 - cos_theta**2)
    return np.array([sin_theta * np.cos(phi), sin_theta * np.sin(phi), cos_theta])


def _decay(mass: F64, z: F64, energy: F64, direction: F64) -> Momenta:
    """A massless daughter along `direction` in the rest frame, boosted to the laboratory."""
    rest = 0.5 * mass * direction
    along = (rest * z).sum(axis=0)
    p = rest + z * (along / (mass * (energy + mass)) + 0.5)
    pt = np.hypot(p[0], p[1])
    return Momenta(pt, np.arcsinh(p[2] / pt), np.arctan2(p[1], p[0]))


def falling(
    rng: np.random.Generator, n: int, pt_min: float, power: float, eta_width: float
) -> Momenta:
    """(n,) momenta with a spectrum falling as pt^-power from `pt_min` on."""
    pt = np.minimum(pt_min * rng.random(n) ** (-1 / (power - 1)), 3000.0)
    return Momenta(pt, rng.normal(0.0, eta_width, n), rng.uniform(-np.pi, np.pi, n))


def smeared(rng: np.random.Generator, momenta: Momenta, resolution: float) -> Momenta:
    """Momenta after detector resolution: relative resolution of pt, 1.5 × as large at |eta| 2.5."""
    width = resolution * (1 + 0.2 * np.abs(momenta.eta))
    return momenta._replace(pt=momenta.pt * np.exp(width * rng.normal(size=momenta.pt.size)))


Array: TypeAlias = npt.NDArray[Any]
Column: TypeAlias = "Array | tuple[npt.NDArray[np.int64], Array]"

PRECISION_BITS = 10


class Objects(Struct, frozen=True):
    """Objects of a cluster of events. `offsets`: (n_events + 1,); `event`: (n,) index of the event;
    within an event, pt decreases."""

    offsets: npt.NDArray[np.int64]
    event: npt.NDArray[np.int64]
    momenta: Momenta
    charge: npt.NDArray[np.int32]
    prompt: npt.NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of objects in all events."""
        return int(self.offsets[-1])

    def jagged(self, values: Array) -> Column:
        """A column of one value per object."""
        return self.offsets, values


def join(
    n_events: int, *parts: tuple[npt.NDArray[np.int64], Momenta, npt.NDArray[np.int32], bool]
) -> Objects:
    """Joins several sources into one collection; a part is (event, momenta, charge, prompt)."""
    event = np.concatenate([part[0] for part in parts])
    pt, eta, phi = (np.concatenate([part[1][i] for part in parts]) for i in range(3))
    charge = np.concatenate([part[2] for part in parts])
    prompt = np.concatenate([np.full(part[0].size, part[3]) for part in parts])
    order = np.lexsort((-pt, event))
    offsets = np.zeros(n_events + 1, np.int64)
    np.cumsum(np.bincount(event, minlength=n_events), out=offsets[1:])
    momenta = Momenta(pt[order], eta[order], phi[order])
    return Objects(offsets, event[order], momenta, charge[order], prompt[order])


def accepted(
    rng: np.random.Generator, momenta: Momenta, pt_min: float, eta_max: float, efficiency: float
) -> npt.NDArray[np.bool_]:
    """(n,) whether the detector finds each object."""
    found = rng.random(momenta.pt.size) < efficiency
    return (momenta.pt > pt_min) & (np.abs(momenta.eta) < eta_max) & found


def reduced(values: Array) -> npt.NDArray[np.float32]:
    """Rounds to float32 with PRECISION_BITS bits of mantissa, like most columns of NanoAOD."""
    drop = 23 - PRECISION_BITS
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(1 << (drop - 1))) & np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
    return rounded.view(np.float32)


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
