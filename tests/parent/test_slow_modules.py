"""Slow modules are called with few events: by `forkrun check`, and by children, which end blocks in
time."""

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
        time.sleep({seconds} * len(block))
        return block["event"] > 0
"""


IN_PYTHON = {"label": "slow", "type": "python:slow.py:Slow"}
IN_CPP = {"label": "slow", "type": "cpp:Sleep", "params": {"ms": 60}}


def write_slow_job(folder: Path, seconds: float, n_lumis: int, **sections: Any) -> Path:
    """A job of lumis of 100 events, with the module."""
    (folder / "slow.py").write_text(MODULE.format(seconds=seconds))
    lumis = [(1, lumi, 100) for lumi in range(1, n_lumis + 1)]
    events = write_events(folder / "a.root", lumis)
    job = {"source": {"files": [str(events)]}, "modules": [IN_PYTHON], "paths": {"p": ["slow"]}}
    return write_job(folder, {**job, **sections})


def calls_in(folder: Path) -> list[int]:
    """Events of each call."""
    return [int(line) for line in (folder / "calls").read_text().split()]


def tried(folder: Path, seconds: float) -> tuple[int, list[int]]:
    """Events that were tried, and those of each call, of a job of 3,000 events in 30 lumis."""
    outputs = [{"label": "out", "paths": ["p"]}]
    file = write_slow_job(folder, seconds, 30, outputs=outputs)
    ended = forkrun("check", file, "--json", cwd=folder)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["n_events_tried"], calls_in(folder)


def test_a_module_of_more_than_a_second_is_called_with_one_event(tmp_path: Path) -> None:
    assert tried(tmp_path, 1.3) == (1, [1])


def test_a_module_of_a_tenth_of_a_second_is_called_with_what_fits(tmp_path: Path) -> None:
    n_tried, calls = tried(tmp_path, 0.1)
    assert calls[0] == 1
    assert sum(calls) == n_tried <= 1 + 20  # 2 s


def test_a_fast_module_is_called_with_thousands(tmp_path: Path) -> None:
    n_tried, calls = tried(tmp_path, 0.0)
    assert calls[0] == 1
    assert 2 <= sum(calls) == n_tried <= 2000


@pytest.mark.slow
@pytest.mark.parametrize("module", [IN_PYTHON, IN_CPP], ids=["Python", "C++"])
def test_a_lumi_of_slow_events_is_no_hanging_child(tmp_path: Path, module: dict[str, Any]) -> None:
    """A lumi takes 6 s, and a child that ends no block for 4 s is ended. In Python, events are then
    taken in blocks of 0.4 s."""
    file = write_slow_job(
        tmp_path, 0.06, 2, modules=[module],
        job={"plugins": ["forkrun_modules"]},
        forking={"children": 1, "distribution": "lumi"},
        recovery={"hang_timeout": "4 s"},
    )  # fmt: skip
    ended = forkrun("run", file, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["recovery"] == []
    assert report["events"]["n_events_read"] == 200
    if module is IN_PYTHON:
        calls = calls_in(tmp_path)
        assert max(calls[:4]) <= 32
        assert max(calls[4:]) <= 7
