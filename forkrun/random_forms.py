"""The forms that random values of a block's events can have, and how parameters fit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import awkward as ak
import numpy as np
import numpy.typing as npt

from forkrun.columns import jagged_array, offsets_of, values_of

Array: TypeAlias = npt.NDArray[Any]
Values: TypeAlias = Any  # npt.NDArray or, jagged, an ak.Array


@dataclass(frozen=True)
class Fixed:
    """The same number for every event: (n_events,) or, with `k`, (n_events, k)."""

    n_events: int
    k: int | None = None

    @property
    def counts(self) -> int:
        """Values per event, as the core wants them."""
        return 1 if self.k is None else self.k

    def spread(self, parameter: Values) -> Array:
        """(1,) or one per value."""
        values = ak.to_numpy(parameter) if isinstance(parameter, ak.Array) else parameter
        if values.shape == (self.n_events,) and self.k is not None:
            values = values[:, np.newaxis]
        wanted = (self.n_events,) if self.k is None else (self.n_events, self.k)
        fits = values.ndim in (0, len(wanted)) and values.shape[:1] in ((), wanted[:1])
        if not fits or values.shape[1:] not in ((), (1,), wanted[1:]):
            raise _misfit(values.shape, f"values {wanted}")
        return values.reshape(1) if values.ndim == 0 else np.broadcast_to(values, wanted).ravel()

    def shaped(self, values: Array) -> Values:
        return values if self.k is None else values.reshape(self.n_events, self.k)


@dataclass(frozen=True, eq=False)
class Jagged:
    """Any number: (n_events, n). `offsets`: (n_events + 1,) int64."""

    offsets: Array

    @classmethod
    def of_counts(cls, n_events: int, counts: Array) -> Jagged:
        """Counts: (n_events,)."""
        if counts.shape != (n_events,):
            raise _misfit(counts.shape, f"one count for each of {n_events} events")
        if np.any(counts < 0):
            raise ValueError("random numbers: a count is negative")
        offsets = np.zeros(n_events + 1, dtype=np.int64)
        np.cumsum(counts, out=offsets[1:])
        return cls(offsets)

    @property
    def counts(self) -> Array:
        """Values per event, as the core wants them."""
        return self.offsets

    def spread(self, parameter: Values) -> Array:
        """(1,) or one per value."""
        if isinstance(parameter, ak.Array):
            if not np.array_equal(offsets_of(parameter), self.offsets):
                raise ValueError("random numbers: a parameter has another number of values")
            return values_of(parameter)
        if parameter.ndim == 0:
            return np.asarray(parameter.reshape(1))
        counts = np.diff(self.offsets)
        if parameter.shape != counts.shape:
            raise _misfit(parameter.shape, f"{len(counts)} events")
        return np.repeat(parameter, counts)

    def shaped(self, values: Array) -> Values:
        return jagged_array(self.offsets, values)


def as_values(parameter: Any) -> Values:
    """An ak.Array where it is jagged, else an npt.NDArray of 0, 1 or 2 dimensions."""
    is_jagged = isinstance(parameter, ak.Array) and parameter.ndim > 1
    return parameter if is_jagged else np.asarray(parameter)


def form_of(n_events: int, parameters: Sequence[Values], size: Any, like: Values) -> Fixed | Jagged:
    """From what the caller says, else from the parameters. Raises ValueError."""
    if size is not None and like is not None:
        raise ValueError("random numbers: give size or like, not both")
    if size is not None:
        return _of_size(n_events, size)
    deep = [values for values in ([like] if like is not None else parameters) if values.ndim > 1]
    if not deep:
        return Fixed(n_events)
    if isinstance(deep[0], ak.Array):
        return Jagged(offsets_of(deep[0]))
    return Fixed(n_events, deep[0].shape[1])


def _of_size(n_events: int, size: Any) -> Fixed | Jagged:
    counts = np.asarray(size)
    if not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 0):
        raise ValueError("random numbers: size is a count, or an array of one count per event")
    return Fixed(n_events, int(counts)) if counts.ndim == 0 else Jagged.of_counts(n_events, counts)


def _misfit(what: object, wanted: str) -> ValueError:
    return ValueError(f"random numbers: a parameter of shape {what} does not fit {wanted}")
