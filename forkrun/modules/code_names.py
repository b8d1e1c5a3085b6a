"""Names that a function's code has: where what it does cannot be tried."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any


def names_in(function: Any) -> Iterator[str]:
    """Attributes, globals and texts in a function and those within it; of an expression all names;
    nothing of what is written in C."""
    yield from getattr(function, "names", ())
    code = getattr(function, "__code__", None)
    if code is not None:
        yield from _in_code(code)


def _in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _in_code(constant)
