"""Where in a condition an object is, as one would write it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any


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
