"""Python modules that code imports while it runs: `import x` within a function, `np.ma`. Each child
would import them separately, so the parent does it before the fork."""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from msgspec import Struct

from forkrun.base.user_code import unpartial
from forkrun.base.user_code.neighbours import is_neighbour
from forkrun.modules.program import code_uses
from forkrun.modules.program.own_code import own_file

_KNOWN = frozenset(
    ["forkrun", "numpy", "awkward", "awkward_cpp", "vector", "boost_histogram", "hist", "uhi"]
)
"""Libraries that start no thread on import, like the standard library."""


class Import(Struct, frozen=True):
    """Effect of an import statement in a file with these `variables`; the fields are the arguments
    of `__import__`."""

    name: str
    names: Sequence[str] = ()
    level: int = 0
    variables: Mapping[str, Any] = {}

    @property
    def is_done(self) -> bool:
        """Whether everything is imported already."""
        module = None if self.level else sys.modules.get(self.name)
        return module is not None and all(hasattr(module, name) for name in self.names)

    @property
    def is_harmless(self) -> bool:
        """Whether it surely starts no thread and opens nothing."""
        first = self.name.partition(".")[0]
        return not self.level and (first in _KNOWN or first in sys.stdlib_module_names)

    def do(self) -> None:
        """Imports it. Errors are ignored: the code will fail in the same way and report it."""
        own = self.variables.get("__builtins__", builtins)
        find = own["__import__"] if isinstance(own, dict) else own.__import__
        with contextlib.suppress(Exception, SystemExit):
            find(self.name, self.variables, None, tuple(self.names), self.level)


def new_modules(before: Iterable[str]) -> list[str]:
    """Names of modules imported since `before` that another process could import by these names."""
    known = frozenset(before)
    new = {name: module for name, module in [*sys.modules.items()] if name not in known}
    specs = {name: getattr(module, "__spec__", None) for name, module in new.items()}
    return [
        name
        for name, spec in specs.items()
        if spec and spec.name == name and not is_neighbour(spec)
    ]


def imports_in(functions: Iterable[Callable[..., Any]]) -> list[Import]:
    """Imports that users' functions, and functions called by them, would do when called."""
    found: dict[tuple[str, tuple[str, ...], int], Import] = {}
    seen: set[int] = set()
    for function in functions:
        for each in _in_function(unpartial(function), seen):
            if not each.is_done:
                found.setdefault((each.name, tuple(each.names), each.level), each)
    return list(found.values())


def _in_function(function: Any, seen: set[int]) -> Iterator[Import]:
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or id(code) in seen:
        return
    seen.add(id(code))
    if own_file(function.__module__ or "") is None and function.__module__ != "__main__":
        return
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    inner = {name: getattr(cell, "cell_contents", None) for name, cell in cells}
    variables = {**function.__globals__, **inner}
    for name in {*code.co_names, *code.co_freevars} & variables.keys():
        for each in _functions_of(variables[name]):
            yield from _in_function(each, seen)
    yield from _in_code(code, function.__globals__, variables)


def _functions_of(value: Any) -> list[Any]:
    """The function itself, or the methods of a class."""
    return list(vars(value).values()) if isinstance(value, type) else [unpartial(value)]


def _in_code(
    code: CodeType, file: Mapping[str, Any], variables: Mapping[str, Any]
) -> Iterator[Import]:
    """`file`: variables of the code's file; `variables`: all that the code sees."""
    for each in code_uses.imports(code):
        yield Import(each.module, each.names, each.level, file)
    for use in sorted(code_uses.uses(code)):
        module = variables.get(use.name)
        for name in use.chain:
            if not isinstance(module, ModuleType):
                break
            if name not in vars(module) and _has_module(module, name):
                yield Import(f"{module.__name__}.{name}")
            module = vars(module).get(name)
    for inner in code_uses.inner_codes(code):
        yield from _in_code(inner, file, variables)


def _has_module(package: ModuleType, name: str) -> bool:
    """Whether a package has a module of this name, which it may import on access."""
    if not hasattr(package, "__path__"):
        return False
    try:
        return importlib.util.find_spec(f"{package.__name__}.{name}") is not None
    except (ImportError, ValueError):
        return False
