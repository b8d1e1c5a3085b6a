"""Running a changed program again in the same directory gives the bytes of a run from scratch, and
computes what depends on the change."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.results import CUTFLOW, RunResults
from tests.support.edits import Program
from tests.support.files import write_events
from tests.support.jobs import Ended, program

N_EDITS = int(os.environ.get("FORKRUN_EDITS", "8"))
"""Edits of the random test."""
SEED = 293772989
"""Of the edits, unless FORKRUN_SEED or FORKRUN_EDITS is set."""
_OF_A_PROGRAM = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 4)])
    return tmp_path


def ran(folder: Path, name: str) -> Ended:
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    ended = program(folder / "analysis.py", name, cwd=folder)
    assert ended.code == 0, ended.err + (folder / "analysis.py").read_text()
    return ended


def content(run: Path) -> dict[str, Any]:
    """Digests of all outputs, and the cutflow."""
    files = [p for p in sorted((run / "output").rglob("*")) if p.is_file()]
    found = {str(p.relative_to(run)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
    report = json.loads((run / "report.json").read_text())
    assert report["job"]["outcome"] == "done"
    return {**found, "cutflow": report["cutflow"], "events": report["events"]["n_events_read"]}


def seed_of_edits() -> int:
    """Another one each time in a test of many edits."""
    another = random.randrange(1 << 30) if "FORKRUN_EDITS" in os.environ else SEED
    return int(os.environ.get("FORKRUN_SEED", "0")) or another


def record(run: Path) -> int:
    """Another one after each run that finds anything to do."""
    return (run / "results.json").stat().st_mtime_ns


def kept(run: Path) -> dict[str, bool]:
    """By label of each result that is no cutflow, whether it was kept by the last run that had
    anything to do."""
    found = RunResults.read(RunDirectory(run))
    assert found.results
    return {
        each.label.removeprefix("hist_"): each.digest in found.kept
        for each in found.results
        if each.kind != CUTFLOW
    }


@pytest.mark.slow
def test_random_edits_give_the_bytes_of_a_run_from_scratch(folder: Path) -> None:
    seed = seed_of_edits()
    rng, n_same, n_kept = random.Random(seed), 0, 0
    edited = Program.drawn(rng)
    for number in range(N_EDITS):
        if number % _OF_A_PROGRAM == 0:
            edited = Program.drawn(rng)
            shutil.rmtree(folder / "again", ignore_errors=True)
            edited.write(folder)
            ran(folder, "again")
        touched, before = edited.edit(), record(folder / "again")
        edited.write(folder)
        ran(folder, "again")
        is_done_before = record(folder / "again") == before
        ran(folder, "scratch")
        where = f"edit {number} of FORKRUN_SEED={seed}"
        assert content(folder / "again") == content(folder / "scratch"), where
        shutil.rmtree(folder / "scratch")
        if touched is not None:
            places = {name: place for place, name in edited.fills}
            found = kept(folder / "again").items()
            same = [is_done_before or k for n, k in found if places.get(n, n) not in touched]
            n_same, n_kept = n_same + len(same), n_kept + sum(same)
    assert n_kept >= 0.95 * n_same, f"{n_kept} of {n_same} kept: FORKRUN_SEED={seed}"
