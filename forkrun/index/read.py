"""Indexes the input in short-lived helper processes, never in the parent: an open remote file or a
library's thread in the parent would break a later fork."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from forkrun.config import SourceConfig
from forkrun.config.anchor import cache_folder, is_url
from forkrun.errors import InputError
from forkrun.fork.contained import FROM_OUTSIDE, TRIES, describe_death
from forkrun.index.cache import IndexCache
from forkrun.index.model import NO_FILE, FileIndex

_FILES_PER_WORKER = 4  # a helper takes about a second to start; a file some milliseconds

_MOST_WALL_S = 1200.0  # for a local file, which has a limit of CPU time as well
_INTERVAL_S = 10.0


class IdBranches(NamedTuple):
    """Names of the tree and of its branches of event ids."""

    tree: str
    run_branch: str
    lumi_branch: str
    event_branch: str

    @classmethod
    def of(cls, source: SourceConfig) -> IdBranches:
        """The id branches that are configured."""
        return cls(source.tree, source.run_branch, source.lumi_branch, source.event_branch)


def index_files(
    files: Sequence[str],
    ids: IdBranches,
    cache: IndexCache | None = None,
    key: str = "source.tree",
    optional_ids: bool = False,
) -> list[FileIndex]:
    """One index per file, in the same order; of a file "", which another node reads, an empty one.
    `key`: of the configuration, which names the tree; `optional_ids`: files that lack the branches
    of event ids are indexed without. Raises InputError with every file that cannot be indexed and
    why."""
    index, problems = try_index(files, ids, cache, key, optional_ids)
    if problems:
        raise InputError("\n".join(problems))
    return index


def try_index(
    files: Sequence[str],
    ids: IdBranches,
    cache: IndexCache | None = None,
    key: str = "source.tree",
    optional_ids: bool = False,
) -> tuple[list[FileIndex], list[str]]:
    """One index for each file that can be indexed, in the same order, and why others cannot. A file
    may lack the tree if another one has it."""
    cache = cache or IndexCache(cache_folder("index"))
    asked = {**ids._asdict(), **({"optional_ids": True} if optional_ids else {})}
    requests: list[dict[str, Any]] = [
        {**asked, "path": file, "file_number": number} for number, file in enumerate(files) if file
    ]
    answers: dict[str, dict[str, Any]] = {
        r["path"]: {"index": kept} for r in requests if (kept := cache.find(r)) is not None
    }
    todo = [request for request in requests if request["path"] not in answers]
    for request, answer in ask_workers(todo):
        answers[request["path"]] = answer
        if "index" in answer:
            cache.keep(request, answer["index"])
    problems = [
        _explain(a["error"], f, ids, key) for f in files if f and "error" in (a := answers[f])
    ]
    absent = [a["index"]["absent"] for a in answers.values() if "index" in a]
    if absent and all(absent):  # not even one has it: the name is wrong
        named = [file for file in files if file and "index" in answers[file]]
        return [], [
            *problems,
            *(_explain(*each, ids, key) for each in zip(absent, named, strict=True)),
        ]
    good = [file for file in files if not file or "error" not in answers[file]]
    index = [
        FileIndex.from_json(file, answers[file]["index"]) if file else NO_FILE for file in good
    ]
    return index, problems


def _explain(message: str, file: str, ids: IdBranches, key: str) -> str:
    text = message if file in message else f"{file}: {message}"
    if "no tree" in message:
        text += f"; name the tree of events with {key}"
    branches = {name for name in ids[1:] if name}
    if "branch" in message and any(name in message for name in branches):
        text += (
            "; name the id branches of your files with source.run_branch, source.lumi_branch and"
            ' source.event_branch, or set all three to "" to take each file as one lumi of run 1'
        )
    return text


class _Worker:
    """One helper process and the request it is working on."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "forkrun.index.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            text=True,
        )
        self.request: dict[str, Any] = {}
        self._deadline_s = 0.0
        self._is_late = False
        self._n_answered = 0

    def ask(self, request: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.request = request
        self._deadline_s = time.monotonic() + _MOST_WALL_S
        with contextlib.suppress(BrokenPipeError):  # it has just died: the reply says so
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()

    def reply(self) -> dict[str, Any]:
        """The answer, or how the helper ended. `again`: the file may not be to blame."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line.endswith("\n"):
            self._n_answered += 1
            answer: dict[str, Any] = json.loads(line)
            return answer
        exit_code = self.process.wait()
        if self._is_late:
            return {"error": f"it could not be read within {_MOST_WALL_S:.0f} s"}
        again = self._n_answered > 0 or -exit_code in FROM_OUTSIDE
        return {"error": describe_death(exit_code), "again": again}

    def end_if_late(self) -> None:
        """Kills the helper if it does not answer for too long: its file may be on a dead server."""
        if time.monotonic() > self._deadline_s and not is_url(self.request["path"]):
            self._is_late = True
            self.process.kill()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        self.process.communicate()


def ask_workers(requests: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Answers in any order. A helper that dies is replaced; its file is tried again, unless it was
    the first one that the helper read and killed it."""
    pending = list(reversed(requests))
    tries: Counter[str] = Counter()
    n_workers = min(len(os.sched_getaffinity(0)), -(-len(pending) // _FILES_PER_WORKER))
    answers = []
    with selectors.DefaultSelector() as selector:
        for _ in range(n_workers):
            _start(selector, pending)
        while selector.get_map():
            for key, _ in selector.select(_INTERVAL_S):
                worker: _Worker = key.data
                request, answer = worker.request, worker.reply()
                tries[request["path"]] += 1
                if answer.get("again") and tries[request["path"]] < TRIES:
                    pending.append(request)
                else:
                    answers.append((request, answer))
                if pending and worker.alive:
                    worker.ask(pending.pop())
                    continue
                selector.unregister(key.fileobj)
                worker.close()
                if pending:
                    _start(selector, pending)
            for key in list(selector.get_map().values()):
                key.data.end_if_late()
    return answers


def _start(selector: selectors.BaseSelector, pending: list[dict[str, Any]]) -> None:
    worker = _Worker()
    assert worker.process.stdout is not None
    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
    worker.ask(pending.pop())
