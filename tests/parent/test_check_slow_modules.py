"""`forkrun check` calls slow modules with few events."""

from __future__ import annotations

import json
from pathlib import Path

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


def tried(folder: Path, seconds: float) -> tuple[int, list[int]]:
    """Events that were tried, and those of each call, of a job of 3,000 events in 30 lumis."""
    (folder / "slow.py").write_text(MODULE.format(seconds=seconds))
    events = write_events(folder / "a.root", [(1, lumi, 100) for lumi in range(1, 31)])
    job = {
        "source": {"files": [str(events)]},
        "modules": [{"label": "slow", "type": "python:slow.py:Slow"}],
        "paths": {"p": ["slow"]},
        "outputs": [{"label": "out", "paths": ["p"]}],
    }
    ended = forkrun("check", write_job(folder, job), "--json", cwd=folder)
    assert ended.code == 0, ended.err
    calls = [int(line) for line in (folder / "calls").read_text().split()]
    return json.loads(ended.out)["n_events_tried"], calls


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
