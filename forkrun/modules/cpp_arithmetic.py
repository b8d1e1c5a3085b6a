"""Operators of expressions. They compute with integers as C++ and RDataFrame do: in at least 32
bits; `/` of integers is an integer; `%` has the sign of the first operand; a signed operand becomes
unsigned next to an unsigned one of the same or more bits. Floating-point numbers follow NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from forkrun.base.awkward_array import ak, is_awkward
from forkrun.base.notes import note
from forkrun.modules.missing_values import aligned, both, either, leaf_type, negated

DType = np.dtype[Any]
_INT, _LONG = np.dtype(np.int32), np.dtype(np.int64)


def integer_type(value: Any) -> DType | None:
    """Type of an integer, a truth value or an array of these; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return np.dtype(np.bool_)
    if isinstance(value, int):
        return _INT if -(2**31) <= value < 2**31 else _LONG
    dtype = leaf_type(value.layout) if is_awkward(value) else getattr(value, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind in "iub" else None


def promoted(dtype: DType) -> DType:
    """Type in which C++ computes."""
    return dtype if dtype.itemsize >= _INT.itemsize else _INT


def common_type(one: DType, other: DType) -> DType:
    """Result of C++'s "usual arithmetic conversions"."""
    one, other = promoted(one), promoted(other)
    if one.kind == other.kind:
        return max(one, other, key=lambda dtype: dtype.itemsize)
    unsigned, signed = (one, other) if one.kind == "u" else (other, one)
    return unsigned if unsigned.itemsize >= signed.itemsize else signed


def as_type(value: Any, dtype: DType) -> Any:
    """The same integers in another type, modulo its range; not copied if they have it already."""
    if isinstance(value, int):
        return np.array(value % 2 ** (8 * dtype.itemsize), f"u{dtype.itemsize}").astype(dtype)[()]
    if integer_type(value) == dtype:
        return value
    return ak.values_astype(value, dtype) if is_awkward(value) else value.astype(dtype)


def at_least_int(value: Any) -> Any:
    """Integers below 32 bits as C++ computes with them; other values unchanged."""
    dtype = integer_type(value)
    return value if dtype is None else as_type(value, promoted(dtype))


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(one: Any, other: Any, _expression: str = "") -> Any:
        return operation(*_converted(one, other))

    return apply


def _converted(one: Any, other: Any) -> tuple[Any, Any]:
    types = integer_type(one), integer_type(other)
    if types[0] is None or types[1] is None:
        return one, other
    dtype = common_type(types[0], types[1])
    return as_type(one, dtype), as_type(other, dtype)


def _subtracted(one: Any, other: Any, expression: str = "") -> Any:
    one, other = _converted(one, other)
    kind = integer_type(one)
    if kind is not None and kind.kind == "u" and _any(one < other):
        _note_wrap(expression)
    return one - other


def _negative(value: Any, expression: str = "") -> Any:
    value = at_least_int(value)
    kind = integer_type(value)
    if kind is not None and kind.kind == "u" and _any(value > 0):
        _note_wrap(expression)
    return -value


def _note_wrap(expression: str) -> None:
    note(
        f"{expression!r} has a difference of unsigned integers that is below 0, which gives a large"
        " number, as in C++: 1.0 * a - b is negative"
    )


def _any(flags: Any) -> bool:
    return bool(np.any(ak.to_numpy(ak.flatten(flags, axis=None)) if is_awkward(flags) else flags))


def _comparison(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Comparison: NumPy compares by value for all types, C++ only where both are signed or both
    unsigned."""

    def apply(one: Any, other: Any, expression: str = "") -> Any:
        types = integer_type(one), integer_type(other)
        if types[0] is None or types[1] is None:
            return operation(one, other)
        dtype = common_type(types[0], types[1])
        is_same = dtype.kind == "i" or all(promoted(each).kind == "u" for each in types if each)
        if is_same and _fits(one, types[1]) and _fits(other, types[0]):
            return operation(one, other)
        if dtype.kind == "u" and (_any(one < 0) or _any(other < 0)):
            note(
                f"{expression!r} compares an unsigned integer with a negative one, which is large"
                " and positive there, as in C++: 1.0 * a > b compares by value"
            )
        return operation(as_type(one, dtype), as_type(other, dtype))

    return apply


def _fits(value: Any, dtype: DType) -> bool:
    """Whether a plain number is within the range of the array that it is compared with; True for
    arrays."""
    if not isinstance(value, int) or dtype.kind == "b":
        return True
    return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


def _bitwise(
    operation: Callable[[Any, Any], Any], logic: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    """Bitwise operator. `logic`: the same for truth values, with truth values as the result, as
    masks need."""
    arithmetic = _arithmetic(operation)

    def apply(one: Any, other: Any, _expression: str = "") -> Any:
        if all(
            dtype is not None and dtype.kind == "b" for dtype in map(integer_type, (one, other))
        ):
            return logic(one, other)
        return arithmetic(one, other)

    return apply


def _shift(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Shift, in the type of the shifted value."""

    def apply(one: Any, other: Any, _expression: str = "") -> Any:
        one = at_least_int(one)
        dtype = integer_type(one)
        return operation(one, other if dtype is None else as_type(other, dtype))

    return apply


def _divided(one: Any, other: Any, expression: str = "") -> Any:
    """Quotient. `expression`: the whole text, for a note to readers who expect a fraction."""
    one, other = _converted(one, other)
    if integer_type(one) is None or integer_type(other) is None:
        return one / other
    note(
        f"{expression!r} divides two integers, which gives an integer, as in C++: 1.0 * a / b is a"
        " fraction, a // b is rounded down without this line"
    )
    return (one - _remainder(one, other)) // other


def _remainder(one: Any, other: Any, _expression: str = "") -> Any:
    one, other = _converted(one, other)
    if integer_type(one) is None or integer_type(other) is None:
        return one % other
    _check_not_zero(other)
    return np.fmod(one, other)


def _floored(one: Any, other: Any, _expression: str = "") -> Any:
    """Quotient, rounded down."""
    one, other = _converted(one, other)
    if integer_type(one) is not None and integer_type(other) is not None:
        _check_not_zero(other)
    return one // other


def _check_not_zero(divisor: Any) -> None:
    """Raises ZeroDivisionError."""
    if _any(divisor == 0):
        raise ZeroDivisionError(
            "an integer is divided by 0; 1.0 * a / b divides floating-point numbers"
        )


def _power(one: Any, other: Any, _expression: str = "") -> Any:
    """Power, with integers in 64 bits: C++ has no such operator."""
    dtype = integer_type(one)
    if dtype is None or integer_type(other) is None:
        return one**other
    wide = _LONG if dtype.kind != "u" or dtype.itemsize < _LONG.itemsize else dtype
    return as_type(one, wide) ** as_type(other, _LONG if wide.kind == "i" else wide)


def _inverted(value: Any) -> Any:
    """Bitwise not; logical not of truth values."""
    dtype = integer_type(value)
    if dtype is not None and dtype.kind == "b":
        return negated(value)
    return ~at_least_int(value)


def _per_value(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Operator of two values at the same place in the same event. `expression`: for notes."""

    def apply(one: Any, other: Any, expression: str = "") -> Any:
        try:
            return operation(*aligned(one, other), expression)
        except ValueError as error:
            if "broadcast" not in str(error):
                raise
            raise ValueError(
                "two lists of an event have different lengths: take one value of a list, x[0] or"
                " max(x), or follow an index"
            ) from None

    return apply


_OF_TWO: Mapping[str, Callable[..., Any]] = {
    "Add": _arithmetic(operator.add), "Sub": _subtracted,
    "Mult": _arithmetic(operator.mul), "FloorDiv": _floored,
    "Div": _divided, "Mod": _remainder, "Pow": _power,
    "LShift": _shift(operator.lshift), "RShift": _shift(operator.rshift),
    "BitAnd": _bitwise(operator.and_, both), "BitOr": _bitwise(operator.or_, either),
    "Eq": _comparison(operator.eq), "NotEq": _comparison(operator.ne),
    "Lt": _comparison(operator.lt), "LtE": _comparison(operator.le),
    "Gt": _comparison(operator.gt), "GtE": _comparison(operator.ge),
}  # fmt: skip
OPERATORS: Mapping[str, Callable[..., Any]] = {
    **{name: _per_value(operation) for name, operation in _OF_TWO.items()},
    "USub": _negative, "UAdd": lambda value, _: at_least_int(value), "Bits": _inverted,
}  # fmt: skip
"""Operators by the name of Python's syntax node."""
