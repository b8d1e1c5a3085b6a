"""Files on servers that match a pattern; listed in a helper process."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from forkrun import _core
from forkrun.base.input_files.urls import whole_url
from forkrun.errors import InputError
from forkrun.index.read import ask_workers, told_by_lists

_PLACES = re.compile(r"^([a-z][a-z0-9+.-]*://[^/]*/)([^?]*)(.*)$")
"""Server, path and query of a URL; a question mark is not a wildcard."""
_MAGIC = re.compile(r"[*\[]")


def is_remote_pattern(url: str) -> bool:
    """Whether the path has * or [...]."""
    match = _PLACES.match(url)
    return bool(match and _MAGIC.search(match[2]))


_listed: dict[str, list[str]] = {}
"""Latest matches of patterns, as whole URLs: a command lists the files of a server once."""


def files_of_pattern(url: str, *, again: bool) -> list[str]:
    """URLs that match a pattern, sorted; if not `again`, from an earlier listing. Raises InputError
    if its folders cannot be listed."""
    asked = whole_url(url)
    if again or asked not in _listed:
        ((_, answer),) = ask_workers([{"path": url, "pattern": url}])
        if "error" in answer:
            raise InputError(answer["error"])
        found: list[tuple[str, int, int]] = answer["matches"]
        _listed[asked] = [name for name, _, _ in found]
        told_by_lists.update({name: (n, at) for name, n, at in found if n >= 0})
    return _listed[asked]


def matches(url: str) -> list[tuple[str, int, int]]:
    """Matches of a pattern, found here folder by folder: URL, bytes (-1: unknown), date in ns."""
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
        found = [f"{each}{n}/" for each in found for n, *_ in _names(each, query, part, True)]
    return sorted(
        (f"{each}{n}{query}", n_bytes, at)
        for each in found
        for n, n_bytes, at in _names(each, query, name, False)
    )


def _names(
    folder: str, query: str, pattern: str, is_folder: bool
) -> Iterable[tuple[str, int, int]]:
    if not _MAGIC.search(pattern):
        return [(pattern, -1, 0)]
    listed = _core.list_remote(folder + query)
    return [
        (name, n_bytes, at)
        for name, kind, n_bytes, at in listed
        if kind == is_folder and fnmatchcase(name, pattern)
    ]
