"""Results of a user's method: converted, or refused with the problem and a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from forkrun.base.awkward_array import ak, is_awkward, with_none
from forkrun.base.nearest import suggestion
from forkrun.base.notes import note
from forkrun.base.quantities import plural
from forkrun.base.user_code import place_of, unpartial
from forkrun.formats.column_types import ColumnType
from forkrun.formats.plain import Plain
from forkrun.modules.columns import MISSING, spread
from forkrun.modules.missing_values import filled, is_optional, leaf_type


def plain_of(where: str, kind: ColumnType, column: Any) -> Plain:
    """Offsets and values of a column of this type. Raises TypeError for other forms."""
    array = ak.Array(column)
    layout = ak.to_packed(array).layout
    offsets = []
    for level in range(kind.n_levels):
        layout = _without_none(where, layout)
        is_last_of_text = kind.is_text and level + 1 == kind.n_levels
        is_text = layout.parameter("__array__") in ("string", "bytestring")
        if not layout.is_list or is_text != is_last_of_text:
            raise TypeError(f"{where}: wanted {kind} for each event, got {array.type}")
        layout = layout.to_ListOffsetArray64(True)
        offsets.append(np.asarray(layout.offsets, dtype=np.int64))
        layout = layout.content[: offsets[-1][-1]]
    return (*offsets, _values(where, kind, layout)) if offsets else _values(where, kind, layout)


def _values(where: str, kind: ColumnType, layout: Any) -> npt.NDArray[Any]:
    """(n, *kind.dimensions)"""
    if kind.is_text:
        return np.ascontiguousarray(layout.data, dtype=np.uint8).view("S1")
    layout = _without_none(where, layout)
    if layout.is_unknown:  # only empty lists
        return np.empty((0, *kind.dimensions), kind.dtype)
    try:
        values = np.asarray(ak.to_numpy(ak.Array(layout), allow_missing=False))
    except ValueError:
        values = np.empty(0, dtype=object)
    if values.shape[1:] != kind.dimensions or values.dtype.kind == "O":
        raise TypeError(f"{where}: wanted {kind} for each event, got {ak.Array(layout).type}")
    return values


def _without_none(where: str, layout: Any) -> Any:
    if not layout.is_option:
        return layout
    array = ak.Array(layout)
    if n := int(ak.sum(ak.is_none(array))):
        raise TypeError(
            f"{where} has None for {n} of {len(array)}; take ak.fill_none(…, 0) or ak.drop_none(…)"
        )
    return ak.to_packed(ak.drop_none(array, axis=0)).layout


def nan_for_none(where: str, column: Any) -> Any:
    """The column with the NaN of MISSING for missing floating-point numbers; other columns
    unchanged. If all are missing, they may be floating-point numbers."""
    if not is_awkward(column) or not is_optional(column):
        return column
    leaf = leaf_type(column.layout)
    if leaf is None and _is_unknown(column.layout):
        return ak.values_astype(ak.fill_none(column, MISSING, axis=-1), np.float64)
    if leaf is None or leaf.kind != "f":
        return column
    if ak.any(ak.is_none(column, axis=-1), axis=None):
        note(
            f"{where} has None for some events: NaN was written; fill_none(…) says what to write"
            " instead"
        )
    return filled(column, MISSING)


def _is_unknown(layout: Any) -> bool:
    while layout.is_list or layout.is_option:
        layout = layout.content
    return bool(layout.is_unknown)


def column_type(name: str, values: Any) -> str:
    """Type for a column with these values, such as "float32[]". Raises TypeError if no column can
    have it."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biuf":
        kind = ColumnType(values.dtype.name, 0, ())
        if kind.is_possible:
            return str(kind)
    array = nan_for_none(f"column {name!r}", ak.Array(with_none(values)))
    if array.fields:
        raise TypeError(f"column {name!r}: these are records; give each field as a column")
    kind = _type_of(name, array.type.content)
    if not kind.is_possible:
        raise TypeError(
            f"column {name!r}: {array.type.content} is not a column type; there are numbers,"
            " texts, arrays of fixed size, lists of them, and up to six lists within each other"
        )
    return str(kind)


def _type_of(name: str, kind: Any) -> ColumnType:
    if isinstance(kind, ak.types.OptionType):
        raise TypeError(
            f"column {name!r} has missing values (None), which only floating-point numbers may be:"
            " take ak.fill_none(…, 0)"
        )
    if isinstance(kind, ak.types.NumpyType):
        return ColumnType(kind.primitive, 0, ())
    if isinstance(kind, ak.types.UnknownType):
        return ColumnType("float64", 0, ())
    if not isinstance(kind, ak.types.ListType | ak.types.RegularType):
        return ColumnType(str(kind), 0, ())
    if kind.parameters.get("__array__") in ("string", "bytestring"):
        return ColumnType("string", 1, ())
    content = _type_of(name, kind.content)
    if isinstance(kind, ak.types.RegularType) and not content.n_levels:
        return ColumnType(content.element, 0, (kind.size, *content.dimensions))
    return ColumnType(content.element, content.n_levels + 1, content.dimensions)


Values = npt.NDArray[Any]
T = TypeVar("T")
_EXACT = 1 << 53
"""Largest integer up to which all are exact in float64."""


def taken(
    method: Callable[..., Any], author: Callable[..., Any], take: Callable[..., T], *arguments: Any
) -> T:
    """`take(*arguments)` for a result of the method. `author`: the user's function or expression
    that the method calls, or the method itself. Raises TypeError with its place."""
    try:
        return take(*arguments)
    except TypeError as error:
        what = str(error)
    except Exception as error:  # from a library, for a value of unknown form
        what = f"what {method.__name__}() returned cannot be used: {error}"
    name = getattr(unpartial(author), "__name__", "")
    own = f"{name}()" if name.isidentifier() else "the expression" if not name else "the function"
    if not name:
        what = _in_expression(what)
    raise TypeError(what.replace(f"{method.__name__}()", own) + place_of(author))


def _in_expression(what: str) -> str:
    """A message with its remedies as expressions have them."""
    what = re.sub(r"ak\.(\w+)\(([^()]*?)(, axis=\d)?\)", r"\1(\2)", what)
    what = re.sub(r"convert it with .*", "make a column of another name", what)
    return what.replace(".astype(bool)", "a comparison such as n > 0")


class Decision(NamedTuple):
    """Decision of a filter: (n_events,) bool, whether it accepts each event, and whether it refuses
    it because of a missing value; None: no value may be missing."""

    accepted: Values
    missing: Values | None

    def spread(self, left: Values) -> Decision:
        """The decision for all events, if these were left: it refuses the others."""
        missing = None if self.missing is None else spread(self.missing, left)
        return Decision(spread(self.accepted, left), missing)


def decision_of(returned: Any, n_events: int) -> Decision:
    """Decision returned by filter(); None is refused. Raises TypeError."""
    if returned is None:
        raise TypeError("filter() returned None, not one bool per event; `return` may be missing")
    returned, missing = with_none(returned), None
    if is_awkward(returned):
        if returned.ndim != 1:
            raise TypeError(
                f"filter() returned lists ({returned.type}), not one bool per event; use"
                " ak.any(mask, axis=1) or ak.all(mask, axis=1)"
            )
        if returned.layout.is_option:
            missing = ak.to_numpy(ak.is_none(returned))
            returned = ak.fill_none(returned, False)
        returned = ak.to_numpy(returned)
    mask = np.asarray(returned)
    if mask.ndim != 1:
        what = f"an array of {mask.ndim} dimensions" if mask.ndim else f"{returned!r}"
        raise TypeError(f"filter() returned {what}, not one bool per event")
    if mask.dtype.kind != "b":
        remedy = ".astype(bool)" if mask.dtype.kind in "iu" else "a comparison such as values > 30"
        raise TypeError(
            f"filter() returned {mask.dtype} numbers, not one bool per event; use {remedy}"
        )
    if len(mask) != n_events:
        raise TypeError(
            f"filter() returned {plural(len(mask), 'value')} for {plural(n_events, 'event')};"
            " return one for each event, not one per object or selected event"
        )
    return Decision(mask, missing)


def dict_of(returned: Any, names: Iterable[str]) -> Mapping[str, Any]:
    """Result of produce(), if it is a dict. `names`: its expected keys. Raises TypeError."""
    if not isinstance(returned, Mapping):
        columns = ", ".join(f'"{name}": …' for name in names)
        raise TypeError(
            f"produce() returns a dict of columns, not {type(returned).__name__}; write"
            f" return {{{columns}}}"
        )
    return returned


def columns_of(returned: Any, produces: Mapping[str, str], n_events: int) -> dict[str, Any]:
    """Columns returned by produce(), in the form for the core. Raises TypeError."""
    returned = dict_of(returned, produces)
    for name in produces:
        if name not in returned:
            others = ", ".join(f'"{other}"' for other in returned) or "nothing"
            raise TypeError(
                f'produce() did not return column "{name}", which `produces` declares; it returned'
                f" {others}"
            )
    for name in returned:
        if name not in produces:
            raise TypeError(
                f'produce() returned column "{name}", which the module does not declare in'
                f" `produces`{suggestion(str(name), produces)}"
            )
    return {name: _column(name, produces[name], returned[name], n_events) for name in produces}


def check_replaced(name: str, before: Any, made: Any) -> None:
    """Raises TypeError if a column has another form than the column that it replaces."""
    if isinstance(before, tuple) != isinstance(made, tuple):
        kinds = ("a list", "one value") if isinstance(before, tuple) else ("one value", "a list")
        raise TypeError(f'column "{name}" has {kinds[0]} per event, and cannot be replaced'
                        f" by {kinds[1]} per event")  # fmt: skip
    if not isinstance(before, tuple):
        return
    old, new = np.diff(before[0]), np.diff(made[0])
    if not np.array_equal(old, new):
        event = int(np.flatnonzero(old != new)[0])
        raise TypeError(
            f'column "{name}": event {event} of the block has {plural(old[event], "value")}, and'
            f" was to be replaced by {new[event]}; replace each value, or make another column"
        )


def _column(name: str, kind: str, column: Any, n_events: int) -> Any:
    """Values, or (offsets, values) for a jagged column; see forkrun.modules.columns."""
    where = f'column "{name}"'
    if column is None:
        raise TypeError(f"{where}: wanted {kind}, got None")
    wanted = ColumnType.of(kind)
    column = ak.Array(column) if type(column) is list else with_none(column)
    if wanted.element.startswith("float"):
        column = nan_for_none(where, column)
    if kind == f"{wanted.element}[]" and not wanted.is_text:
        offsets, values = _jagged(where, column)
        _check(where, wanted.element, values, len(offsets) - 1, n_events)
        return offsets, values
    if not wanted.is_number:
        plain = plain_of(where, wanted, column)
        values, n = (plain[-1], len(plain[0]) - 1) if wanted.n_levels else (plain, len(plain))
        _check(where, "S1" if wanted.is_text else wanted.element, values, n, n_events)
        return plain
    values = _flat(where, kind, column)
    _check(where, kind, values, len(values), n_events)
    return values


def _flat(where: str, kind: str, column: Any) -> Values:
    if is_awkward(column):
        if column.ndim != 1:
            raise TypeError(
                f"{where}: wanted one value per event, got lists ({column.type}); declare"
                f' "{kind}[]", or reduce each list: ak.max(…, axis=1), ak.firsts(…)'
            )
        _refuse_none(column, f"{where}:", "ak.fill_none(…, 0)")
        column = ak.to_numpy(column)
    values = np.asarray(column)
    if values.ndim != 1:
        raise TypeError(
            f"{where}: wanted one value per event, got an array of {values.ndim} dimensions"
        )
    return values


def _jagged(where: str, column: Any) -> tuple[Values, Values]:
    array = ak.Array(column)
    if array.ndim != 2:
        raise TypeError(f"{where}: wanted lists of values, one list per event, got {array.type}")
    layout = ak.to_packed(ak.from_regular(array)).layout
    if layout.is_option:
        _refuse_none(array, f"{where}:", "ak.fill_none(…, [], axis=0)")
        layout = ak.to_packed(ak.drop_none(array, axis=0)).layout
    if not isinstance(layout, ak.contents.ListOffsetArray):
        raise TypeError(f"{where}: wanted lists of numbers, got {array.type}")
    content = ak.Array(layout.content)
    _refuse_none(content, f"{where}:", "ak.drop_none(…) or ak.fill_none(…, 0)")
    values = ak.to_numpy(content, allow_missing=False)
    return np.asarray(layout.offsets, dtype=np.int64), values


def _check(where: str, kind: str, values: Values, n: int, n_events: int) -> None:
    if n != n_events:
        raise TypeError(
            f"{where}: wanted one entry for each of {plural(n_events, 'event')}, got {n}, perhaps"
            " one per object, or per selected event"
        )
    if len(values) and not np.can_cast(values.dtype, kind, "same_kind"):
        raise TypeError(
            f'{where}: wanted {kind}, got {values.dtype}; convert it with .astype("{kind}"), or'
            " declare another type in `produces`"
        )
    if kind == "float64" and (rounded := _rounded(values)) is not None:
        raise TypeError(
            f"{where}: wanted float64, which would round the integer {rounded}; convert the values"
            f' with .astype("float64") if that is meant, or declare "{values.dtype}" in `produces`'
        )


def _rounded(values: Values) -> int | None:
    """An integer that float64 would round; None if there is none."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return None
    large = values[(values > _EXACT) | (values < -_EXACT)]
    return next((each for each in large.tolist() if int(float(each)) != each), None)


def _n_none(array: ak.Array) -> int:
    """Number of missing values in an array of one dimension."""
    return int(ak.count_nonzero(ak.is_none(array))) if array.layout.is_option else 0


def _refuse_none(array: ak.Array, what: str, remedy: str) -> None:
    if n := _n_none(array):
        raise TypeError(
            f"{what} None for {n} of {len(array)}, as ak.max or ak.firsts of an empty list does;"
            f" take {remedy}"
        )
