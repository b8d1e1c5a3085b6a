"""Particles at generator level: e+e- → ZH and ZZ at 250 GeV, the first Z into two muons."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

ENERGY_GEV, MASS_Z, WIDTH_Z, MASS_H = 250.0, 91.19, 2.5, 125.0
MUON, HADRON = 13, 211
_N_HADRONS = 40
_SHARE_OF_SIGNAL = 0.7


class Particles(Struct, frozen=True):
    """Particles of many events, one after the other. `event`, `place`: (n,) event of each, and its
    position in it; `four`: (n, 4) px, py, pz, E [GeV]; `mother`: (n,) position of its mother, -1
    for none; `is_stable`: (n,)."""

    event: Any
    place: Any
    pdg: Any
    four: Any
    mother: Any
    is_stable: Any

    @property
    def charge(self) -> Any:
        """(n,) charges in units of the positron's."""
        charges = {11: -1, 13: -1, -13: 1, 211: 1, -211: -1, 5: -1 / 3, -5: 1 / 3, -11: 1}
        return np.array([charges.get(int(pdg), 0) for pdg in self.pdg], np.float32)


def particles_of(n_events: int, random: np.random.Generator) -> Particles:
    """Beams, Z, H (or Z), two muons, two quarks, and their decay products."""
    is_signal = random.random(n_events) < _SHARE_OF_SIGNAL
    mass_z = np.clip(MASS_Z + WIDTH_Z / 2 * random.standard_cauchy(n_events), 80, 100)
    mass_x = np.where(is_signal, MASS_H, np.clip(random.normal(MASS_Z, WIDTH_Z, n_events), 80, 100))
    z, x = _two_body(np.full(n_events, ENERGY_GEV), mass_z, mass_x, random)
    muons = [_boosted(each, z) for each in _two_body(mass_z, 0.1057, 0.1057, random)]
    quarks = [_boosted(each, x) for each in _two_body(mass_x, 4.2, 4.2, random)]
    beams = np.zeros((2, n_events, 4))
    beams[:, :, 2:] = [[[ENERGY_GEV / 2] * 2], [[-ENERGY_GEV / 2, ENERGY_GEV / 2]]]
    hard = np.stack([*beams, z, x, *muons, *quarks], axis=1)
    hadrons, event, of_quark = _hadrons(np.stack(quarks, axis=1), random)
    n_hard = hard.shape[1]
    pdg = np.tile([11, -11, 23, 25, 13, -13, 5, -5], (n_events, 1))
    pdg[~is_signal, 3] = 23
    kinds = random.choice([211, -211, 22], len(event), p=[0.32, 0.32, 0.36])
    owner = np.concatenate([np.repeat(np.arange(n_events), n_hard), event])
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=n_events)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    mothers = np.tile([-1, -1, 0, 0, 2, 2, 3, 3], (n_events, 1)).ravel()
    stable = np.tile([False] * 4 + [True] * 2 + [False] * 2, (n_events, 1)).ravel()
    return Particles(
        owner[order],
        place,
        np.concatenate([pdg.ravel(), kinds])[order],
        np.concatenate([hard.reshape(-1, 4), hadrons])[order],
        np.concatenate([mothers, 6 + of_quark])[order],
        np.concatenate([stable, np.ones(len(event), np.bool_)])[order],
    )


def _two_body(mass: Any, one: Any, other: Any, random: np.random.Generator) -> tuple[Any, Any]:
    """Four-momenta of two particles from the isotropic decay of a third at rest."""
    n = len(mass)
    sums, differences = mass**2 - (one + other) ** 2, mass**2 - (one - other) ** 2
    momentum = np.sqrt(np.maximum(sums * differences, 0)) / (2 * mass)
    three = momentum[:, None] * _directions(n, random)
    energies = [np.sqrt(momentum**2 + m**2) for m in (one, other)]
    return (
        np.concatenate([three, energies[0][:, None]], axis=1),
        np.concatenate([-three, energies[1][:, None]], axis=1),
    )


def _directions(n: int, random: np.random.Generator) -> Any:
    cosine, phi = random.uniform(-1, 1, n), random.uniform(-np.pi, np.pi, n)
    sine = np.sqrt(1 - cosine**2)
    return np.stack([sine * np.cos(phi), sine * np.sin(phi), cosine], axis=1)


def _boosted(four: Any, frame: Any) -> Any:
    """`four` boosted from the rest frame of a particle to the frame in which the particle has the
    momentum `frame`."""
    mass = np.sqrt(np.maximum(frame[:, 3] ** 2 - (frame[:, :3] ** 2).sum(1), 1e-9))
    along = (four[:, :3] * frame[:, :3]).sum(1)
    energy = (four[:, 3] * frame[:, 3] + along) / mass
    factor = (four[:, 3] + energy) / (frame[:, 3] + mass)
    return np.concatenate([four[:, :3] + factor[:, None] * frame[:, :3], energy[:, None]], axis=1)


def _hadrons(quarks: Any, random: np.random.Generator) -> tuple[Any, Any, Any]:
    """Momenta of the hadrons from quarks, (n, 2, 4), with the event of each, and which of the two
    quarks."""
    n_events = len(quarks)
    counts = random.poisson(_N_HADRONS / 2, (n_events, 2)) + 1
    owner = np.repeat(np.arange(2 * n_events), counts.ravel())
    shares = random.exponential(1, len(owner))
    shares /= np.bincount(owner, shares)[owner]
    of = quarks.reshape(-1, 4)[owner]
    momenta = shares[:, None] * of[:, :3] + random.normal(0, 0.35, (len(owner), 3))
    energy = np.sqrt((momenta**2).sum(1) + 0.1396**2)
    return np.concatenate([momenta, energy[:, None]], axis=1), owner // 2, owner % 2
