"""Code of a submitted job: a node reads Python files and module libraries as submitted, from copies
where they have changed since.

Modules keep their names and locations (`__file__`), so that they find the files next to them.
"""

from __future__ import annotations

import hashlib
import linecache
import os
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from forkrun.base.regular_file import read_regular

_sources: dict[str, bytes] = {}
_libraries: dict[str, str] = {}
_digests: dict[str, str] = {}


def use_shipped(digests: Mapping[str, str], copies: Path) -> None:
    """Makes this process and its forks use the code with these SHA-256, by path. `copies`: folder
    of files named by digest. Raises OSError, and ValueError for a damaged copy."""
    _digests.update(digests)
    for path, digest in digests.items():
        if digest_of(Path(path)) == digest:
            continue
        data = read_regular(copies / digest)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(f"{copies / digest}: the copy of {path} is damaged")
        if path.endswith(".py"):
            _sources[path] = data
            lines = data.decode(errors="replace").splitlines(keepends=True)
            linecache.cache[path] = (len(data), None, lines, path)
        else:
            _libraries[path] = str(copies / digest)
    if _sources and SourceFileLoader.get_data is _get_data:
        SourceFileLoader.get_data = _get_shipped  # type: ignore[method-assign,assignment]
        SourceFileLoader.path_stats = _path_stats_of_shipped  # type: ignore[method-assign,assignment]


def shipped_digest(path: Path) -> str | None:
    """SHA-256 of the code that this process uses for a file; None: the file itself."""
    return _digests.get(str(path))


def library_of(path: str) -> str:
    """Path that a library is loaded from."""
    return _libraries.get(os.path.realpath(path), path)


def digest_of(path: Path) -> str:
    """SHA-256 of a file; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


_get_data = SourceFileLoader.get_data
_path_stats = SourceFileLoader.path_stats


def _get_shipped(loader: SourceFileLoader, path: str) -> bytes:
    data = _sources.get(os.path.realpath(path)) if _sources else None
    return _get_data(loader, path) if data is None else data


def _path_stats_of_shipped(loader: SourceFileLoader, path: str) -> Mapping[str, Any]:
    """Raises OSError for a file read from its copy: cached bytecode is from other code."""
    if os.path.realpath(path) in _sources:
        raise OSError(f"{path}: its copy is taken")
    return _path_stats(loader, path)
