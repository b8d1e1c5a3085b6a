"""Cheaper imports, which are most of the cost of a small job."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from itertools import dropwhile
from types import ModuleType
from typing import Any

_ARROW = "awkward._connect.pyarrow"
_LATER = (_ARROW, "fsspec", "fsspec.parquet")
_DOCS = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""Modules of NumPy that write the docstrings of its functions in C."""
_Run = Callable[[ModuleType], None]


def names_on_demand(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """`__getattr__` of a package whose names are imported when first used. `homes`: names by
    module."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def imported(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home_of[name]), name)

    return imported


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the garbage collector while many lasting objects are made: it would find almost
    nothing, and take a sixth of the time of importing a large package. Does nothing where it is
    off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def found_after(
    finder: object, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """Specification of a module from the finders after this one. Those before it have been asked,
    and may be asking this one."""
    others = list(dropwhile(lambda each: each is not finder, sys.meta_path))[1:]
    return next(filter(None, (each.find_spec(name, path, target) for each in others)), None)


def import_numpy_lightly() -> None:
    """Makes a later import of NumPy in this process, of a command, skip the docstrings of functions
    in C."""
    if "numpy" not in sys.modules:
        sys.modules.update({name: ModuleType(name) for name in _DOCS})


def import_awkward_lightly() -> None:
    """Makes later imports of Awkward in this process skip pyarrow and fsspec, a third of the time:
    functions that need these import them when called."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Placeholder(ModuleType):
    """Placeholder for a module in Awkward. Functions taken from it during Awkward's import become
    calls."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            return lambda *args, **how: getattr(self, name)(*args, **how)
        return getattr(importlib.import_module(self.__name__), name)


class _Finder:
    """Finds Awkward and pyarrow through other finders, and changes how they are run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        run_as = {"awkward": _run_awkward, "pyarrow": _run_pyarrow}.get(name)
        if run_as is None or name in sys.modules:
            return None
        spec = found_after(self, name, path, target)
        loader: Any = spec and spec.loader
        if run := getattr(loader, "exec_module", None):
            loader.exec_module = lambda module: run_as(module, run)
        return spec


def _run_awkward(module: ModuleType, run: _Run) -> None:
    """Runs Awkward with placeholders; normally, where it does more with the modules than take
    functions."""
    arrow_is_there = "pyarrow" in sys.modules
    names = {n for n in _LATER if n not in sys.modules and not (n == _ARROW and arrow_is_there)}
    before = {*sys.modules}
    sys.modules.update({name: _Placeholder(name) for name in names})
    try:
        run(module)
    except Exception:
        for name in {*sys.modules} - before:
            if name.partition(".")[0] in ("awkward", "fsspec"):
                del sys.modules[name]
        sys.modules["awkward"] = module
        run(module)
        return
    placeholders = {name: sys.modules.pop(name) for name in names}
    if _ARROW in placeholders:
        vars(sys.modules["awkward._connect"])["pyarrow"] = placeholders[_ARROW]


def _run_pyarrow(module: ModuleType, run: _Run) -> None:
    """Runs pyarrow, then adds Awkward's types to it."""
    run(module)
    if "awkward" in sys.modules:
        importlib.import_module(_ARROW)
