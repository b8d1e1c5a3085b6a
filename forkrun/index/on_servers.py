"""Files on servers whose names a pattern describes; listed in a helper process."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from forkrun import _core
from forkrun.errors import InputError
from forkrun.index.read import ask_workers

_PLACES = re.compile(r"^([a-z][a-z0-9+.-]*://[^/]*/)([^?]*)(.*)$")
"""Server, path and query of a URL; a question mark is no magic."""
_MAGIC = re.compile(r"[*\[]")


def is_remote_pattern(url: str) -> bool:
    """Whether its path has * or [...]."""
    match = _PLACES.match(url)
    return bool(match and _MAGIC.search(match[2]))


def files_of_pattern(url: str) -> list[str]:
    """URLs that a pattern matches, sorted. Raises InputError if its folders cannot be listed."""
    ((_, answer),) = ask_workers([{"path": url, "pattern": url}])
    if "error" in answer:
        raise InputError(answer["error"])
    found: list[str] = answer["matches"]
    return found


def matches(url: str) -> list[str]:
    """The same, in this process: folder by folder."""
    match = _PLACES.match(url)
    assert match is not None
    server, path, query = match.groups()
    *folders, name = path.split("/")
    found = [server]
    for depth, part in enumerate(folders):
        at_end = "/".join(folders[depth:])
        if not _MAGIC.search(at_end):
            found = [f"{each}{at_end}/" for each in found]
            break
        found = [f"{each}{n}/" for each in found for n in _names(each, query, part, True)]
    return sorted(f"{each}{n}{query}" for each in found for n in _names(each, query, name, False))


def _names(folder: str, query: str, pattern: str, is_folder: bool) -> Iterable[str]:
    if not _MAGIC.search(pattern):
        return [pattern]
    listed = _core.list_remote(folder + query)
    return [name for name, kind in listed if kind == is_folder and fnmatchcase(name, pattern)]
