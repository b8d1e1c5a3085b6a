"""A child whose events are slow ends blocks in time, also where it cannot take fewer events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job

MODULE = """
import time
import forkrun

class Slow(forkrun.Filter):
    consumes = ("event",)

    def filter(self, block):
        with open("calls", "a") as calls:
            print(len(block), file=calls)
        time.sleep(0.06 * len(block))
        return block["event"] > 0
"""
IN_PYTHON = {"label": "slow", "type": "python:slow.py:Slow"}
IN_CPP = {"label": "slow", "type": "cpp:Sleep", "params": {"ms": 60}}


@pytest.mark.slow
@pytest.mark.parametrize("module", [IN_PYTHON, IN_CPP], ids=["Python", "C++"])
def test_a_lumi_of_slow_events_is_no_hanging_child(tmp_path: Path, module: dict[str, Any]) -> None:
    """A lumi takes 6 s, and a child that ends no block for 4 s is ended."""
    (tmp_path / "slow.py").write_text(MODULE)
    events = write_events(tmp_path / "a.root", [(1, 1, 100), (1, 2, 100)])
    job = {
        "job": {"plugins": ["forkrun_modules"]},
        "source": {"files": [str(events)]},
        "forking": {"children": 1, "distribution": "lumi"},
        "recovery": {"hang_timeout": "4 s"},
        "modules": [module],
        "paths": {"p": ["slow"]},
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["recovery"] == []
    assert report["events"]["n_events_read"] == 200
    if module is IN_PYTHON:
        calls = [int(line) for line in (tmp_path / "calls").read_text().split()]
        assert max(calls[:7]) <= 16
        assert max(calls[7:]) <= 7  # 0.4 s
