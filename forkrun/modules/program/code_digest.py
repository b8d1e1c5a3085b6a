"""What a function does, as a digest: of its code, of what it closes over, and of the globals that
it uses, as long as these belong to the running program. A job is resumed only with the same one.

Not of its text: a comment, or a line elsewhere in the program, changes nothing."""

from __future__ import annotations

import dis
import hashlib
import inspect
import sys
from collections.abc import Iterator
from functools import cached_property, partial, partialmethod, singledispatchmethod
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, get_args, get_origin

import numpy as np

from forkrun.modules.program.encoded import CACHED

_NOT_CODE = (
    "__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__",
    "__orig_bases__", "__parameters__", "_abc_impl",
)  # fmt: skip
_LOADS_OF_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...))


def code_digest(value: Any) -> str:
    """SHA-256 in hexadecimal digits; the same in another process with the same Python."""
    digest = hashlib.sha256()
    for part in _parts(value, set()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__} {value!r}"
        return
    if id(value) in seen:
        yield "again"
        return
    seen = seen | {id(value)}
    if isinstance(value, ModuleType) or _is_elsewhere(value):
        yield f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', value.__name__)}"
    elif isinstance(value, FunctionType):
        yield from _of_function(value, seen)
    elif inspect.isclass(value):
        yield from _of_class(value, seen)
    elif isinstance(value, CodeType):
        yield from _of_code(value, seen)
    elif isinstance(value, partial):
        yield from _parts((value.func, value.args, value.keywords), seen)
    elif isinstance(value, MethodType):
        yield from _parts((value.__func__, value.__self__), seen)
    else:
        yield from _of_data(value, seen)


def _is_elsewhere(value: Any) -> bool:
    """A function or class of a module, whose file is looked at by itself."""
    name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    if not (inspect.isclass(value) or callable(value)) or not name or module in (None, "__main__"):
        return False
    return getattr(sys.modules.get(module), name, None) is value


def _of_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _of_code(function.__code__, seen)
    yield from _parts(function.__defaults__, seen)
    yield from _parts(function.__kwdefaults__, seen)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name
        yield from _parts(_content(cell), seen)
    for name in sorted(globals_in(function.__code__) & function.__globals__.keys()):
        yield name
        yield from _parts(function.__globals__[name], seen)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def names_in(code: CodeType) -> set[str]:
    """Globals and attributes that code uses, with that of functions in it."""
    inner = [names_in(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inner)


def globals_in(code: CodeType) -> set[str]:
    """Globals that code uses, with that of functions in it: not `MET` of `events.MET`."""
    inner = [globals_in(each) for each in code.co_consts if isinstance(each, CodeType)]
    loads = (each for each in dis.get_instructions(code) if each.opname in _LOADS_OF_GLOBALS)
    return {str(each.argval) for each in loads}.union(*inner)


def _of_code(code: CodeType, seen: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_flags}"
    for constant in code.co_consts:
        yield from _parts(constant, seen)


def _of_class(kind: type, seen: set[int]) -> Iterator[str]:
    yield kind.__qualname__
    for base in kind.__bases__:
        yield from _parts(base, seen)
    for name in sorted(vars(kind)):
        if name not in _NOT_CODE:
            yield name
            yield from _parts(vars(kind)[name], seen)


def _of_data(value: Any, seen: set[int]) -> Iterator[str]:
    """Values; of other objects what pickle makes of them."""
    yield type(value).__name__
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(key, seen)
            yield from _parts(item, seen)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item, seen)
    elif isinstance(value, set | frozenset):
        yield from sorted(" ".join(_parts(item, seen)) for item in value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, staticmethod | classmethod):
        yield from _parts(value.__func__, seen)
    elif isinstance(value, CACHED):
        yield from _parts((value.__wrapped__, value.cache_parameters()), seen)
    elif isinstance(value, cached_property):
        yield from _parts(value.func, seen)
    elif isinstance(value, singledispatchmethod):
        yield from _parts((value.func, value.dispatcher), seen)
    elif isinstance(value, partialmethod):
        yield from _parts((value.func, value.args, value.keywords), seen)
    elif isinstance(value, property):
        yield from _parts((value.fget, value.fset), seen)
    elif isinstance(value, MemberDescriptorType):  # of __slots__
        yield value.__name__
    elif get_origin(value):
        yield from _parts((get_origin(value), get_args(value)), seen)
    elif _is_of_program(type(value)):
        yield from _of_object(value, seen)
    else:
        yield _pickled(value)


def _is_of_program(kind: type) -> bool:
    """Whether pickle has to take the class with the object, which gives other bytes each time."""
    return kind.__module__ == "__main__" or "<locals>" in kind.__qualname__


def _of_object(value: Any, seen: set[int]) -> Iterator[str]:
    """What pickle would take: the class, and the state of the object."""
    yield from _parts(type(value), seen)
    try:
        taken = value.__reduce_ex__(4)
    except Exception:  # what cannot be handed over is said where it is handed over
        return
    parts = (taken,) if isinstance(taken, str) else taken
    for part in parts:
        yield from _parts([*part] if isinstance(part, Iterator) else part, seen)


def _pickled(value: Any) -> str:
    import cloudpickle

    try:
        return hashlib.sha256(cloudpickle.dumps(value)).hexdigest()
    except Exception:  # what cannot be handed over is said where it is handed over
        return type(value).__qualname__
