"""Random numbers of a block's events, with the usual methods of numpy.random.Generator.

They depend on the job's seed, the module's label, run, lumi and event, and on nothing else: not on
children, threads, blocks or on what other events draw. docs/modules.md says how they are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forkrun import _core
from forkrun.modules.random_forms import Array, Values, as_values, form_of


class BlockRandom:
    """Each call gives one value per event: (n_events,); with `size=k` k of them: (n_events, k);
    with an array of counts as `size`, or `like=` a jagged column, any number: an Awkward Array
    (n_events, n). Parameters are numbers, or arrays of one per event or of one per value; without
    `size` and `like` the values have the form of a parameter with more than one per event.

    A call continues each event's own stream where the call before has stopped. float64 or int64.
    Raises ValueError if a parameter means nothing or does not fit."""

    def __init__(self, core: _core.BlockRandom, mask: Array | None = None) -> None:
        """`mask`: (n_events,) bool, the events that get numbers; not given: all."""
        self._core = core
        self._mask = mask

    def __len__(self) -> int:
        return self._core.n_events if self._mask is None else int(np.count_nonzero(self._mask))

    def of_some(self, mask: Array) -> BlockRandom:
        """The same streams, of some events: each has the numbers that it would have of all."""
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
        """A NumPy generator for one event of the block, for what is missing here; seeded with the
        next two words of the event's stream. NumPy may change what it makes of them."""
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
        """Values per event in the whole block, or offsets where their number differs."""
        if self._mask is None:
            return of_these
        offsets = np.zeros(self._core.n_events + 1, dtype=np.int64)
        offsets[1:][self._mask] = of_these if np.ndim(of_these) == 0 else np.diff(of_these)
        return np.cumsum(offsets)
