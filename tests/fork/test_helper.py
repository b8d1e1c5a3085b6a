"""What is tried in a forked copy of the process, and what is said of one that dies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.files import write_events
from tests.support.jobs import ROOT, environment, forkrun, write_job

PROGRAM = """
import json, os, signal, time
from forkrun.fork.aside import run_aside
def hangs(say):
    say("begins")
    time.sleep(600)
def dies(say):
    say({"value": 1})
    os.kill(os.getpid(), signal.SIGSEGV)
def ends(say):
    say(1)
    say(2)
print(json.dumps([run_aside(work, limit_s) for work, limit_s in ((hangs, 1), (dies, 60), (ends, 60))]))
"""  # noqa: E501


def test_what_it_has_said_and_how_it_died() -> None:
    """In a process with one thread."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        [["begins"], "it took more than 1 s"],
        [[{"value": 1}], "killed by signal 11 (SIGSEGV)"],
        [[1, 2], ""],
    ]


def test_a_producer_that_crashes_with_the_first_events_is_said_to(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\nimport forkrun\n\n\nclass Crashes(forkrun.Producer):\n"
        "    def produce(self, block):\n        os.kill(os.getpid(), 11)\n"
    )
    file = write_events(tmp_path / "a.root", [(1, 1, 5)])
    job = {"source": {"files": [str(file)]}, "modules": [{"type": "python:mine.py:Crashes"}]}
    ended = forkrun("check", write_job(tmp_path, job), cwd=tmp_path)
    assert ended.code == 2, ended.out
    assert 'module "Crashes": declare `produces`: it could not be found out' in ended.err
    assert "with the first events: killed by signal 11 (SIGSEGV)" in ended.err
