"""Typed access to JSON objects that notes problems instead of stopping at the first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from forkrun.base.nearest import suggestion

Json = Any
_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}


def say_type(value: Json) -> str:
    """`a list`, `the number 3`, `null`."""
    if value is None:
        return "null"
    return _WORDS.get(type(value)) or f"the number {value}"


def shown(value: Json) -> str:
    """A text in quotation marks; the type of any other value."""
    return f'"{value}"' if isinstance(value, str) else say_type(value)


class Table:
    """A JSON object and its place in the file. A missing or wrong value becomes a problem and a
    harmless default, so that all problems of a file appear in one list."""

    def __init__(self, values: Json, place: str, problems: list[str]) -> None:
        self.place = place
        self._problems = problems
        self._values: Mapping[str, Json] = values if isinstance(values, dict) else {}
        self._broken = not isinstance(values, dict)
        if self._broken:
            self.report("", f"an object in braces is needed, not {say_type(values)}")

    def report(self, key: str, what: str) -> None:
        """Notes a problem of a key or of the object itself."""
        self._problems.append(f"{self.at(key)}: {what}")

    def at(self, key: str) -> str:
        """Place of a key."""
        return f"{self.place}.{key}" if self.place and key else self.place or key

    def name(self, place: str) -> None:
        """Sets the place at which problems are reported from now on."""
        self.place = place

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a non-empty text."""
        value = self._get(key, default)
        if isinstance(value, str) and (value or default is not None):
            return value
        self._wrong(key, value, "a text that is not empty")
        return ""

    def number(self, key: str, default: float | None = None, least: float = 0.0) -> float:
        """Returns a finite number. Like the toy framework, accepts numbers in texts."""
        value = self._get(key, default)
        number = as_number(value)
        if number is not None and number >= least:
            return number
        self._wrong(key, value, f"a number from {least:g} on")
        return least

    def count(self, key: str, default: int | None = None, least: int = 0) -> int:
        """Returns a whole number."""
        value = self._get(key, default)
        number = as_number(value)
        if number is not None and number.is_integer() and number >= least:
            return int(number)
        self._wrong(key, value, f"a whole number from {least} on")
        return least

    def items(self, key: str) -> list[Json]:
        """Returns a list."""
        value = self._get(key, None)
        if isinstance(value, list):
            return value
        self._wrong(key, value, "a list")
        return []

    def is_empty_list(self, key: str) -> bool:
        """Whether the key has a list without elements."""
        return self._values.get(key) == []

    def table(self, key: str, optional: bool = False) -> Table:
        """Returns an object."""
        if key in self._values or optional:
            return Table(self._values.get(key, {}), self.at(key), self._problems)
        self._wrong(key, _MISSING, "an object in braces")
        return Table({}, self.at(key), [])

    def entry(self, key: str, value: Json) -> Table:
        """Returns an object in a list of this one."""
        return Table(value, self.at(key), self._problems)

    def pairs(self) -> Iterator[tuple[str, Json]]:
        """Yields every key with its value, in the file's order."""
        yield from self._values.items()

    def _get(self, key: str, default: Json) -> Json:
        return self._values.get(key, _MISSING if default is None else default)

    def _wrong(self, key: str, value: Json, needed: str) -> None:
        if value is not _MISSING:
            self.report(key, f"{needed} is needed, not {shown(value)}")
        elif not self._broken:
            near = suggestion(key, self._values) if self._values else ""
            self.report(key, f"this key is required ({needed}){near}")


_MISSING: Json = object()


def as_number(value: Json) -> float | None:
    """A finite number, also from a text; None for all other values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
