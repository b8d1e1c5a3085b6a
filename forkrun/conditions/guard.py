"""Conditions stay as the parent loaded them: a module that changes one is blamed for it. Messages
name the condition: the variables in the line that failed show which one it is.

Arrays are read-only, and a write to one is an error at once. Sets, attributes and what else cannot
be locked are compared with what they were before the fork."""

from __future__ import annotations

import ast
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.user_text import leaves
from forkrun.conditions.binned_table import BinnedTable
from forkrun.conditions.read_only import ReadOnlyConditionError
from forkrun.config.choices import CheckConditions
from forkrun.errors import JobError

WATCHED = (
    "produce", "filter", "analyze", "pre_fork", "post_fork", "begin_job", "end_job", "begin_iov",
    "end_iov", "begin_dataset", "end_dataset", "begin_run", "end_run", "begin_lumi", "end_lumi",
)  # fmt: skip
"""Everything of a module that is called once it is constructed."""


class ConditionGuard:
    """Remembers, in the parent, what conditions hold; compares in the children. What two conditions
    have in common counts as the first one's."""

    def __init__(self, values: Iterable[tuple[str, object]], when: CheckConditions) -> None:
        """`values`: (label, value) of all that is loaded; a label may have several values."""
        self._values = list(values)
        self._when = when
        self._is_first_unit = True
        self._snapshot: _core.ContainerSnapshot | None = None

    def remember(self, modules: Mapping[str, object]) -> None:
        """Remembers all conditions, when modules have been constructed, before their first
        callback. `modules`: those in Python, by label."""
        if self._when is CheckConditions.NEVER:
            return
        self._snapshot = _core.ContainerSnapshot(self._values)
        if self._when is CheckConditions.CALL:
            for label, module in modules.items():
                self._watch(label, module)

    def _watch(self, label: str, module: object) -> None:
        """Compares after every call of a module."""
        for name in WATCHED:
            if method := getattr(module, name, None):
                setattr(module, name, self._watched(f'module "{label}" in {name}()', method))

    def _watched(self, who: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            result = method(*arguments)
            self.check(who)
            return result

        return call

    def after_unit(self) -> None:
        """Compares the conditions before the unit is committed. Raises JobError. A module that
        changes conditions mostly does so from the beginning: the first unit is always checked."""
        if self._is_first_unit or self._when is not CheckConditions.CHILD:
            self.check()
        self._is_first_unit = False

    def check(self, who: str = "a module") -> None:
        """Raises JobError if a condition is not as the parent loaded it."""
        change = self._snapshot.first_change() if self._snapshot else None
        if change:
            label, container = change
            raise JobError(_explain(who, label, self._place(label, container), self._when))

    def _place(self, label: str, container: object) -> str:
        name = f'conditions["{label}"]'
        places = (place_of(container, v, name) for owner, v in self._values if owner == label)
        found = next(filter(None, places), name)
        return f"{found} ({type(container).__name__})"


def _explain(who: str, label: str, place: str, when: CheckConditions) -> str:
    text = (
        f'condition "{label}": {who} changed {place}; conditions are shared by all children and'
        " stay as the parent loaded them: change a copy (copy.deepcopy), and fill caches where the"
        " condition is made"
    )
    if when is not CheckConditions.CALL:
        text += "; --set memory.check_conditions=call names the module"
    return text


def place_of(target: object, root: object, name: str) -> str | None:
    """`sf["muon"][2].pt`: the shortest way from `root`, called `name`, to `target`, None
    if there is none."""
    waiting: deque[tuple[Any, str]] = deque([(root, name)])
    seen = {id(root)}
    while waiting:
        value, place = waiting.popleft()
        if value is target:
            return place
        for item, step in _items(value):
            if id(item) not in seen:
                seen.add(id(item))
                waiting.append((item, place + step))
    return None


def _items(value: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(value, dict):
        yield from ((item, f"[{key!r}]".replace("'", '"')) for key, item in value.items())
    elif isinstance(value, list | tuple):
        yield from ((item, f"[{index}]") for index, item in enumerate(value))
    elif isinstance(value, set | frozenset):
        yield from ((item, "{…}") for item in value)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict) and not isinstance(value, type):
        yield attributes, ".__dict__"
        yield from ((item, f".{key}") for key, item in attributes.items())


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
