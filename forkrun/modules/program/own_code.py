"""Code of the user, as opposed to that of libraries, under any name: `functools.wraps` copies names
of libraries, and programs put functions into libraries."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

from forkrun import _core
from forkrun.base.user_code.installed import is_installed
from forkrun.modules.program.encoded import importable


def own_file(name: str) -> str | None:
    """File of a module imported under this name; None for modules of libraries and forkrun, and for
    the program itself."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str) or name.partition(".")[0] in ("__main__", "forkrun"):
        return None
    is_own = file.endswith(".py") and not is_installed(file)
    return _resolved(file) if is_own else None


_resolved = functools.cache(os.path.realpath)
"""Path without links; asked for the same few files a hundred times."""


def is_own_module(module: ModuleType) -> bool:
    """Whether a module is the user's own: a Python file, a folder of these, or made by a
    program."""
    name = module.__name__
    if own_file(name) and sys.modules[name] is module:
        return True
    folders = [] if getattr(module, "__file__", None) else [*getattr(module, "__path__", ())]
    is_made = name not in sys.modules and not hasattr(module, "__file__")
    return is_made or (bool(folders) and not any(is_installed(f"{each}/") for each in folders))


def own_modules() -> Iterator[ModuleType]:
    """All own modules of a program that can be imported again, in import order."""
    for name, module in list(sys.modules.items()):
        if own_file(name) and module.__name__ == name and not name.startswith("forkrun_user_"):
            yield module


def find_in_program(kind: str) -> Any:
    """Function or class `python:FILE.py:NAME` or `python:package.module:NAME` of [[modules]]; None
    if the running program has not imported its module."""
    home, _, name = kind.removeprefix("python:").rpartition(":")
    if home.endswith(".py"):
        home = names_by_file().get(os.path.realpath(home), "")
    return getattr(sys.modules.get(home), name, None)


def names_by_file() -> dict[str, str]:
    """Names under which this program has imported its modules, by file."""
    return {str(own_file(module.__name__)): module.__name__ for module in own_modules()}


_METHODS = (staticmethod, classmethod, MethodType)


def is_own_class(kind: type) -> bool:
    """Whether a class is the user's, under any name."""
    if kind.__module__ == "__main__" or own_file(kind.__module__):
        return True
    return not _is_home_library(kind.__module__) or (has_own_methods(kind) and not importable(kind))


def has_own_methods(kind: type) -> bool:
    """Whether a class, possibly of a library, contains the user's code."""
    return any(map(has_own_code, vars(kind).values()))


def is_patched(value: Any) -> bool:
    """Whether an attribute of a library is the user's, or has methods that are."""
    if isinstance(value, type):
        return is_own_class(value) or has_own_methods(value)
    return has_own_code(value)


def has_own_code(value: Any) -> bool:
    """Whether it is a function or class of the user, under any name."""
    value = getattr(value, "__func__", value) if isinstance(value, _METHODS) else value
    if isinstance(value, type):
        return value.__module__ == "__main__" or own_file(value.__module__) is not None
    if type(value) is not FunctionType:
        return False
    home = str(value.__globals__.get("__name__", ""))
    return home == "__main__" or own_file(home) is not None


def is_library_function(function: FunctionType) -> bool:
    """Whether a function was made by code of a library."""
    home = str(function.__globals__.get("__name__", ""))
    if home == "__main__" or own_file(home) or not _is_home_library(home):
        return False
    file = function.__code__.co_filename
    return is_installed(file) or not os.path.isfile(file) or home.partition(".")[0] == "forkrun"


def _is_home_library(home: str) -> bool:
    """Whether a module belongs to a library or to Python."""
    module = sys.modules.get(home)
    if module is None or home.startswith("forkrun_user_"):
        return False
    file = getattr(module, "__file__", None)
    return not isinstance(file, str) or is_installed(file) or home.partition(".")[0] == "forkrun"


def _patched(home: str, module: ModuleType, kind: type) -> list[tuple[str, Any]]:
    named = [(f"{home}.{name}", value) for name, value in vars(module).items()]
    return [(name, value) for name, value in named if isinstance(value, kind) and is_patched(value)]


def _place(key: Any) -> str:
    """Text of a behavior's key, the same in each process: that of a function has its address."""
    parts = key if isinstance(key, tuple) else (key,)
    return str([getattr(part, "__qualname__", None) or str(part) for part in parts])


def put_into_libraries() -> list[tuple[str, Any]]:
    """Objects that the program has put into libraries, where any code may use them: functions,
    methods of arrays, behaviors of Awkward arrays; with their places."""
    found: list[tuple[str, Any]] = []
    program = sys.modules["__main__"]  # multiprocessing gives it a second name
    modules = [*sys.modules.items()]
    own = {"__main__", *(home for home, _ in modules if own_file(home))}
    for home, module in modules:
        is_library = isinstance(module, ModuleType) and module is not program and home not in own
        if is_library and _core.holds_functions_of(vars(module), own):
            found += _patched(home, module, FunctionType)
    if arrays := sys.modules.get("awkward.highlevel"):
        found += _patched("awkward.highlevel", arrays, type)
    behaviors = getattr(sys.modules.get("awkward"), "behavior", {})
    for key, value in [*behaviors.items()]:
        package = str(getattr(value, "__module__", "")).partition(".")[0]
        if package not in ("awkward", "vector", "forkrun"):
            found.append((_place(key), value))
    return sorted(found, key=lambda each: each[0])
