"""Writes a configuration as TOML; Python's own library only reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def to_toml(raw: Mapping[str, Any]) -> str:
    """Text of a configuration: a table for each section, one for each of a list of tables."""
    return "\n".join(_lines(raw)).lstrip("\n") + "\n"


def _lines(raw: Mapping[str, Any]) -> Iterator[str]:
    for section, value in raw.items():
        if isinstance(value, Mapping):
            yield from ("", f"[{_key(section)}]", *_pairs(value))
            continue
        for table in value:
            yield from ("", f"[[{_key(section)}]]", *_pairs(table))


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if value is not None:  # TOML has no such value: the key is left out
            yield f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False)
