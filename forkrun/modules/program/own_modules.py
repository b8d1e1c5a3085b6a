"""The modules that a program has imported and that are its user's own: of no library."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from types import ModuleType

_SCHEMES = ("stdlib", "platstdlib", "purelib", "platlib")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


@functools.cache
def installed_paths() -> frozenset[str]:
    """Folders on the import path that every Python process of this environment has."""
    paths = {sysconfig.get_path(name) for name in _SCHEMES}
    return frozenset({*paths, site.getusersitepackages()})


def own_file(name: str) -> str | None:
    """The file of a module that has been imported under this name; None if it is of a library, of
    forkrun, or the program itself."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str) or name.partition(".")[0] in ("__main__", "forkrun"):
        return None
    return os.path.realpath(file) if _is_own(file) else None


@functools.cache
def _is_own(file: str) -> bool:
    installed = tuple(path + os.sep for path in installed_paths())
    is_installed = file.startswith(installed) or any(folder in file for folder in _INSTALLED)
    return file.endswith(".py") and not is_installed


def own_modules() -> Iterator[ModuleType]:
    """All of a program, in the order of their import; each as it can be imported again."""
    for name, module in list(sys.modules.items()):
        if own_file(name) and module.__name__ == name and not name.startswith("forkrun_user_"):
            yield module


def names_by_file() -> dict[str, str]:
    """Under which name this program has the file of each of its modules."""
    return {str(own_file(module.__name__)): module.__name__ for module in own_modules()}
