"""Says which condition a module has tried to write to: NumPy says only that an array is read-only.
The variables in the line that failed show which one it was."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.base.user_text import leaves
from forkrun.conditions.binned_table import BinnedTable
from forkrun.conditions.read_only import ReadOnlyConditionError

Array = npt.NDArray[Any]


def error_of_write(
    error: Exception, payloads: Iterable[tuple[str, Any]]
) -> ReadOnlyConditionError | None:
    """Error to raise instead of one of NumPy; None if it is about something else, such as a column.
    `payloads`: (label, value) of all that are loaded."""
    if not isinstance(error, ValueError) or "read-only" not in str(error):
        return None
    owned = [(label, array) for label, value in payloads for array in arrays_in(value)]
    for frame in _frames(error.__traceback__):
        labels, is_other_too = _labels(frame, owned)
        if labels and not is_other_too:
            return ReadOnlyConditionError.of(labels[0])
        if labels or is_other_too:
            return None
    return None


def _labels(frame: TracebackType, owned: list[tuple[str, Array]]) -> tuple[list[str], bool]:
    """Labels of the conditions that the failing line names, and whether it names another array that
    is read-only."""
    labels, is_other_too = [], False
    for used in _used_in(frame):
        if isinstance(used, str):
            labels.append(used)
            continue
        owners = [label for label, array in owned if np.may_share_memory(used, array)]
        labels += owners[:1]
        is_other_too = is_other_too or not owners
    return [label for label in labels if any(label == known for known, _ in owned)], is_other_too


def _frames(innermost_last: TracebackType | None) -> list[TracebackType]:
    """Frames of a traceback, the innermost first."""
    frames = []
    while innermost_last:
        frames.append(innermost_last)
        innermost_last = innermost_last.tb_next
    return frames[::-1]


def _used_in(frame: TracebackType) -> Iterator[Array | str]:
    """Read-only arrays of variables and of attributes of `self`, and labels in
    `conditions["label"]`, in the expression that failed."""
    variables = frame.tb_frame.f_locals
    own = getattr(variables.get("self"), "__dict__", {})
    for node in ast.walk(_expression(frame)):
        match node:
            case ast.Subscript(
                value=ast.Attribute(attr="conditions"), slice=ast.Constant(value=str(label))
            ):
                yield label
            case ast.Name(id=name):
                yield from _read_only_in(variables.get(name))
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield from _read_only_in(own.get(name))


def _read_only_in(value: Any) -> Iterator[Array]:
    return (array for array in arrays_in(value) if not array.flags.writeable)


def _expression(frame: TracebackType) -> ast.AST:
    (summary,) = traceback.StackSummary.extract(iter([(frame.tb_frame, frame.tb_lineno)]))
    try:
        return ast.parse(summary.line or "")
    except SyntaxError:  # part of a statement of several lines
        return ast.Module([], [])


def arrays_in(value: Any) -> Iterator[Array]:
    """NumPy arrays in a value, its dicts, lists and tuples, and in a table of ours."""
    for leaf in leaves(value):
        if isinstance(leaf, np.ndarray):
            yield leaf
        elif isinstance(leaf, BinnedTable):
            yield from leaf.arrays().values()
