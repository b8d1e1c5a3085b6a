"""Random numbers of a block's events, with the usual methods of numpy.random.Generator.

They depend only on the job's seed, the module's label, run, lumi and event: not on children,
threads, blocks or the numbers drawn for other events. docs/modules.md describes the algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun import _core
from forkrun.base.awkward_array import is_awkward, with_none
from forkrun.base.quantities import plural
from forkrun.modules.columns import jagged_array, offsets_of, values_of

Array: TypeAlias = npt.NDArray[Any]
Values: TypeAlias = Any  # npt.NDArray or, jagged, an ak.Array


class Fixed(Struct, frozen=True):
    """Form with the same number of values for every event: (n_events,) or, with `k`, (n_events,
    k)."""

    n_events: int
    k: int | None = None

    @property
    def counts(self) -> int:
        """Values per event, in the form for the core."""
        return 1 if self.k is None else self.k

    def spread(self, parameter: Values) -> Array:
        """(1,) or one per value."""
        wanted = (self.n_events,) if self.k is None else (self.n_events, self.k)
        if is_awkward(parameter):
            raise _misfit("(n_events, any number)", f"values of shape {wanted}")
        if parameter.ndim == 0:
            return np.asarray(parameter.reshape(1))
        if parameter.shape not in (wanted, (self.n_events,), (self.n_events, 1)):
            raise _misfit(parameter.shape, f"values of shape {wanted}")
        if parameter.ndim < len(wanted):
            parameter = parameter[:, np.newaxis]
        return np.broadcast_to(parameter, wanted).ravel()

    def shaped(self, values: Array) -> Values:
        return values if self.k is None else values.reshape(self.n_events, self.k)


class Jagged(Struct, frozen=True, eq=False):
    """Form with any number of values: (n_events, n). `offsets`: (n_events + 1,) int64."""

    offsets: Array

    @classmethod
    def of_counts(cls, n_events: int, counts: Array) -> Jagged:
        """`counts`: (n_events,)."""
        if counts.shape != (n_events,):
            raise _misfit(counts.shape, f"one count for each of {plural(n_events, 'event')}")
        if np.any(counts < 0):
            raise ValueError("random numbers: a count is negative")
        offsets = np.zeros(n_events + 1, dtype=np.int64)
        np.cumsum(counts, out=offsets[1:])
        return cls(offsets)

    @property
    def counts(self) -> Array:
        """Values per event, in the form for the core."""
        return self.offsets

    def spread(self, parameter: Values) -> Array:
        """(1,) or one per value."""
        if is_awkward(parameter):
            if not np.array_equal(offsets_of(parameter), self.offsets):
                raise ValueError("random numbers: a parameter has another number of values")
            return values_of(parameter)
        if parameter.ndim == 0:
            return np.asarray(parameter.reshape(1))
        counts = np.diff(self.offsets)
        if parameter.shape != counts.shape:
            raise _misfit(parameter.shape, plural(len(counts), "event"))
        return np.repeat(parameter, counts)

    def shaped(self, values: Array) -> Values:
        return jagged_array(self.offsets, values)


def as_values(parameter: Any) -> Values:
    """An ak.Array for jagged parameters, else an npt.NDArray of 0, 1 or 2 dimensions."""
    parameter = with_none(parameter)
    is_jagged = is_awkward(parameter) and parameter.ndim > 1
    return parameter if is_jagged else np.asarray(parameter)


def form_of(n_events: int, parameters: Sequence[Values], size: Any, like: Values) -> Fixed | Jagged:
    """Form of the values: as requested, else that of the parameters. Raises ValueError."""
    if size is not None and like is not None:
        raise ValueError("random numbers: give size or like, not both")
    if size is not None:
        return _of_size(n_events, size)
    if like is not None:
        return _like(n_events, as_values(like))
    deep = next((values for values in parameters if values.ndim > 1), None)
    return Fixed(n_events) if deep is None else _like(n_events, deep)


def _like(n_events: int, column: Values) -> Fixed | Jagged:
    if len(column) != n_events:
        raise ValueError(f"random numbers: wanted {plural(n_events, 'event')}, got {len(column)}")
    if is_awkward(column):
        return Jagged(offsets_of(column))
    if column.ndim != 2:
        raise ValueError("random numbers: like is a column of any number of values per event")
    return Fixed(n_events, column.shape[1])


def _of_size(n_events: int, size: Any) -> Fixed | Jagged:
    counts = np.asarray(with_none(size))
    if not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 0):
        raise ValueError("random numbers: size is a count, or an array of one count per event")
    return Fixed(n_events, int(counts)) if counts.ndim == 0 else Jagged.of_counts(n_events, counts)


def _misfit(what: object, wanted: str) -> ValueError:
    return ValueError(f"random numbers: a parameter of shape {what} does not fit {wanted}")


class BlockRandom:
    """Random numbers. Each call gives one value per event: (n_events,); with `size=k`, k of them:
    (n_events, k); with an array of counts as `size`, or `like=` a jagged column, any number: an
    Awkward Array (n_events, n). Parameters are numbers, or arrays with one per event or per value;
    without `size` and `like`, the values have the form of a parameter with more than one per event.

    Each call continues the event's own stream. Values are float64 or int64. Raises ValueError for
    parameters that are invalid or do not fit."""

    def __init__(self, core: _core.BlockRandom, mask: Array | None = None) -> None:
        """`mask`: (n_events,) bool, events that get numbers; None: all."""
        self._core = core
        self._mask = mask

    def __len__(self) -> int:
        return self._core.n_events if self._mask is None else int(np.count_nonzero(self._mask))

    def of_some(self, mask: Array) -> BlockRandom:
        """The same streams for some of the events: each has the same numbers as among all."""
        if self._mask is not None:
            whole = self._mask.copy()
            whole[whole] = mask
            mask = whole
        return BlockRandom(self._core, mask)

    def random(self, size: Any = None, *, like: Values = None) -> Values:
        """Uniform in [0, 1)."""
        return self._draw(self._core.uniform, np.float64, (0.0, 1.0), size, like)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Any = None, *, like: Values = None
    ) -> Values:
        """Uniform in [low, high)."""
        return self._draw(self._core.uniform, np.float64, (low, high), size, like)

    def normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, like: Values = None
    ) -> Values:
        """Normal distribution of mean `loc` and standard deviation `scale`."""
        return self._draw(self._core.normal, np.float64, (loc, scale), size, like)

    def exponential(self, scale: Any = 1.0, size: Any = None, *, like: Values = None) -> Values:
        """Exponential distribution of mean `scale`."""
        return self._draw(self._core.exponential, np.float64, (scale,), size, like)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, *, like: Values = None
    ) -> Values:
        """Integers in [low, high), or [0, low) without `high`."""
        bounds = (0, low) if high is None else (low, high)
        return self._draw(self._core.integers, np.int64, bounds, size, like)

    def poisson(self, lam: Any = 1.0, size: Any = None, *, like: Values = None) -> Values:
        """Poisson distribution of mean `lam`, at most 1e12."""
        return self._draw(self._core.poisson, np.float64, (lam,), size, like)

    def generator(self, event: int) -> np.random.Generator:
        """A NumPy generator for one event of the block, for distributions not offered here, seeded
        with the next two words of the event's stream. Its numbers may change with the version of
        NumPy."""
        place = event if self._mask is None else int(np.flatnonzero(self._mask)[event])
        return np.random.Generator(np.random.Philox(key=self._core.words_of(place, 2)))

    def _draw(
        self,
        method: Callable[..., Array],
        dtype: type[np.generic],
        parameters: tuple[Any, ...],
        size: Any,
        like: Values,
    ) -> Values:
        given = [as_values(parameter) for parameter in parameters]
        form = form_of(len(self), given, size, like)
        spread = [form.spread(values).astype(dtype, casting="safe") for values in given]
        return form.shaped(method(self._counts(form.counts), *spread))

    def _counts(self, of_these: Any) -> Any:
        """Values per event in the whole block, or offsets if their number differs."""
        if self._mask is None:
            return of_these
        offsets = np.zeros(self._core.n_events + 1, dtype=np.int64)
        offsets[1:][self._mask] = of_these if np.ndim(of_these) == 0 else np.diff(of_these)
        return np.cumsum(offsets)
