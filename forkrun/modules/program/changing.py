"""Whether code may change what outlives its call, as its bytecode tells."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Sequence
from types import CodeType

from forkrun.modules.program.code_digest import globals_in

_CHANGES = frozenset((
    "append", "add", "update", "extend", "insert", "setdefault", "pop", "popitem", "clear",
    "remove", "discard", "appendleft", "fill", "sort", "put", "setattr", "itemset", "resize",
    "partition", "reverse", "setflags", "at", "copyto", "__setitem__", "__setattr__", "delattr",
    "cache_clear", "out", "place", "putmask", "put_along_axis", "fill_diagonal", "shuffle",
))  # fmt: skip
_LIBRARIES = frozenset(("np", "numpy", "ak", "awkward"))
_MAKE_NEW = frozenset(("add", "sort", "partition", "insert", "append"))
"""Functions of these that change nothing: `ak.sort`, `np.add`."""
_BUILDS = frozenset((
    "BUILD_MAP", "BUILD_LIST", "BUILD_SET", "BUILD_CONST_KEY_MAP", "LIST_EXTEND", "DICT_UPDATE",
))  # fmt: skip
_COMPUTES = _BUILDS | {"CALL", "CALL_KW", "BINARY_OP", "COMPARE_OP", "UNARY_INVERT", "LOAD_CONST"}
"""Instructions whose result is no object that others know."""
_STORES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "DELETE_ATTR")


def may_change(code: CodeType, instructions: Sequence[dis.Instruction]) -> bool:
    """Whether code may change what it has not made itself: "self", and containers that it has just
    built, are its own."""
    own = _made_here(code, instructions, _BUILDS)
    own |= {"self"} if code.co_varnames[:1] == ("self",) else set()
    computed = _made_here(code, instructions, _COMPUTES)
    if any(isinstance(each, tuple) and "out" in each for each in code.co_consts):
        return True
    loads = ("LOAD_ATTR", "LOAD_METHOD")
    for place, each in enumerate(instructions):
        if each.opname in _STORES:
            before = instructions[place - (2 if "SUBSCR" in each.opname else 1)]
        elif each.opname in loads and each.argval in _CHANGES:
            before = instructions[place - 1]
            if before.argval in _LIBRARIES and each.argval in _MAKE_NEW:
                continue
        elif each.opname == "BINARY_OP" and each.argrepr.endswith("="):
            after = instructions[place + 1]
            if after.opname == "STORE_FAST" and after.argval in computed:
                continue
            return True
        else:
            continue
        if not (before.opname == "LOAD_FAST" and before.argval in own):
            return True
    return bool(_CHANGES & globals_in(code))


def _made_here(
    code: CodeType, instructions: Sequence[dis.Instruction], made_by: frozenset[str]
) -> set[str]:
    """Names of variables that hold nothing but results of these instructions."""
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    n_arguments += bool(code.co_flags & inspect.CO_VARARGS)
    n_arguments += bool(code.co_flags & inspect.CO_VARKEYWORDS)
    made: set[str] = set()
    others = set(code.co_varnames[:n_arguments])
    for place, each in enumerate(instructions):
        if each.opname.startswith("STORE_FAST"):
            is_made = place and instructions[place - 1].opname in made_by
            (made if is_made and each.opname == "STORE_FAST" else others).add(each.argval)
    return made - others
