"""Callbacks of runs and lumis, where datasets have the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job

MODULE = """
import forkrun

class Listener(forkrun.Analyzer):
    consumes = ("event",)

    def begin_job(self):
        self.notes = []

    def begin_dataset(self, dataset):
        self.notes.append(f"begin {dataset.name}")

    def end_dataset(self, dataset):
        self.notes.append(f"end {dataset.name}")

    def begin_lumi(self, run, lumi):
        self.notes.append(f"lumi {run}:{lumi}")
        self.n_events = 0

    def analyze(self, block):
        self.n_events += len(block)

    def end_lumi(self, run, lumi):
        self.notes.append(f"{self.n_events} events")

    def end_job(self):
        with open("notes.txt", "w") as file:
            file.write("; ".join(self.notes))
"""


@pytest.mark.parametrize("children", [0, 1])
def test_lumis_of_different_datasets_are_never_one(tmp_path: Path, children: int) -> None:
    (tmp_path / "listener.py").write_text(MODULE)
    write_events(tmp_path / "a.root", [(1, 1, 3)])
    write_events(tmp_path / "b.root", [(1, 1, 2), (1, 2, 4)])
    datasets = [{"name": name, "files": [f"{name}.root"]} for name in ("a", "b")]
    module = {"label": "m", "type": "python:listener.py:Listener"}
    job = {"datasets": datasets, "modules": [module], "paths": {"p": ["m"]}}
    write_job(tmp_path, {**job, "forking": {"min_unit_events": 10}})
    ended = forkrun("run", "job.json", "-o", "run", "--children", children, cwd=tmp_path)
    assert ended.code == 0, ended.err
    notes = (tmp_path / "notes.txt").read_text()
    assert notes.replace("end b; begin b; ", "") == (  # at a commit between its lumis
        "begin a; lumi 1:1; 3 events; end a; begin b; lumi 1:1; 2 events; lumi 1:2; 4 events; end b"
    )
