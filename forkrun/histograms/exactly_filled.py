"""The class of a booked histogram, derived from the one that it had: its weighted fills are summed
exactly. All that reads or writes a histogram gets at its content as `_hist`, so here."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import boost_histogram as bh
import numpy as np

from forkrun.histograms.exact_fills import ExactFills
from forkrun.histograms.sums import Storage


class _ExactlyFilled:
    """What a booked histogram does in another way than the class that it is of."""

    __slots__ = ()
    _forkrun_fills: ExactFills
    _forkrun_class: Any

    @property
    def _hist(self) -> Any:
        return self._forkrun_fills.content()

    @_hist.setter
    def _hist(self, content: Any) -> None:
        self._forkrun_fills.replace(content)

    def fill(
        self, *args: Any, weight: Any = None, sample: Any = None, threads: Any = None, **axes: Any
    ) -> Any:
        fills = self._forkrun_fills
        for each in (*args, weight, sample, *axes.values()):
            if isinstance(each, np.ma.MaskedArray):
                _refuse_masked(each)
        if fills.fill_plainly(args, weight, sample, axes):
            return self
        options = {"weight": weight, "sample": sample, "threads": threads}
        fills.fill(super().fill, args, options, axes)  # type: ignore[misc]
        return self

    def reset(self) -> Any:
        self._forkrun_fills.clear()
        return self

    def __iadd__(self, other: Any) -> Any:
        return self._combine(super().__iadd__, other)  # type: ignore[misc]

    def __isub__(self, other: Any) -> Any:
        return self._combine(super().__isub__, other)  # type: ignore[misc]

    def _combine(self, operation: Callable[[Any], Any], other: Any) -> Any:
        """`operation`: that of the class; exact with another histogram."""
        if not isinstance(other, bh.Histogram):
            return operation(other)
        self._forkrun_fills.combine(operation, _independent(other))
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (copy.deepcopy(self),)

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Others of the class are plain."""
        return cls._forkrun_class(*args, **options)

    @classmethod
    def _clone(cls, *args: Any, **options: Any) -> Any:
        return cls._forkrun_class._clone(*args, **options)

    @classmethod
    def _export_bh_(cls, other: Any) -> None:
        """`other` was made of this one, and shares its content so far."""
        other._hist = copy.copy(other._hist)
        other.axes = other._generate_axes_()


def _refuse_masked(values: Any) -> None:
    """What is masked would be filled as whatever lies behind the mask."""
    if n := int(np.ma.getmaskarray(values).sum()):
        raise ValueError(
            f"fill() got None for {n} of {values.size} (masked), as ak.firsts of an empty list is;"
            " use ak.drop_none, or values.compressed()"
        )


def _independent(other: Any) -> Any:
    return copy.deepcopy(other) if isinstance(other, _ExactlyFilled) else other


def _itself(histogram: Any) -> Any:
    """What makes a pickled histogram plain."""
    return histogram


def exactly_filled(histogram: Any, storage: Storage) -> ExactFills:
    """Has all fills of the histogram summed exactly from now on."""
    plain = type(histogram)
    if histogram._hist._storage_type is bh.storage.Unlimited.__bases__[0]:
        _convert_to_double(histogram)
    fills = ExactFills(histogram, storage)
    own = {"__slots__": (), "_forkrun_fills": fills, "_forkrun_class": plain}
    names = {"__module__": plain.__module__, "__qualname__": plain.__qualname__}
    metaclass: Any = type(plain)
    kind = metaclass(
        plain.__name__, (_ExactlyFilled, plain), {**own, **names}, family=plain._family
    )
    histogram.__class__ = kind
    return fills


def _convert_to_double(histogram: Any) -> None:
    """Its cells are no memory that others could write."""
    content = histogram._hist
    axes = [content.axis(n) for n in range(content.rank())]
    double = bh._core.hist.any_double(axes, bh._core.storage.double())
    double.view(True)[...] = content.view(True)
    histogram._hist = double
    histogram.axes = histogram._generate_axes_()
