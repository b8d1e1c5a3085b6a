"""Calls functions that use PyROOT, in forks of a program that has loaded it: PyROOT changes the
process that it is in, takes seconds to load, and remembers what was done before."""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]


def call_root(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives. `arguments` and the answer go through JSON."""
    program = _program()
    assert program.stdin is not None
    assert program.stdout is not None
    request = [function.__module__, function.__qualname__, arguments]
    program.stdin.write(json.dumps(request) + "\n")
    program.stdin.flush()
    answer = json.loads(program.stdout.readline())
    assert "error" not in answer, answer["error"]
    return answer["value"]


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
    ROOT.TTree("warm", "up").SetDirectory(ROOT.nullptr)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            replies.write(json.dumps(_answer(*json.loads(line))) + "\n")
            replies.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            replies.write(json.dumps({"error": f"it died: {os.waitstatus_to_exitcode(status)}"}))
            replies.write("\n")
            replies.flush()


def _answer(module: str, function: str, arguments: list[Any]) -> dict[str, Any]:
    try:
        return {"value": getattr(importlib.import_module(module), function)(*arguments)}
    except BaseException as error:
        return {"error": repr(error)}


if __name__ == "__main__":
    _main()
