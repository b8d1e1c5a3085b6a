"""Installed code, as opposed to user code: Python's library, and packages."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig

_LIBRARY = ("stdlib", "platstdlib")
_PACKAGES = ("purelib", "platlib")
_NAMES = ("site-packages", "dist-packages")


@functools.cache
def environment_folders() -> frozenset[str]:
    """Folders on the import path of every Python process in this environment."""
    paths = {sysconfig.get_path(name) for name in (*_LIBRARY, *_PACKAGES)}
    return frozenset({*paths, site.getusersitepackages()})


def package_folders() -> list[str]:
    """Folders of installed packages, including other environments on the import path, such as views
    of releases and system-wide packages."""
    own = [sysconfig.get_path(name) for name in _PACKAGES]
    others = [path for path in sys.path if os.path.basename(path) in _NAMES or _has_records(path)]
    return list(dict.fromkeys([*own, *others]))


@functools.cache
def is_installed(file: str) -> bool:
    """Whether a file belongs to Python's library or to a package."""
    folders = tuple(path + os.sep for path in environment_folders())
    is_in_package = any(f"{os.sep}{name}{os.sep}" in file for name in _NAMES)
    roots = [path for path in sys.path if path and file.startswith(path + os.sep)]
    return file.startswith(folders) or is_in_package or any(map(_has_records, roots))


@functools.cache
def _has_records(folder: str) -> bool:
    """Whether packages are installed in the folder, as by `pip install --target`."""
    return os.path.isdir(folder) and any(n.endswith(".dist-info") for n in os.listdir(folder))
