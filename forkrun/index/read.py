"""Indexes the input in short-lived helper processes, never in the parent: an open remote file or a
library's thread in the parent would break a later fork.

Indexes are kept on disk, so that a second job over the same files starts at once. A cache that
cannot be written costs time, and is not an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct
from msgspec.msgpack import decode, encode
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.destinations import is_pattern
from forkrun.base.durable import write_bytes
from forkrun.base.importing import collector_paused
from forkrun.config.anchor import cache_folder, is_url
from forkrun.config.remote import about_access
from forkrun.config.source import IdBranches
from forkrun.errors import InputError, OutputError
from forkrun.fork import helper
from forkrun.fork.helper import Answer, Request
from forkrun.formats import Described
from forkrun.index.model import NO_FILE, FileIndex, OtherObjects

_VERSION = 12


class IndexCache(Struct, frozen=True):
    """`folder`: None for a cache that keeps nothing."""

    folder: Path | None

    def find(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Cached index for a request, if the file is unchanged."""
        return _read(self._place(request))

    def keep(self, request: dict[str, Any], index: dict[str, Any]) -> None:
        """Keeps an index, unless the file was replaced since it was read. Concurrent jobs see all
        of it or nothing. It is not synced: an index left incomplete by a machine failure is ignored
        and made again."""
        place = self._place(request)
        if place is not None and _is_of(index, request):
            _write(place, index)

    def find_result(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Cached result of a request, which names all inputs of the result."""
        return _read(self._named(request))

    def keep_result(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        """Keeps a result for the same request."""
        if (place := self._named(request)) is not None:
            _write(place, result)

    def _place(self, request: dict[str, Any]) -> str | None:
        """Path of a cached index; None for a remote file without size and date, in `stat`."""
        if self.folder is None or (is_url(request["path"]) and "stat" not in request):
            return None
        key = dict(request)
        if not is_url(request["path"]):
            try:
                stat = os.stat(request["path"])
            except OSError:
                return None
            key |= {"size": stat.st_size, "mtime": stat.st_mtime_ns, "inode": stat.st_ino}
        if request["lumi_branch"] and not request.get("optional_ids"):
            del key["file_number"]  # only stands in for a lumi that the file does not name
        return self._named(key)

    def _named(self, key: dict[str, Any]) -> str | None:
        if self.folder is None:
            return None
        asked = encode({**key, "version": _VERSION}, order="sorted")
        name = hashlib.sha256(asked).hexdigest()
        return f"{self.folder}/{name[:2]}/{name}.msgpack"  # a Path takes as long as everything else


def _read(place: str | None) -> dict[str, Any] | None:
    """Cached value; None if it is missing or incomplete on disk."""
    if place is None:
        return None
    try:
        with open(place, "rb", buffering=0) as file:
            data = file.read()
        is_whole = data[:_CHECK_BYTES] == _check(memoryview(data)[_CHECK_BYTES:])
        return decode(memoryview(data)[_CHECK_BYTES:], type=dict[str, Any]) if is_whole else None
    except (OSError, DecodeError):
        return None


def _write(place: str, value: dict[str, Any]) -> None:
    data = encode(value)
    with contextlib.suppress(OutputError):
        write_bytes(Path(place), _check(data) + data, durable=False)


_CHECK_BYTES = 4


def _check(data: bytes | memoryview) -> bytes:
    """Checksum written before the data."""
    return _core.crc32c(data).to_bytes(_CHECK_BYTES)


def _is_of(index: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether the file is still the one that was indexed."""
    was = index["n_bytes"], index["modified_ns"]
    if is_url(request["path"]):
        return was == tuple(request["stat"])
    try:
        stat = os.stat(request["path"])
    except OSError:
        return False
    return was == (stat.st_size, stat.st_mtime_ns)


_NOTHING: dict[str, Any] = {
    "uuid": "",
    "n_entries": 0,
    "clusters": [0],
    "ranges": dict.fromkeys(("run", "lumi", "last", "digest"), b""),
    "branches": [],
    "n_bytes": 0,
    "modified_ns": 0,
    "events": (0, 0),
    "rises": True,
    "forms": [],
    "short_branches": [],
    "stored_friends": [],
    "other_objects": [],
    "members": [],
}
"""Index of an unknown file."""
_MOST_WALL_S = 1200.0  # for a local file, which also has a limit of CPU time


def index_files(
    files: Sequence[str],
    ids: IdBranches,
    cache: IndexCache | None = None,
    key: str = "source.tree",
    optional_ids: bool = False,
    trees: Sequence[str] = (),
    *,
    leaves_out: bool = False,
) -> list[FileIndex]:
    """One index per file, in the same order; an empty one for a file "", which another node reads.
    `key`: of the configuration, which names the tree; `optional_ids`: files without the branches of
    event ids are indexed without ids; `trees`: of each file, if they differ; `leaves_out`: for an
    unreadable file, returns its earlier index, or one without events. Raises InputError with every
    file that cannot be indexed and the reason; with `leaves_out` only if all fail."""
    index, problems = try_index(files, ids, cache, key, optional_ids, trees, leaves_out=leaves_out)
    if problems:
        raise InputError("\n".join(problems))
    return index


@collector_paused()
def try_index(
    files: Sequence[str],
    ids: IdBranches,
    cache: IndexCache | None = None,
    key: str = "source.tree",
    optional_ids: bool = False,
    trees: Sequence[str] = (),
    *,
    leaves_out: bool = False,
) -> tuple[list[FileIndex], list[str]]:
    """Indexes of all readable files, in the same order, and the problems of the others. A file may
    lack the tree if another one has it."""
    cache = cache or IndexCache(cache_folder("index"))
    asked = {**ids._asdict(), **({"optional_ids": True} if optional_ids else {})}
    if is_pattern(ids.tree) and not trees:
        files, trees = _trees_by_pattern(files, asked, cache)
    wanted = list(zip(files, trees or [ids.tree] * len(files), strict=True))
    answers = _answers(wanted, asked, cache)
    if leaves_out and any("index" in answer for answer in answers.values()):
        answers = {each: _known_before(a, each, asked, cache) for each, a in answers.items()}
    problems = [
        _explain(a["error"], each[0], ids, key)
        for each in wanted
        if each[0] and "error" in (a := answers[each])
    ]
    absent = [a["index"]["absent"] for a in answers.values() if "index" in a]
    if absent and all(absent):  # no file has it: the name is wrong
        named = [file for file, tree in wanted if file and "index" in answers[file, tree]]
        return [], [
            *problems,
            *(_explain(*each, ids, key) for each in zip(absent, named, strict=True)),
        ]
    good = [each for each in wanted if not each[0] or "error" not in answers[each]]
    index = [
        replace(
            FileIndex.from_json(each[0], answers[each]["index"]),
            tree=each[1] if trees else "",
            unreadable=answers[each].get("unreadable", ""),
        )
        if each[0]
        else NO_FILE
        for each in good
    ]
    return index, problems


_Wanted = tuple[str, str]
"""File and tree."""


def _answers(
    wanted: Sequence[_Wanted], asked: dict[str, Any], cache: IndexCache
) -> dict[_Wanted, dict[str, Any]]:
    requests: list[dict[str, Any]] = [
        {**asked, "path": file, "tree": tree, "file_number": number}
        for number, (file, tree) in enumerate(wanted)
        if file
    ]
    if cache.folder is not None:
        known = _stats([r["path"] for r in requests if is_url(r["path"])])
        requests = [{**r, "stat": known[r["path"]]} if r["path"] in known else r for r in requests]
    answers: dict[_Wanted, dict[str, Any]] = {
        (r["path"], r["tree"]): {"index": kept}
        for r in requests
        if (kept := cache.find(r)) is not None
    }
    todo = [each for each in requests if (each["path"], each["tree"]) not in answers]
    for request, answer in ask_workers(todo):
        answers[request["path"], request["tree"]] = answer
        if "index" in answer:
            cache.keep(request, answer["index"])
    return answers


told_by_lists: dict[str, tuple[int, int]] = {}
"""Bytes and modification time, in ns, of files just listed by servers; each is used once."""


def _stats(urls: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Bytes and modification time of the remote files, if their server tells: one request for
    all."""
    known = {url: told_by_lists.pop(url) for url in urls if url in told_by_lists}
    if asked := [url for url in urls if url not in known]:
        ((_, answer),) = ask_workers([{"path": asked[0], "stats": asked}])
        told = zip(asked, answer.get("stats", []), strict=False)
        known.update({url: (n, at) for url, (_, _, n, at) in told if n >= 0})
    return known


def _known_before(
    answer: Answer, wanted: _Wanted, asked: dict[str, Any], cache: IndexCache
) -> Answer:
    """The file's earlier index instead of an error, or an empty one."""
    file, tree = wanted
    request = {**asked, "path": file, "tree": tree, "when": "last"}
    if "index" in answer:
        cache.keep_result(request, answer["index"])
        return answer
    known = cache.find_result(request) or {**_NOTHING, "absent": f"{file}: it cannot be read"}
    return {"index": known, "unreadable": answer["error"].removeprefix(f"{file}: ")}


def _trees_by_pattern(
    files: Sequence[str], asked: dict[str, Any], cache: IndexCache
) -> tuple[list[str], list[str]]:
    """Each file once per matching tree, and these trees in the order of its keys; a file without
    any, or an unreadable one, once with the pattern. No trees if the pattern is the name of one."""
    pattern = asked["tree"]
    answers = _answers([(file, pattern) for file in files], asked, cache)
    if any(a["index"]["absent"] == "" for a in answers.values() if "index" in a):
        return list(files), []
    found = [
        (file, tree)
        for file in files
        for tree in _matching(pattern, answers[file, pattern]) or [pattern]
    ]
    return [file for file, _ in found], [tree for _, tree in found]


def _matching(pattern: str, answer: Answer) -> list[str]:
    """Trees whose folders and name match those of the pattern."""
    parts = pattern.split("/")
    if "index" not in answer:
        return []
    trees = (tree.split("/") for tree in OtherObjects(*answer["index"]["other_objects"]).trees)
    return [
        "/".join(tree)
        for tree in trees
        if len(tree) == len(parts) and all(map(fnmatchcase, tree, parts))
    ]


def describe_files(wanted: Sequence[tuple[str, str]]) -> list[dict[str, Described]]:
    """Branches of a tree in each file, by name. Raises InputError."""
    requests = [{"path": file, "describe": tree} for file, tree in wanted]
    answers = {(r["path"], r["describe"]): answer for r, answer in ask_workers(requests)}
    problems = [f"{each[0]}: {a['error']}" for each in wanted if "error" in (a := answers[each])]
    if problems:
        raise InputError("\n".join(problems))
    described = [[Described(*each) for each in answers[of]["described"]] for of in wanted]
    return [{each.name: each for each in reversed(of_file)} for of_file in described]


def _explain(message: str, file: str, ids: IdBranches, key: str) -> str:
    text = message if file in message else f"{file}: {message}"
    text += about_access(text)
    if "branch" in message and ids.lumi_branch.startswith("event/"):
        return f"{text}; source.events_per_lumi is for files of LCIO: leave it out"
    if "no tree" in message:
        text += f"; name the tree of events with {key}"
    branches = {name for name in ids[1:] if name}
    if "branch" in message and any(name in message for name in branches):
        text += (
            "; name the id branches of your files with source.run_branch, source.lumi_branch and"
            ' source.event_branch, or set all three to "" to take each file as one lumi of run 1;'
            f" all branches: forkrun columns {file}"
        )
    return text


def ask_workers(requests: list[Request]) -> list[tuple[Request, Answer]]:
    """Answers of file-reading processes, in any order."""
    return helper.ask_workers("forkrun.index.worker", requests, _most_s)


def found_by_workers(
    requests: list[Request], key: str, what: str = ""
) -> Iterator[tuple[Request, Any]]:
    """Requests and what file-reading processes answer under this key, in any order. `what`: named
    in errors. Raises InputError."""
    for request, answer in ask_workers(requests):
        if "error" in answer:
            raise InputError(f"{request['path']}: {what}{answer['error']}")
        yield request, answer[key]


def cached_results(requests: Sequence[Request], key: str) -> Iterator[tuple[int, Any]]:
    """Number and result of each request, from earlier jobs or from file-reading processes. A
    request names all inputs of its result. Raises InputError."""
    cache, todo = IndexCache(cache_folder("index")), []
    for number, request in enumerate(requests):
        known = cache.find_result(request)
        if known is None:
            todo.append({**request, "number": number})
        else:
            yield number, known
    for request, result in found_by_workers(todo, key):
        number = request["number"]
        cache.keep_result(requests[number], result)
        yield number, result


def _most_s(request: Request) -> float:
    return math.inf if is_url(request["path"]) else _MOST_WALL_S
