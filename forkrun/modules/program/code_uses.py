"""Uses found in the bytecode of code: variables with attributes taken of them, imports, stored
variables, and whether it may change objects that outlive its call."""

from __future__ import annotations

import dis
import functools
import inspect
import re
from collections.abc import Collection, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from forkrun.base.user_code import unpartial

_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR")
_NOTHING = frozenset(("CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "RESUME", "COPY_FREE_VARS"))
_STORES_GLOBAL = ("STORE_GLOBAL", "DELETE_GLOBAL")


class Instruction(NamedTuple):
    """Instruction of `dis` in a form common to all versions of Python."""

    name: str
    value: object
    text: str


class Use(NamedTuple):
    """Use of a variable. `is_cell`: a variable of an enclosing function, else a global; `chain`:
    attributes taken of it, in order; empty: it is passed on as a whole; `is_stored`: the last
    attribute is set."""

    is_cell: bool
    name: str
    chain: tuple[str, ...]
    is_stored: bool


class Import(NamedTuple):
    """Import within a function. `names`: taken from the module; empty: the module itself, or its
    top package, is bound; `is_handed_on`: that module is passed to other code."""

    module: str
    level: int
    names: tuple[str, ...]
    is_handed_on: bool


@functools.lru_cache(maxsize=4096)
def instructions(code: CodeType) -> tuple[Instruction, ...]:
    """Instructions with an effect; one that works on two variables becomes two."""
    return tuple(_plain(code))


def _plain(code: CodeType) -> Iterator[Instruction]:
    for each in dis.get_instructions(code):
        if each.opname in _NOTHING:
            continue
        if isinstance(each.argval, tuple) and "_FAST_" in each.opname:  # from Python 3.13 on
            verbs = re.findall("LOAD|STORE", each.opname)
            for verb, name in zip(verbs, each.argval, strict=True):
                yield Instruction(f"{verb}_FAST", name, str(name))
            continue
        name = "LOAD_FAST" if each.opname.startswith("LOAD_FAST") else each.opname
        yield Instruction(name, each.argval, each.argrepr)


@functools.lru_cache(maxsize=4096)
def uses(code: CodeType) -> frozenset[Use]:
    """Uses of variables of enclosing code, including uses in inner functions."""
    found, listed = set(), instructions(code)
    for place, each in enumerate(listed):
        if each.name in _GLOBALS or each.name in _CELLS:
            chain = _chain(listed, place + 1)
            is_stored = listed[place + len(chain)].name in ("STORE_ATTR", "DELETE_ATTR")
            found.add(Use(each.name in _CELLS, str(each.value), chain, is_stored))
    return frozenset(found.union(*map(uses, inner_codes(code))))


def _chain(listed: tuple[Instruction, ...], place: int) -> tuple[str, ...]:
    chain = []
    while place < len(listed) and listed[place].name in _ATTRIBUTES:
        chain.append(str(listed[place].value))
        place += 1
    return tuple(chain)


@functools.lru_cache(maxsize=4096)
def stored_globals(code: CodeType) -> frozenset[str]:
    """Globals that code, or an inner function, assigns or deletes."""
    own = {str(each.value) for each in instructions(code) if each.name in _STORES_GLOBAL}
    return frozenset(own.union(*map(stored_globals, inner_codes(code))))


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> frozenset[str]:
    """Globals and attributes used by code or its inner functions."""
    return frozenset(code.co_names).union(*map(names_in, inner_codes(code)))


def globals_in(code: CodeType) -> set[str]:
    """Globals used by code or its inner functions: not `MET` of `events.MET`."""
    return {use.name for use in uses(code) if not use.is_cell}


def names_of(function: Any, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """Attributes, globals and texts in a function, in functions within it, and in functions of its
    module that it calls by name; all names of an expression; nothing for functions written in C.
    For functions that cannot be called on trial."""
    function = unpartial(function)
    yield from getattr(function, "names", ())
    code = getattr(function, "__code__", None)
    if code is None or id(code) in seen:
        return
    names = names_in(code) | _texts_in(code)
    yield from names
    for name in names & function.__globals__.keys():
        called = function.__globals__[name]
        if isinstance(called, FunctionType) and called.__module__ == function.__module__:
            yield from names_of(called, seen | {id(code)})


def _texts_in(code: CodeType) -> frozenset[str]:
    own = frozenset(each for each in code.co_consts if isinstance(each, str))
    return own.union(*map(_texts_in, inner_codes(code)))


def stored_cells(code: CodeType) -> list[str]:
    """Variables of enclosing functions that code assigns or deletes."""
    free = code.co_freevars
    stores = (i for i in instructions(code) if i.name in ("STORE_DEREF", "DELETE_DEREF"))
    return [str(each.value) for each in stores if each.value in free]


def imports(code: CodeType) -> Iterator[Import]:
    """Imports in the code, without inner functions."""
    listed = instructions(code)
    for place, each in enumerate(listed):
        if each.name == "IMPORT_NAME":
            level, names = (listed[place - n].value for n in (2, 1))
            taken = tuple(map(str, names)) if isinstance(names, tuple) else ()
            level = level if isinstance(level, int) else 0
            is_handed_on = not taken and _is_handed_on(code, place)
            yield Import(str(each.value), level, taken, is_handed_on)


def _is_handed_on(code: CodeType, place: int) -> bool:
    """Whether the variable of an import is used for more than its attributes."""
    listed = instructions(code)
    bound = next((i.value for i in listed[place:] if i.name.startswith("STORE_")), None)
    loads = [p for p, each in enumerate(listed) if p > place and _loads(each) == bound]
    inner = {use.name for each in inner_codes(code) for use in uses(each) if not use.chain}
    return any(not _chain(listed, p + 1) for p in loads) or bound in inner


def _loads(each: Instruction) -> object:
    return each.value if each.name.startswith("LOAD_") and each.name != "LOAD_CONST" else None


def inner_codes(code: CodeType) -> list[CodeType]:
    """Functions, classes and comprehensions within code."""
    return [each for each in code.co_consts if isinstance(each, CodeType)]


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
