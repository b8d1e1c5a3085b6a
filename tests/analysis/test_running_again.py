"""Running a changed program again in the same directory gives the bytes of a run from scratch, and
computes what depends on the change."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.results import CUTFLOW, RunResults
from tests.support.edits import Program
from tests.support.jobs import Ended, environment, forkrun, program

N_EDITS = int(os.environ.get("FORKRUN_EDITS", "6"))
"""Edits of the random test."""
SEED = 293772989
"""Of the edits, unless FORKRUN_SEED or FORKRUN_EDITS is set."""
_OF_A_PROGRAM = 40
_OF_OBJECTS = """
    pairs = forkrun.Job("objects.root")
    def masses(events): return ak.sum(events.Muon.pt, axis=1) + ak.sum(events.Muon, axis=1).mass
    pairs.hist(masses, AXIS, name="masses")
    pairs.run(children=0, output=sys.argv[1] + "-objects", quiet=True)
"""


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
    """By name of each histogram and output, whether it was kept by the last run that had anything
    to do; without those that are always computed."""
    found = RunResults.read(RunDirectory(run))
    assert found.results
    return {
        each.label.removeprefix("hist_"): each.digest in found.kept
        for each in found.results
        if each.kind != CUTFLOW and not each.reasons
    }


def edit_and_compare(edited: Program, folder: Path) -> tuple[list[str], list[bool]]:
    """Edits a program at some places and runs it again. Gives the kinds of edits, and of each
    result that is the same whether it was kept."""
    kinds, touched = edited.edit()
    before = record(folder / "again")
    edited.write(folder)
    ran(folder, "again")
    is_done_before = record(folder / "again") == before
    ran(folder, "scratch")
    assert content(folder / "again") == content(folder / "scratch"), kinds
    shutil.rmtree(folder / "scratch")
    if touched is None:
        return kinds, []
    found = kept(folder / "again").items()
    return kinds, [is_done_before or is_kept for name, is_kept in found if name not in touched]


@pytest.mark.slow
def test_digests_are_the_same_in_every_process(tmp_path: Path) -> None:
    every = Program(random.Random(1), children=False).places
    edited = Program.drawn(random.Random(SEED), len(every))
    edited.children, edited.fills = False, sorted((name, name) for name in every)
    edited.write(tmp_path)
    with (tmp_path / "analysis.py").open("a") as file:
        file.write(_OF_OBJECTS)
    sample = forkrun("sample", "objects.root", "--events", 200, "--lumis", 2, cwd=tmp_path)
    assert sample.code == 0, sample.err
    for name, seed in (("one", "1"), ("two", "2")):  # of hashes: the order of sets
        command = [sys.executable, "analysis.py", name]
        subprocess.run(command, cwd=tmp_path, env=environment(PYTHONHASHSEED=seed), check=True)
    for runs in (("one", "two"), ("one-objects", "two-objects")):
        one, two = (RunResults.read(RunDirectory(tmp_path / run)).results for run in runs)
        assert one
        differ = [
            (a.name, part)
            for a, b in zip(one, two, strict=True)
            for part in a.parts.keys() | b.parts.keys()
            if not (a.reasons or b.reasons) and a.parts.get(part) != b.parts.get(part)
        ]
        assert not differ


@pytest.mark.timeout(14400 if "FORKRUN_EDITS" in os.environ else 600)
@pytest.mark.slow
def test_random_edits_give_the_bytes_of_a_run_from_scratch(tmp_path: Path) -> None:
    seed = seed_of_edits()
    rng, counts, same = random.Random(seed), Counter[str](), list[bool]()
    edited, n_left = Program.drawn(rng), 0
    while counts.total() < N_EDITS:
        if n_left <= 0:
            edited, n_left = Program.drawn(rng), _OF_A_PROGRAM
            shutil.rmtree(tmp_path / "again", ignore_errors=True)
            edited.write(tmp_path)
            ran(tmp_path, "again")
        try:
            kinds, are_kept = edit_and_compare(edited, tmp_path)
        except AssertionError as error:
            raise AssertionError(f"after {counts.total()} edits of FORKRUN_SEED={seed}") from error
        counts.update(kinds)
        same += are_kept
        n_left -= len(kinds)
        print(f"{counts.total()} edits, {sum(same)} of {len(same)} kept: {' '.join(kinds)}")
    print(f"by kind: {dict(counts.most_common())}")
    assert sum(same) >= 0.95 * len(same), f"{sum(same)} of {len(same)} kept: FORKRUN_SEED={seed}"
