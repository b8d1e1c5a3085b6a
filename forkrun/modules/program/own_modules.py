"""The modules that a program has imported and that are its user's own: of no library."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from forkrun.base.user_code.installed import is_installed


def own_file(name: str) -> str | None:
    """The file of a module that has been imported under this name; None if it is of a library, of
    forkrun, or the program itself."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str) or name.partition(".")[0] in ("__main__", "forkrun"):
        return None
    is_own = file.endswith(".py") and not is_installed(file)
    return os.path.realpath(file) if is_own else None


def is_own_module(module: ModuleType) -> bool:
    """Whether a module is the user's own: one of Python code, a folder of such, or one that a
    program has made."""
    name = module.__name__
    if own_file(name) and sys.modules[name] is module:
        return True
    folders = [] if getattr(module, "__file__", None) else [*getattr(module, "__path__", ())]
    is_made = name not in sys.modules and not hasattr(module, "__file__")
    return is_made or (bool(folders) and not any(is_installed(f"{each}/") for each in folders))


def own_modules() -> Iterator[ModuleType]:
    """All of a program, in the order of their import; each as it can be imported again."""
    for name, module in list(sys.modules.items()):
        if own_file(name) and module.__name__ == name and not name.startswith("forkrun_user_"):
            yield module


def find_in_program(kind: str) -> Any:
    """The function or class of `python:FILE.py:NAME` or `python:package.module:NAME` in
    [[modules]]; None if the running program has not imported that module."""
    home, _, name = kind.removeprefix("python:").rpartition(":")
    if home.endswith(".py"):
        home = names_by_file().get(os.path.realpath(home), "")
    return getattr(sys.modules.get(home), name, None)


def names_by_file() -> dict[str, str]:
    """Under which name this program has the file of each of its modules."""
    return {str(own_file(module.__name__)): module.__name__ for module in own_modules()}
