"""Calls functions that use PyROOT, in forks of a program that has loaded it: PyROOT changes the
process that it is in, takes seconds to load, and remembers what was done before.

ROOT compiles whatever a function calls, for up to a second. So the first call of a function is made
by a fork that stays, and each further call by a fork of that one, in which all is compiled."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

REPOSITORY = Path(__file__).resolve().parents[2]


_MOST_KEPT = 6
"""Forks that stay: the tests of a file come together."""


def call_root(function: Callable[..., Any], *arguments: Any, anew: bool = False) -> Any:
    """What the function gives. `arguments` and the answer go through JSON. `anew`: in a process
    that has not called it before, since ROOT says some things only once."""
    program = _program()
    assert program.stdin is not None
    assert program.stdout is not None
    request = [anew, function.__module__, function.__qualname__, arguments]
    program.stdin.write(json.dumps(request) + "\n")
    program.stdin.flush()
    answer = json.loads(program.stdout.readline())
    assert "error" not in answer, answer["error"]
    return answer["value"]


@functools.cache
def declare(code: str) -> None:
    """Has ROOT compile C++ which this process has not compiled before."""
    import ROOT

    assert ROOT.gInterpreter.Declare(code)


@functools.cache
def _program() -> subprocess.Popen[str]:
    """It ends with its standard input, when the tests do."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", __name__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY,
    )  # fmt: skip


def _main() -> None:
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kWarning
    with tempfile.TemporaryDirectory() as folder:
        _use(f"{folder}/file.root")
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    kept: dict[str, _Caller] = {}
    for line in sys.stdin:
        anew, module, function, arguments = json.loads(line)
        request = json.dumps([module, function, arguments])
        if anew:
            answer = _answer_of_fork(request)
        else:
            caller = kept.pop(f"{module}.{function}", None) or _Caller(kept)
            if answer := caller.ask(request):
                kept[f"{module}.{function}"] = caller
            if len(kept) > _MOST_KEPT:
                kept.pop(next(iter(kept))).close()
        replies.write((answer or json.dumps({"error": "it died"})) + "\n")
        replies.flush()


def _use(path: str) -> None:
    """Has ROOT compile what most functions call."""
    import ROOT

    from tests.support.opened_by_root import contents_and_words

    file = ROOT.TFile(path, "RECREATE")
    tree, value = ROOT.TTree("tree", ""), array("i", [0])
    tree.Branch("x", value, "x/I")
    tree.Fill()
    tree.Write()
    file.Close()
    level, err = ROOT.gErrorIgnoreLevel, os.dup(2)
    contents_and_words(1, [path])
    ROOT.gErrorIgnoreLevel = level
    os.dup2(err, 2)
    os.close(err)


class _Caller:
    """The fork that stays, for one function."""

    def __init__(self, others: Mapping[str, _Caller]) -> None:
        (theirs, requests), (answers, says) = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            for stream in (requests, answers):
                os.close(stream)
            for other in others.values():  # they end with their input
                other.leave()
            _serve(theirs, says)
        os.close(theirs)
        os.close(says)
        self._requests = os.fdopen(requests, "w")
        self._answers = os.fdopen(answers)

    def ask(self, request: str) -> str:
        """The answer; empty where the call has ended the fork."""
        with contextlib.suppress(BrokenPipeError):  # it has died since
            self._requests.write(request + "\n")
            self._requests.flush()
        answer = self._answers.readline().strip()
        if not answer:
            self.close()
        return answer

    def leave(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # what it was not told
            self._requests.close()
        self._answers.close()

    def close(self) -> None:
        self.leave()
        os.waitpid(self._pid, 0)


def _serve(requests: int, says: int) -> NoReturn:
    is_first = True
    with os.fdopen(requests) as lines:
        for line in lines:
            answer = _answer(line) if is_first else _answer_of_fork(line)
            is_first = False
            os.write(says, answer.encode() + b"\n")
    os._exit(0)


def _answer_of_fork(request: str) -> str:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(write, "w") as says:
            says.write(_answer(request))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        answer = told.read()
    _, status = os.waitpid(pid, 0)
    if status:
        return json.dumps({"error": f"it died: {os.waitstatus_to_exitcode(status)}"})
    return answer


def _answer(request: str) -> str:
    module, function, arguments = json.loads(request)
    try:
        value = getattr(importlib.import_module(module), function)(*arguments)
        return json.dumps({"value": value})
    except BaseException as error:
        return json.dumps({"error": repr(error)})


if __name__ == "__main__":
    _main()
