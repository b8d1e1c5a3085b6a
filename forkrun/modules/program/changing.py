"""Whether code may change objects that outlive its call, according to its bytecode."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from types import CodeType

from forkrun.modules.program.code_uses import Instruction, globals_in, instructions

CHANGES = frozenset((
    "append", "add", "update", "extend", "insert", "setdefault", "pop", "popitem", "clear",
    "remove", "discard", "appendleft", "popleft", "extendleft", "rotate", "fill", "sort", "put",
    "setattr", "delattr", "itemset", "resize", "partition", "reverse", "setflags", "at", "copyto",
    "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__iadd__", "__ior__", "__imul__",
    "cache_clear", "out", "place", "putmask", "put_along_axis", "fill_diagonal", "shuffle", "next",
    "send", "throw", "close", "__next__", "subtract", "move_to_end", "difference_update",
    "intersection_update", "symmetric_difference_update", "new_child", "byteswap", "frombytes",
    "fromlist", "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort",
    "insort_left", "insort_right", "setitem", "delitem", "iadd", "isub", "imul", "ior", "iand",
    "ixor", "iconcat", "itruediv", "ifloordiv", "imod", "ipow", "write", "writelines", "seek",
    "read", "readline", "set", "reset", "register", "setstate", "__dict__", "vars", "seed",
))  # fmt: skip
"""Names of functions, methods and arguments that change objects."""
_LIBRARIES = frozenset(("np", "numpy", "ak", "awkward"))
_MAKE_NEW = frozenset(("add", "sort", "partition", "insert", "append", "subtract"))
"""Functions of these libraries that change nothing, despite their names: `ak.sort`, `np.add`."""
_BUILDS = frozenset((
    "BUILD_MAP", "BUILD_LIST", "BUILD_SET", "BUILD_CONST_KEY_MAP", "LIST_EXTEND", "DICT_UPDATE",
))  # fmt: skip
_COMPUTES = _BUILDS | {"BINARY_OP", "COMPARE_OP", "UNARY_INVERT", "LOAD_CONST"}
"""Instructions whose result is a new object."""
_NEW_ARRAYS = frozenset((
    "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "linspace", "array",
    "where", "sum", "prod", "num", "exp", "log", "sqrt", "abs", "minimum", "maximum", "clip", "any",
    "all", "min", "max", "count", "argmax", "argmin", "sin", "cos", "hypot", "power",
))  # fmt: skip
"""Functions of libraries whose result is not a view of an argument."""
_STORES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "DELETE_ATTR")
_ENDS = ("STORE_", "POP_TOP", "FOR_ITER", "JUMP_BACKWARD", "END_FOR")
"""Instructions that end a statement."""
_MAKE_SELF = ("__init__", "__post_init__", "__new__", "__setstate__", "__set_name__")
"""Methods of objects that no other code knows yet."""


def may_change(code: CodeType, is_of_module: bool = False) -> bool:
    """Whether code may change objects that it has not made itself: containers that it has just
    built are its own, and so is "self" while it is made, or with `is_of_module`: a module, which is
    not shared."""
    listed = instructions(code)
    own = _made_here(code, listed, _BUILDS)
    if code.co_varnames[:1] == ("self",) and (is_of_module or code.co_name in _MAKE_SELF):
        own |= {"self"}
    computed = _made_here(code, listed, _COMPUTES)
    if any(isinstance(each, tuple) and "out" in each for each in code.co_consts):
        return True
    for place, each in enumerate(listed):
        if each.name in _STORES:
            target = _target(listed, place)
        elif each.name in ("LOAD_ATTR", "LOAD_METHOD") and each.value in CHANGES:
            target = listed[place - 1]
            if target.value in _LIBRARIES and each.value in _MAKE_NEW:
                continue
        elif each.name == "BINARY_OP" and each.text.endswith("="):
            after = listed[place + 1]
            if after.name == "STORE_FAST" and after.value in computed:
                continue
            return True
        else:
            continue
        if target is None or not (target.name == "LOAD_FAST" and target.value in own):
            return True
    return bool(CHANGES & globals_in(code))


def _target(listed: Sequence[Instruction], place: int) -> Instruction | None:
    """Instruction that loads the object to be stored into; None if that is not obvious."""
    if "ATTR" in listed[place].name:
        return listed[place - 1]
    index = listed[place - 1]
    is_told = listed[place].name != "STORE_SLICE" and index.name in ("LOAD_CONST", "LOAD_FAST")
    return listed[place - 2] if is_told else None


def _made_here(code: CodeType, listed: Sequence[Instruction], made_by: Collection[str]) -> set[str]:
    """Names of variables that hold only results of these instructions."""
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    n_arguments += bool(code.co_flags & inspect.CO_VARARGS)
    n_arguments += bool(code.co_flags & inspect.CO_VARKEYWORDS)
    made: set[str] = set()
    others = set(code.co_varnames[:n_arguments])
    for place, each in enumerate(listed):
        if each.name.startswith("STORE_FAST"):
            statement = _statement(listed, place)
            is_new = bool(statement) and _is_new(statement, made_by)
            (made if is_new and each.name == "STORE_FAST" else others).add(str(each.value))
    return made - others


def _statement(listed: Sequence[Instruction], end: int) -> Sequence[Instruction]:
    """Instructions that compute the value stored at the end."""
    begin = end
    while begin and not listed[begin - 1].name.startswith(_ENDS):
        begin -= 1
    return listed[begin:end]


def _is_new(statement: Sequence[Instruction], made_by: Collection[str]) -> bool:
    """Whether a statement makes its result. After a jump, the value may be another one."""
    if any("JUMP" in each.name for each in statement):
        return False
    if statement[-1].name.startswith("CALL") and "BINARY_OP" in made_by:
        library, *rest = (str(each.value) for each in statement[:2])
        return library in _LIBRARIES and bool(_NEW_ARRAYS.intersection(rest))
    return statement[-1].name in made_by
