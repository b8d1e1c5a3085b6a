"""Indexes the input in short-lived helper processes, never in the parent: an open remote file or a
library's thread in the parent would break a later fork."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forkrun.config import IdBranches
from forkrun.config.anchor import cache_folder, is_url
from forkrun.errors import InputError
from forkrun.fork import helper
from forkrun.fork.helper import Answer, Request
from forkrun.formats import Described
from forkrun.index.cache import IndexCache
from forkrun.index.model import NO_FILE, FileIndex

_MOST_WALL_S = 1200.0  # for a local file, which has a limit of CPU time as well


def index_files(
    files: Sequence[str],
    ids: IdBranches,
    cache: IndexCache | None = None,
    key: str = "source.tree",
    optional_ids: bool = False,
    trees: Sequence[str] = (),
) -> list[FileIndex]:
    """One index per file, in the same order; of a file "", which another node reads, an empty one.
    `key`: of the configuration, which names the tree; `optional_ids`: files that lack the branches
    of event ids are indexed without; `trees`: that of each file, if it is not the same for all.
    Raises InputError with every file that cannot be indexed and why."""
    index, problems = try_index(files, ids, cache, key, optional_ids, trees)
    if problems:
        raise InputError("\n".join(problems))
    return index


def try_index(
    files: Sequence[str],
    ids: IdBranches,
    cache: IndexCache | None = None,
    key: str = "source.tree",
    optional_ids: bool = False,
    trees: Sequence[str] = (),
) -> tuple[list[FileIndex], list[str]]:
    """One index for each file that can be indexed, in the same order, and why others cannot. A file
    may lack the tree if another one has it."""
    cache = cache or IndexCache(cache_folder("index"))
    asked = {**ids._asdict(), **({"optional_ids": True} if optional_ids else {})}
    wanted = list(zip(files, trees or [ids.tree] * len(files), strict=True))
    requests: list[dict[str, Any]] = [
        {**asked, "path": file, "tree": tree, "file_number": number}
        for number, (file, tree) in enumerate(wanted)
        if file
    ]
    answers: dict[tuple[str, str], dict[str, Any]] = {
        _asked(r): {"index": kept} for r in requests if (kept := cache.find(r)) is not None
    }
    todo = [request for request in requests if _asked(request) not in answers]
    for request, answer in ask_workers(todo):
        answers[_asked(request)] = answer
        if "index" in answer:
            cache.keep(request, answer["index"])
    problems = [
        _explain(a["error"], each[0], ids, key)
        for each in wanted
        if each[0] and "error" in (a := answers[each])
    ]
    absent = [a["index"]["absent"] for a in answers.values() if "index" in a]
    if absent and all(absent):  # not even one has it: the name is wrong
        named = [file for file, tree in wanted if file and "index" in answers[file, tree]]
        return [], [
            *problems,
            *(_explain(*each, ids, key) for each in zip(absent, named, strict=True)),
        ]
    good = [each for each in wanted if not each[0] or "error" not in answers[each]]
    index = [
        FileIndex.from_json(each[0], answers[each]["index"]) if each[0] else NO_FILE
        for each in good
    ]
    return index, problems


def _asked(request: Request) -> tuple[str, str]:
    """What an answer is of: file and tree."""
    return request["path"], request["tree"]


def describe_files(files: Sequence[str], tree: str) -> list[dict[str, Described]]:
    """What each file says of its branches, by name. Raises InputError."""
    requests = [{"path": file, "describe": tree} for file in files]
    answers = {request["path"]: answer for request, answer in ask_workers(requests)}
    problems = [f"{file}: {a['error']}" for file in files if "error" in (a := answers[file])]
    if problems:
        raise InputError("\n".join(problems))
    described = [[Described(*each) for each in answers[file]["described"]] for file in files]
    return [{each.name: each for each in reversed(of_file)} for of_file in described]


def _explain(message: str, file: str, ids: IdBranches, key: str) -> str:
    text = message if file in message else f"{file}: {message}"
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
    """Answers in any order, of processes that read the files."""
    return helper.ask_workers("forkrun.index.worker", requests, _most_s)


def _most_s(request: Request) -> float:
    return math.inf if is_url(request["path"]) else _MOST_WALL_S
