"""Description of a file's branches, for people."""

from __future__ import annotations

import re
from typing import NamedTuple

OTHER = "other:"
"""Prefix of the class of a branch that is not a column."""
_NEVER_FILLED = "never filled"
"""Stands for the class of a branch without entries in a tree that has some."""
_NOT_AS_DESCRIBED = "not as described"
"""Stands for the class of objects if the first ones cannot be read."""
_COLUMNS = "columns are numbers, texts, and lists of them up to six deep"
_MAPS = re.compile(r"(?:std::)?(?:unordered_)?(?:multi)?(map|set)<")
_LISTS = re.compile(r"(?:std::|ROOT::)?(?:vector|VecOps::RVec|RVec|deque|list|array)<")


class Described(NamedTuple):
    """A branch of a file. `kind`: type of the column, or "other:CLASS"; `n_bytes`, `n_stored`:
    unpacked and in the file, None if the format does not tell; `compression`: in the notation of
    outputs, "" if unknown."""

    name: str
    kind: str
    n_bytes: int | None = None
    n_stored: int | None = None
    compression: str = ""


def why_no_column(kind: str) -> str:
    """Reason why values of a C++ class or ROOT leaf are not a column. `kind`: its name, or
    "TITLE/TYPE" of leaves."""
    if kind == _NEVER_FILLED:
        return "a member that was not written with the others"
    if kind == _NOT_AS_DESCRIBED:
        return (
            "objects whose first ones cannot be read as the file describes their classes: these"
            " write themselves, or are stored member by member"
        )
    is_of_leaves = "/" in kind
    what = "leaves whose places the file does not tell" if is_of_leaves else _what_is(kind)
    return f"{what}; {_COLUMNS}"


def _what_is(kind: str) -> str:
    if match := _MAPS.match(kind):
        return f"a {match[1]}"
    if not _LISTS.match(kind):
        is_array = kind in ("TClonesArray", "TObjArray", "TList")
        return "objects of a class" if is_array else "an object of a class"
    inner, depth = kind, 0
    while match := _LISTS.match(inner):
        inner, depth = inner[match.end() :].rstrip("> "), depth + 1
    if _MAPS.match(inner):
        return "a list of maps"
    if inner.endswith("*"):
        return "a list of pointers"
    if inner in _NUMBERS:
        return f"lists {depth} deep" if depth > 6 else "a list, but not a vector"
    return "a list of objects of a class"


_NUMBERS = {
    "bool", "char", "short", "int", "long", "Long64_t", "long long", "float", "double", "string",
    *(f"unsigned {kind}" for kind in ("char", "short", "int", "long", "long long")), "ULong64_t",
}  # fmt: skip
