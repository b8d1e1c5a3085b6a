"""Indexes the input in short-lived helper processes, never in the parent: an open remote file or a
library's thread in the parent would break a later fork."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from forkrun.base.wait_status import describe_status
from forkrun.config import SourceConfig
from forkrun.errors import InputError
from forkrun.index.cache import IndexCache, cache_folder
from forkrun.index.model import FileIndex

_FILES_PER_WORKER = 4  # a helper takes about a second to start; a file some milliseconds


class IdBranches(NamedTuple):
    """Names of the tree and of its branches of event ids."""

    tree: str
    run_branch: str
    lumi_branch: str
    event_branch: str

    @classmethod
    def of(cls, source: SourceConfig) -> IdBranches:
        """As configured."""
        return cls(source.tree, source.run_branch, source.lumi_branch, source.event_branch)


def index_files(
    files: Sequence[str], ids: IdBranches, cache: IndexCache | None = None
) -> list[FileIndex]:
    """One index per file, in the same order. Raises InputError with every file that cannot be
    indexed and why."""
    cache = cache or IndexCache(cache_folder())
    requests: list[dict[str, Any]] = [
        {**ids._asdict(), "path": file, "file_number": number} for number, file in enumerate(files)
    ]
    answers: dict[str, dict[str, Any]] = {
        r["path"]: {"index": kept} for r in requests if (kept := cache.find(r)) is not None
    }
    todo = [request for request in requests if request["path"] not in answers]
    for request, answer in ask_workers(todo):
        answers[request["path"]] = answer
        if "index" in answer:
            cache.keep(request, answer["index"])
    problems = [_explain(a["error"], f, ids) for f in files if "error" in (a := answers[f])]
    if problems:
        raise InputError("\n".join(problems))
    return [FileIndex.from_json(file, answers[file]["index"]) for file in files]


def _explain(message: str, file: str, ids: IdBranches) -> str:
    text = message if file in message else f"{file}: {message}"
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

    def ask(self, request: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.request = request
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def reply(self) -> dict[str, Any]:
        """The answer, or what became of the helper."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = describe_status(self.process.wait())
        return {"error": f"the process that read the file died: {status}; is the file damaged?"}

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        self.process.communicate()


def ask_workers(requests: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Answers in any order. A helper that dies fails its file and is replaced."""
    pending = list(reversed(requests))
    n_workers = min(len(os.sched_getaffinity(0)), -(-len(pending) // _FILES_PER_WORKER))
    answers = []
    with selectors.DefaultSelector() as selector:
        for _ in range(n_workers):
            _start(selector, pending)
        while selector.get_map():
            for key, _ in selector.select():
                worker: _Worker = key.data
                answers.append((worker.request, worker.reply()))
                if pending and worker.alive:
                    worker.ask(pending.pop())
                    continue
                selector.unregister(key.fileobj)
                worker.close()
                if pending:
                    _start(selector, pending)
    return answers


def _start(selector: selectors.BaseSelector, pending: list[dict[str, Any]]) -> None:
    worker = _Worker()
    assert worker.process.stdout is not None
    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
    worker.ask(pending.pop())
