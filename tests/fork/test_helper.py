"""What is tried in a forked copy of the process, and what is said of one that dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from forkrun.errors import JobError
from forkrun.fork.helper import _Errors
from tests.support.files import write_events
from tests.support.jobs import ROOT, environment, forkrun, write_job

PROGRAM = """
import json, os, signal, time
from forkrun.fork.helper import ask_helper
def hangs(say):
    say("begins")
    time.sleep(600)
def dies(say):
    say({"value": 1})
    os.kill(os.getpid(), signal.SIGSEGV)
def ends(say):
    say(1)
    say(2)
    return [3]
def fails(say):
    raise ValueError("it is wrong")
def tried(work, limit_s):
    said = []
    ended = ask_helper(work, said.append, limit_s=limit_s)
    return said, ended.exit_code, ended.result, str(ended.failure), ended.is_late
print(json.dumps([tried(hangs, 1), tried(dies, 60), tried(ends, 60), tried(fails, 60)]))
"""


def test_what_it_has_said_and_how_it_died() -> None:
    """In a process with one thread."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        [["begins"], -signal.SIGKILL, None, "None", True],
        [[{"value": 1}], -signal.SIGSEGV, None, "None", False],
        [[1, 2], 0, [3], "None", False],
        [[], JobError.exit_code, None, "ValueError: it is wrong", False],
    ]


def test_a_producer_that_crashes_with_the_first_events_is_said_to(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\nimport forkrun\n\n\nclass Crashes(forkrun.Producer):\n"
        "    def produce(self, block):\n        os.kill(os.getpid(), 11)\n"
    )
    file = write_events(tmp_path / "a.root", [(1, 1, 5)])
    job = {"source": {"files": [str(file)]}, "modules": [{"type": "python:mine.py:Crashes"}]}
    ended = forkrun("check", write_job(tmp_path, job), cwd=tmp_path)
    assert ended.code == 5, ended.out
    assert 'module "Crashes" failed at 1:1, event ' in ended.err
    assert ": killed by signal 11 (SIGSEGV)" in ended.err


def test_what_our_own_code_says_in_workers_is_passed_on_wherever_stderr_leads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(_Errors()) as errors:
        os.write(errors.write_end, b"Warning in <TFile>: noise\nforkrun: it waits\n")
        errors.pass_on()
        assert capsys.readouterr().err == "forkrun: it waits\n"
        monkeypatch.setattr(sys, "stderr", None)
        os.write(errors.write_end, b"forkrun: it waits\n")
        errors.pass_on()
        assert capsys.readouterr().out == ""
