"""Input files of a job: globs, list files and URLs, in input order; patterns on servers are listed
in a helper process."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from forkrun import _core
from forkrun.base.input_files.urls import public_url, register_url, whole_url
from forkrun.base.nearest import close_to
from forkrun.base.quantities import plural
from forkrun.base.user_text import text_problem
from forkrun.config.anchor import anchored, is_url
from forkrun.config.source import SourceConfig
from forkrun.errors import InputError
from forkrun.index.read import ask_workers, told_by_lists

_PLACES = re.compile(r"^([a-z][a-z0-9+.-]*://[^/]*/)([^?]*)(.*)$")
"""Server, path and query of a URL; a question mark is not a wildcard."""
_MAGIC = re.compile(r"[*\[]")


def is_remote_pattern(url: str) -> bool:
    """Whether the path has * or [...]."""
    match = _PLACES.match(url)
    return bool(match and _MAGIC.search(match[2]))


_latest: dict[str, list[str]] = {}
"""Latest matches of patterns, as whole URLs: a command lists the files of a server once."""


def files_of_pattern(url: str, *, again: bool) -> list[str]:
    """URLs that match a pattern, sorted; if not `again`, from an earlier listing. Raises InputError
    if its folders cannot be listed."""
    asked = whole_url(url)
    if again or asked not in _latest:
        ((_, answer),) = ask_workers([{"path": url, "pattern": url}])
        if "error" in answer:
            raise InputError(answer["error"])
        found: list[tuple[str, int, int]] = answer["matches"]
        _latest[asked] = [name for name, _, _ in found]
        told_by_lists.update({name: (n, at) for name, n, at in found if n >= 0})
    return _latest[asked]


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


_MOST_SIBLINGS = 10_000
"""Maximum number of files in a folder that are compared with a misspelt name."""
_WHERE = "correct source.files, source.list, or the command line"


class FileProblem(NamedTuple):
    """A file or pattern of the input, "" if it cannot be named, and the whole message about it."""

    file: str
    text: str


def input_files(source: SourceConfig) -> list[str]:
    """Paths and URLs of the input; the files of one glob are sorted by name. Raises InputError,
    which names every file that is missing, unreadable or named twice."""
    files, problems = find_files(source)
    if problems:
        raise InputError("\n".join(problem.text for problem in problems))
    return files


def find_files(source: SourceConfig, remedy: str = _WHERE) -> tuple[list[str], list[FileProblem]]:
    """Paths and URLs of the input, including missing files, and all problems. Raises InputError if
    no file is named."""
    patterns = [*source.files, *(_listed(Path(source.list)) if source.list else ())]
    if not patterns:
        raise InputError(
            "no input: name files in source.files or source.list, or on the command line"
        )
    problems: list[FileProblem] = []
    prefixes = source.prefixes
    files = [f for pattern in patterns for f in _expand(pattern, problems, remedy, prefixes)]
    problems += [
        FileProblem(f, f"{f}: named {plural(n, 'time')}")
        for f, n in Counter(files).items()
        if n > 1
    ]
    return files, problems


def input_files_or_gaps(source: SourceConfig) -> list[str]:
    """Input files for a job that leaves out unreadable ones, including named ones that are missing.
    Raises InputError for patterns without a match, and files named twice."""
    files, problems = find_files(source)
    gaps = {file for file in files if not is_url(file) and not os.access(file, os.R_OK)}
    if left := [problem.text for problem in problems if problem.file not in gaps]:
        raise InputError("\n".join(left))
    return files


def expand(patterns: Iterable[str], prefixes: Sequence[str]) -> list[str]:
    """Paths and URLs of the existing files; for patterns on servers, from an earlier listing if
    available."""
    return [f for pattern in patterns for f in _expand(pattern, [], "", prefixes, again=False)]


def _listed(path: Path) -> list[str]:
    """Lines of a list file without comments; relative paths are relative to its folder."""
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot read source.list: {error.strerror}") from None
    names = [line.split("#", 1)[0].strip() if "://" not in line else line.strip() for line in lines]
    return [anchored(name, path.parent) for name in names if name and not name.startswith("#")]


def _expand(
    pattern: str,
    problems: list[FileProblem],
    remedy: str,
    prefixes: Sequence[str],
    *,
    again: bool = True,
) -> list[str]:
    if is_url(pattern):
        return _on_servers(pattern, problems, remedy, again)
    if prefixes:
        first, *others = prefixes
        name = pattern.lstrip("/") if first.endswith("/") else pattern
        found = _on_servers(register_url(first + name), problems, remedy, again)
        names = [url.removeprefix(public_url(first)) for url in found]
        return [register_url("|".join([first + n, *(p + n for p in others)])) for n in names]
    if not os.path.exists(pattern) and glob.has_magic(pattern):
        found = sorted(glob.glob(pattern, recursive=True))
        if not found:
            text = f"{pattern}: no file matches this pattern; {remedy}"
            problems.append(FileProblem(pattern, text))
        return [os.path.abspath(file) for file in found if _is_sound(file, problems)]
    if not _is_sound(pattern, problems):
        return []
    if problem := _unreadable(pattern, remedy):
        problems.append(FileProblem(os.path.abspath(pattern), f"{pattern}: {problem}"))
    return [os.path.abspath(pattern)]


def _on_servers(url: str, problems: list[FileProblem], remedy: str, again: bool) -> list[str]:
    """A URL, or the matches of a pattern."""
    if not is_remote_pattern(url):
        return [url]
    try:
        found = files_of_pattern(url, again=again)
    except InputError as error:
        problems.append(FileProblem(url, str(error)))
        return []
    if not found:
        problems.append(FileProblem(url, f"{url}: no file matches this pattern; {remedy}"))
    return found


def _is_sound(path: str, problems: list[FileProblem]) -> bool:
    """Whether records can hold the file's name."""
    problem = text_problem(path)
    if problem:
        problems.append(FileProblem("", problem))
    return problem is None


def _unreadable(path: str, remedy: str) -> str:
    if not os.path.exists(path):
        return f"file not found; {_sibling(path)}{remedy}"
    if os.path.isdir(path):
        return f"this is a folder; for its files write {path}/*.root"
    return "" if os.access(path, os.R_OK) else "no permission to read it"


def _sibling(path: str) -> str:
    """Similar name in the same folder, or ""."""
    folder, name = os.path.split(path)
    try:
        close = close_to(name, islice(os.listdir(folder or "."), _MOST_SIBLINGS))
    except OSError:
        return ""
    return f'did you mean "{close}"? ' if close else ""
