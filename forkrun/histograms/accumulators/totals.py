"""Accumulators of analyzers: numbers, dicts, sets, lists and objects of users, for one unit or a
whole job. Numbers are summed without rounding: sums do not depend on the grouping of events."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from forkrun.errors import JobError

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


__all__ = ["Total", "add", "decode", "encode", "total_of", "total_of_core"]

_HOOKS = ("merge", "to_json", "from_json")


class Table(Total):
    """Sums by key, sorted in the result."""

    words = "a dict"

    def __init__(self, parts: Mapping[str, Total]) -> None:
        self.parts = dict(parts)

    def merge(self, other: Self) -> None:
        for key, part in other.parts.items():
            add(self.parts, key, part)

    def result(self) -> Any:
        return {key: self.parts[key].result() for key in sorted(self.parts)}

    def encoded(self) -> Any:
        return {key: encode(part) for key, part in self.parts.items()}

    @classmethod
    def decoded(cls, data: Any) -> Self:
        return cls({key: decode(part) for key, part in data.items()})


class Elements(Total):
    """The union of sets, sorted in the result."""

    words = "a set"

    def __init__(self, elements: set[Any]) -> None:
        self.elements = elements

    def merge(self, other: Self) -> None:
        self.elements |= other.elements

    def result(self) -> Any:
        ordered = sorted(self.elements, key=lambda value: (type(value).__name__, value))
        return [plain(value) for value in ordered]

    def encoded(self) -> Any:
        return self.result()

    @classmethod
    def decoded(cls, data: Any) -> Self:
        return cls({_hashable(value) for value in data})


class Sequence(Total):
    """Lists one after the other, in the order of the input."""

    words = "a list"

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def merge(self, other: Self) -> None:
        self.values += other.values

    def result(self) -> Any:
        return self.values

    encoded = result

    @classmethod
    def decoded(cls, data: Any) -> Self:
        return cls(list(data))


class Own(Total):
    """An object of a user's class, or its state until the object is needed. The class is looked up
    among imported ones: nothing in a run directory is executed."""

    words = "an object"
    import_modules: ClassVar[Callable[[], object] | None] = None
    """Imports the modules of the job, in a process that merges without having done so."""

    def __init__(self, home: str, name: str, value: Any = None, state: Any = None) -> None:
        self.home, self.name = home, name
        self._value, self._state = value, state

    def merge(self, other: Self) -> None:
        if (self.home, self.name) != (other.home, other.name):
            raise TypeError(f"a {self.name} and a {other.name} cannot be merged")
        value = self._object()
        merged = _calling(value.merge, other._object())
        self._value = value if merged is None else merged

    def result(self) -> Any:
        if self._value is None:
            return self._state
        return plain(_calling(self._value.to_json))

    def encoded(self) -> Any:
        return [self.home, self.name, self.result()]

    @classmethod
    def decoded(cls, data: Any) -> Self:
        home, name, state = data
        return cls(home, name, state=state)

    def _object(self) -> Any:
        if self._value is None:
            kind = self._class()
            if kind is None and Own.import_modules:
                Own.import_modules()
                kind = self._class()
            if kind is None:
                raise JobError(
                    f"the class {self.name} of an accumulator is not known here; forkrun resume"
                    " RUNDIR loads the modules and merges the run"
                )
            self._value = _calling(kind.from_json, self._state)
        return self._value

    def _class(self) -> Any:
        """None: it is not imported."""
        if self.home == "__main__":  # class of a program that this process has not started as
            same = (kind for kind in _classes(object) if kind.__qualname__ == self.name)
            return next((kind for kind in same if kind.__module__ == self.home), None)
        found: Any = sys.modules.get(self.home)
        for part in self.name.split("."):
            found = getattr(found, part, None)
        return found if isinstance(found, type) else None


def _classes(base: type) -> Iterator[type]:
    """All classes of this process derived from `base`."""
    kinds: list[type] = type.__subclasses__(base)
    for kind in kinds:
        yield kind
        yield from _classes(kind)


_KINDS: dict[str, type[Total]] = {
    "number": Number, "dict": Table, "set": Elements, "list": Sequence, "object": Own,
}  # fmt: skip


def total_of(value: Any) -> Total:
    """Total of a single value. Raises TypeError, for the author of the module."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a number of NumPy's
        value = value.item()
    if isinstance(value, bool | int | float):
        return Number(int(value) if isinstance(value, bool) else value)
    if isinstance(value, np.ndarray):
        return Number.of_array(value)
    if all(hasattr(value, hook) for hook in _HOOKS):
        return Own(type(value).__module__, type(value).__qualname__, value)
    if isinstance(value, Mapping):
        return Table({_key(key): total_of(part) for key, part in value.items()})
    if isinstance(value, set | frozenset):
        return Elements({_hashable(plain(element)) for element in value})
    if isinstance(value, list | tuple):
        return Sequence([plain(element) for element in value])
    raise TypeError(
        f"a {type(value).__name__} cannot be accumulated; numbers, arrays of numbers, dicts, sets,"
        " lists and objects with merge(), to_json() and from_json() can; book a histogram"
    )


def total_of_core(kind: str, value: Any) -> Total:
    """Total of an analyzer in C++, from `_core.Schedule.accumulated`."""
    if kind == "number":
        return _number(*value)
    if kind == "table":
        return Table({key: _number(*part) for key, part in value.items()})
    return Sequence(value)


def _number(whole: int, parts: list[float], is_float: bool) -> Number:
    number = Number(whole)
    if is_float:
        number.merge(Number.of_array(np.array(parts, dtype=np.float64)))
    return number


def add(totals: dict[str, Total], name: str, total: Total) -> None:
    """Adds to the total with this name. Raises TypeError if it has another kind."""
    known = totals.setdefault(name, total)
    if known is total:
        return
    if type(known) is not type(total):
        raise TypeError(f"accumulator {name!r} is {known.words}, not {total.words}")
    known.merge(total)


def encode(total: Total) -> Any:
    kind = next(name for name, kind in _KINDS.items() if kind is type(total))
    return {kind: total.encoded()}


def decode(data: Any) -> Total:
    """Inverse of `encode`. Raises ValueError, TypeError or LookupError for data of another form."""
    ((kind, value),) = data.items()
    return _KINDS[kind].decoded(value)


def plain(value: Any) -> Any:
    """Checks that a value can be written as JSON; returns it. Raises TypeError."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"{value} is not a JSON number; take None")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {_key(key): plain(part) for key, part in value.items()}
    raise TypeError(
        f"a {type(value).__name__} in an accumulator; its parts are numbers, texts, None, and lists"
        " and dicts of them"
    )


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the keys of an accumulated dict are texts: str({key!r})")
    return key


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        raise TypeError("a dict cannot be in a set")
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _calling(method: Any, *arguments: Any) -> Any:
    """Calls a user's hook. Raises JobError with the user's lines."""
    try:
        return method(*arguments)
    except Exception as error:
        from forkrun.base.user_code import lines_in_user_code  # slow to load

        what = f"{method.__qualname__}() of an accumulator: {type(error).__name__}: {error}"
        raise JobError(what + lines_in_user_code(error)) from error
