"""Column names found in a function's code, for functions that cannot be called on trial."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import CodeType, FunctionType
from typing import Any

from forkrun.base.user_code import unpartial
from forkrun.base.user_text import leaves


def names_in(function: Any, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """Attributes, globals and texts in a function, in functions within it, and in functions of its
    module that it calls by name; all names of an expression; nothing for functions written in C."""
    function = unpartial(function)
    yield from getattr(function, "names", ())
    code = getattr(function, "__code__", None)
    if code is None or id(code) in seen:
        return
    names = set(_in_code(code))
    yield from names
    for name in names & function.__globals__.keys():
        called = function.__globals__[name]
        if isinstance(called, FunctionType) and called.__module__ == function.__module__:
            yield from names_in(called, seen | {id(code)})


def texts_in(values: Any) -> Iterator[str]:
    """Texts in the attributes of an object, also within lists and dicts."""
    for value in leaves(list(values)):
        if isinstance(value, str):
            yield value


def mentions(names: Collection[str], columns: Collection[str]) -> bool:
    """Whether some names are columns, collections, or parts of column names."""
    parts = [name for name in names if len(name) > 2]
    return any(
        column == part or column.startswith(f"{part}_") or ("_" in part and part in column)
        for part in parts
        for column in columns
    )


def _in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _in_code(constant)
