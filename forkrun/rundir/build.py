"""Identity of the installed forkrun: its version, and a digest of its Python files and libraries.

The digest covers contents, so the same files give the same identity on any machine and in editable
installs. The user's cache keeps it until a file's size or time changes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import forkrun
from forkrun.base.durable import read_json, write_bytes
from forkrun.config.anchor import cache_folder
from forkrun.errors import OutputError

_SUFFIXES = (".py", ".so")


@functools.cache
def build_identity() -> str:
    """Version and digest as a local version of PEP 440: "0.1.0+3f2a9c01d4e7"."""
    folder = Path(forkrun.__file__).parent
    return f"{forkrun.__version__}+{installed_digest(folder, cache_folder('build'))[:12]}"


def release() -> str:
    """Part of the version within which run directories are resumed: "0.1" of "0.1.7"."""
    return forkrun.__version__.rpartition(".")[0]


def installed_digest(package: Path, cache: Path | None) -> str:
    """SHA-256 of the names and contents of a package's files. `cache`: folder that keeps it; None:
    do not keep it."""
    found = sorted(_files(str(package)))
    state = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    name = hashlib.sha256(str(package).encode()).hexdigest()[:16]
    kept = cache and cache / f"{name}.json"
    if kept and (known := read_json(kept)).get("state") == state:
        return str(known["digest"])
    digest = _digest(package, [path for path, _, _ in found])
    if kept:
        with contextlib.suppress(OSError, OutputError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            known = {"state": state, "digest": digest}
            write_bytes(kept, json.dumps(known).encode(), durable=False)
    return digest


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Path, size and modification time of each file that is executed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_SUFFIXES):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _files(entry.path)


def _digest(package: Path, paths: list[str]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        digest.update(f"{os.path.relpath(path, package)} {content}\n".encode())
    return digest.hexdigest()
