"""Payloads cannot be changed: a child that wrote to one would change a copy of its own."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np


class ReadOnlyConditionError(TypeError):
    """A module has tried to change a condition."""

    @classmethod
    def of(cls, label: str) -> ReadOnlyConditionError:
        return cls(
            f'the condition "{label}" is read-only, for all children share it; change a copy of it'
            f' instead: copy.deepcopy(self.conditions["{label}"])'
        )


class ReadOnlyDict(dict[Any, Any]):
    """A dict in a payload. Copies (`dict(d)`, `copy.deepcopy(d)`) are plain and may be changed."""

    __slots__ = ("label",)
    label: str

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ReadOnlyConditionError.of(self.label)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class ReadOnlyList(list[Any]):
    """A list in a payload. Copies are plain and may be changed."""

    __slots__ = ("label",)
    label: str

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ReadOnlyConditionError.of(self.label)

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def freeze(value: Any, label: str) -> Any:
    """The same with read-only arrays, dicts and lists, at any depth; other objects stay as they
    are, tuples with what is in them."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return value
    if type(value) is dict:
        frozen = ReadOnlyDict({key: freeze(item, label) for key, item in value.items()})
        frozen.label = label
        return frozen
    if type(value) is list:
        items = ReadOnlyList(freeze(item, label) for item in value)
        items.label = label
        return items
    return tuple(freeze(item, label) for item in value) if type(value) is tuple else value
