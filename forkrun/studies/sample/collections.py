"""Jagged collections: which event has which objects, ordered by transverse momentum."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.studies.sample.kinematics import Momenta

Array: TypeAlias = npt.NDArray[Any]
Column: TypeAlias = "Array | tuple[npt.NDArray[np.int64], Array]"

PRECISION_BITS = 10


class Objects(Struct, frozen=True):
    """Objects of a cluster of events. `offsets`: (n_events + 1,); `event`: (n,) index of each one's
    event; within an event pt falls."""

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
    """One collection of several sources; a part is (event, momenta, charge, prompt)."""
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
    """(n,) which objects the detector finds."""
    found = rng.random(momenta.pt.size) < efficiency
    return (momenta.pt > pt_min) & (np.abs(momenta.eta) < eta_max) & found


def reduced(values: Array) -> npt.NDArray[np.float32]:
    """float32 with PRECISION_BITS bits of mantissa, rounded: as NanoAOD stores most columns."""
    drop = 23 - PRECISION_BITS
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(1 << (drop - 1))) & np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
    return rounded.view(np.float32)
