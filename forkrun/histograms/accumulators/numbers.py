"""Sums of numbers without rounding: independent of the grouping of events."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

_SCALE = 1074
"""Every finite double is a whole number of 2**-1074."""


class Total(ABC):
    """A partial sum. `words`: its kind, in messages."""

    words: str

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Adds a sum of later events."""

    @abstractmethod
    def encoded(self) -> Any:
        """A value for JSON that `decode` turns back into the same sum."""

    @abstractmethod
    def result(self) -> Any:
        """A value for JSON, for people."""

    @classmethod
    @abstractmethod
    def decoded(cls, data: Any) -> Self:
        """Inverse of `encoded`. Raises ValueError, TypeError or LookupError."""


class Number(Total):
    """An exact sum of whole or floating-point numbers. `special`: sum of those not finite."""

    words = "a number"

    def __init__(self, value: int | float = 0) -> None:
        self.is_float = isinstance(value, float)
        self.scaled, self.special = 0, 0.0
        if not math.isfinite(value):
            self.special = float(value)
            return
        top, bottom = value.as_integer_ratio()
        self.scaled = top << (_SCALE - bottom.bit_length() + 1)

    @classmethod
    def of_array(cls, values: npt.NDArray[Any]) -> Self:
        """Sum of all elements, without rounding. Raises TypeError unless they are numbers."""
        if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
            raise TypeError(
                f"an array of {values.dtype} cannot be accumulated: its elements are not numbers"
            )
        total = cls()
        flat = values.ravel()
        if values.dtype.kind != "f":
            total.scaled = _sum_of_whole(flat) << _SCALE
            return total
        flat = flat.astype(np.float64)
        finite = np.isfinite(flat)
        total.is_float = True
        with np.errstate(invalid="ignore"):  # of both infinities: NaN
            total.special = float(flat[~finite].sum()) if not finite.all() else 0.0
        total.scaled = _scaled_sum(flat[finite])
        return total

    def merge(self, other: Self) -> None:
        self.is_float |= other.is_float
        self.scaled += other.scaled
        self.special += other.special

    def result(self) -> Any:
        if self.special or math.isnan(self.special):
            return str(self.special)
        if not self.is_float:
            return self.scaled >> _SCALE
        try:
            return self.scaled / (1 << _SCALE)  # correctly rounded
        except OverflowError:
            return "inf" if self.scaled > 0 else "-inf"

    def encoded(self) -> Any:
        shift = max((self.scaled & -self.scaled).bit_length() - 1, 0)
        return [hex(self.scaled >> shift), shift, self.is_float, str(self.special)]

    @classmethod
    def decoded(cls, data: Any) -> Self:
        digits, shift, is_float, special = data
        if type(shift) is not int or not 0 <= shift <= 1 << 16 or type(is_float) is not bool:
            raise ValueError("a number is not of its form")
        number = cls()
        number.scaled, number.is_float = int(digits, 16) << shift, is_float
        number.special = float(special)
        return number


def _sum_of_whole(values: npt.NDArray[Any]) -> int:
    """Sum of whole numbers in halves, which have room for 2**31 values."""
    if values.dtype.kind == "b":
        return int(np.count_nonzero(values))
    n_bits = 4 * values.dtype.itemsize
    wide = np.uint64 if values.dtype.kind == "u" else np.int64
    high = int((values >> n_bits).sum(dtype=wide))
    return (high << n_bits) + int((values & ((1 << n_bits) - 1)).sum(dtype=wide))


def _scaled_sum(values: npt.NDArray[np.float64]) -> int:
    """Sum of finite numbers in units of 2**-1074: digits are added as whole numbers, by
    exponent."""
    if not len(values):
        return 0
    fractions, exponents = np.frexp(values)
    order = np.argsort(exponents, kind="stable")
    digits = (fractions[order] * 2.0**53).astype(np.int64)
    found, first = np.unique(exponents[order], return_index=True)
    high = np.add.reduceat(digits >> 27, first).tolist()
    low = np.add.reduceat(digits & ((1 << 27) - 1), first).tolist()
    total = 0
    for exponent, above, below in zip(found.tolist(), high, low, strict=True):
        shift, n = exponent - 53 + _SCALE, (above << 27) + below
        total += n << shift if shift >= 0 else n >> -shift
    return total
