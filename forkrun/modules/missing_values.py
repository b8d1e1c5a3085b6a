"""Missing values (None) in expressions: three-valued logic, the same for all operators.

A result computed from a missing value is missing, unless the other operand decides: true or None is
true, false and None is false. A missing condition does not hold, so its negation does: of
`filter(c)` and `filter(!c)`, exactly one keeps each event. A missing value per event is combined
with each value of a list, like any value per event; it does not make the list missing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from forkrun.base.awkward_array import ak, is_awkward


def is_optional(value: Any) -> bool:
    """Whether numbers may be None, by the type."""
    layout = value.layout if is_awkward(value) else None
    while layout is not None and not (layout.is_numpy or layout.is_record or layout.is_union):
        if layout.is_option and layout.content.purelist_depth <= 1:
            return True
        layout = getattr(layout, "content", None)
    return False


def filled(value: Any, instead: float) -> Any:
    """The numbers with `instead` in place of None, converted to their type."""
    if not is_optional(value):
        return value
    leaf = leaf_type(value.layout)
    return ak.fill_none(value, instead if leaf is None else leaf.type(instead), axis=-1)


def missing(value: Any) -> Any:
    """Whether each number is None."""
    return ak.is_none(value, axis=-1) if is_optional(value) else False


def aligned(*values: Any) -> tuple[Any, ...]:
    """Arrays in forms that let a value of an event meet all values of its list in another array,
    also for arrays of fixed size, whose last dimension NumPy compares first."""
    most = max([getattr(value, "ndim", 0) for value in values])
    if most < 2:
        return values
    arrays = [v for v in values if is_awkward(v) or getattr(v, "ndim", 0) > 0]
    if all(isinstance(v, np.ndarray) and v.ndim == most for v in arrays):
        return values
    if not any(map(is_awkward, arrays)):
        return tuple(_reshaped(value, most) for value in values)
    has_lists = not all(map(_is_regular, arrays))
    lists = [v if has_lists and _has_one_per_list(v) else as_lists(v) for v in values]
    longest = next(v for v in lists if is_awkward(v) and v.ndim == most)
    return tuple(_spread(value, longest) for value in lists)


def _is_regular(array: Any) -> bool:
    return isinstance(array, np.ndarray) or bool(array.layout.purelist_isregular)


def _has_one_per_list(value: Any) -> bool:
    """Whether it is a list of one value per event, as from max(x, keepdims=True), which Awkward
    broadcasts."""
    layout = value.layout if is_awkward(value) else None
    return layout is not None and layout.is_list and layout.is_regular and layout.size == 1


def _reshaped(value: Any, n_levels: int) -> Any:
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    return value.reshape(*value.shape, *(1,) * (n_levels - value.ndim))


def as_lists(value: Any) -> Any:
    """Arrays of fixed size as lists; other values unchanged."""
    if isinstance(value, np.ndarray):
        return ak.from_regular(ak.Array(value), axis=None) if value.ndim > 1 else value
    is_fixed = is_list(value) and _is_regular(value)
    return ak.from_regular(value, axis=None) if is_fixed else value


def _spread(value: Any, lists: Any) -> Any:
    """Values that may be None, repeated for each number in `lists`; others unchanged, for Awkward
    to broadcast."""
    is_shorter = is_optional(value) and value.ndim < lists.ndim
    if not is_shorter or _holds_objects(value) or _holds_objects(lists):
        return value
    return _repeated(value, lists)


def _repeated(value: Any, lists: Any) -> Any:
    """A value for each number in `lists`."""
    if is_optional(value):
        return masked(_repeated(filled(value, 0), lists), _repeated(missing(value), lists))
    return ak.broadcast_arrays(value, ak.local_index(lists, axis=-1))[0]


def _holds_objects(array: Any) -> bool:
    return leaf_type(array.layout) is None


def leaf_type(layout: Any) -> np.dtype[Any] | None:
    """NumPy type of the numbers in lists, options and the like; None for records, unions and
    texts."""
    while not layout.is_numpy:
        is_text = layout.parameter("__array__") in ("string", "bytestring")
        if is_text or layout.is_record or layout.is_union or layout.is_unknown:
            return None
        layout = layout.content
    found: np.dtype[Any] = layout.dtype
    return found


def has_nan(array: Any) -> bool:
    """Whether some numbers are NaN, including those hidden by slices."""
    layout = array.layout if is_awkward(array) else ak.to_layout(array)
    while not (layout.is_numpy or layout.is_record or layout.is_union or layout.is_unknown):
        layout = layout.content
    values = layout.data if layout.is_numpy else np.empty(0)
    return bool(values.dtype.kind == "f" and values.size and np.isnan(np.min(values)))


def masked(values: Any, is_missing: Any) -> Any:
    """`values` with None where `is_missing`."""
    return ak.mask(values, is_missing, valid_when=False)


def _truth(value: Any) -> Any:
    """Truth of numbers: whether they differ from 0."""
    if isinstance(value, bool | np.bool_):
        return value
    dtype = leaf_type(value.layout) if is_awkward(value) else getattr(value, "dtype", None)
    return value if dtype == np.bool_ else value != 0


def _logic(operation: Callable[[Any, Any], Any], neutral: bool) -> Callable[..., Any]:
    """`and` or `or` for arrays. `neutral`: operand that leaves the decision to the other one."""

    def of_two(one: Any, other: Any) -> Any:
        one, other = aligned(one, other)
        if not (is_optional(one) or is_optional(other)):
            return operation(one, other)
        one, other = _truth(one), _truth(other)
        decided = operation(filled(one, neutral), filled(other, neutral))
        is_open = decided if neutral else np.logical_not(decided)
        return masked(decided, np.logical_or(missing(one), missing(other)) & is_open)

    return lambda *values: functools.reduce(of_two, values)


both = _logic(np.logical_and, True)
either = _logic(np.logical_or, False)


def negated(value: Any) -> Any:
    """Negation of a condition: True for missing values."""
    return filled(value == 0, True)


def decided_by(name: str, neutral: bool) -> Callable[..., Any]:
    """`any` or `all` of the list of each event; None if a missing value decides."""

    def apply(values: Any, **options: Any) -> Any:
        reduce = getattr(ak, name)
        if not is_optional(values):
            return reduce(values, **options)
        values = _truth(values)
        decided = reduce(filled(values, neutral), **options)
        is_open = decided if neutral else np.logical_not(decided)
        return masked(decided, ak.any(missing(values), **options) & is_open)

    return apply


def where(condition: Any, one: Any, other: Any) -> Any:
    """`one` or `other`, by a condition; None where it is missing. Raises ValueError."""
    one, other = of_exact_type(one, other), of_exact_type(other, one)
    condition = _truth(condition)
    if is_list(condition):
        condition, one, other = aligned(condition, one, other)
    elif is_list(one) != is_list(other):
        lists = as_lists(one if is_list(one) else other)
        one, other = (as_lists(v) if is_list(v) else _repeated(v, lists) for v in (one, other))
    else:  # each event gets the list, or the value, of one of them
        one, other = as_lists(one), as_lists(other)
    if isinstance(condition, bool | np.bool_):
        return one if condition else other
    chosen = ak.where(filled(condition, False), one, other)
    return masked(chosen, missing(condition)) if is_optional(condition) else chosen


def of_exact_type(value: Any, other: Any) -> Any:
    """A value to be chosen instead of `other`. uint64 and signed integers would both become
    float64: the result is exact, or ValueError is raised."""
    kind, kind_of_other = _number_type(value), _number_type(other)
    if kind is None or kind.kind != "i" or kind_of_other != np.uint64:
        return value
    if isinstance(value, int) and value >= 0:
        return np.uint64(value)
    shown = str(value) if isinstance(value, int) else f"numbers of {kind}"
    raise ValueError(
        f"{shown} and numbers of uint64 would be rounded to float64: multiply one of them by 1.0 if"
        " that is meant"
    )


def _number_type(value: Any) -> Any:
    if is_awkward(value):
        return leaf_type(value.layout)
    is_plain = isinstance(value, int) and not isinstance(value, bool)
    return np.dtype(np.int64) if is_plain else getattr(value, "dtype", None)


def is_list(value: Any) -> bool:
    """Whether it has a list, or an array, per event."""
    return bool(getattr(value, "ndim", 0) > 1)
