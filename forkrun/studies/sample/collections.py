"""Jagged collections: objects of each event, ordered by transverse momentum."""

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
