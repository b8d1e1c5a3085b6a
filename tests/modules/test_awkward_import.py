"""Awkward is imported for modules that need it, and then in the parent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_events
from tests.support.jobs import write_job

_MODULE = """
import sys
import forkrun

class Look(forkrun.Analyzer):
    def __init__(self, column):
        self.column, self.consumes = column, (column,)

    def post_fork(self, child):
        self.was_imported = "awkward" in sys.modules

    def analyze(self, block):
        block[self.column]
        block[block.mask]
        is_imported = "awkward" in sys.modules
        self.accumulate("imported", {f"{self.was_imported} {is_imported}": 1})
"""


_LAZY_MODULE = """
import sys
import forkrun

class Look(forkrun.Analyzer):
    consumes = ("event",)

    def post_fork(self, child):
        found = [name for name in ("awk" + "ward", "hi" + "st") if name in sys.modules]
        self.found = " and ".join(found) or "none"

    def analyze(self, block):
        LINE
        self.accumulate("imported", {self.found: 1})
"""


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pass", "none"),
        ("import awkward", "awkward"),
        ("import hist; hist.axis.Regular(2, 0, 1)", "hist"),
        ("import awkward, hist", "awkward and hist"),
    ],
)
def test_the_warm_up_job_imports_what_modules_of_the_job_name(
    tmp_path: Path, line: str, expected: str
) -> None:
    file = write_events(tmp_path / "events.root", [(1, lumi, 10) for lumi in (1, 2, 3, 4)])
    (tmp_path / "look.py").write_text(_LAZY_MODULE.replace("LINE", line))
    job: dict[str, Any] = {"source": {"files": [str(file)]}, "forking": {"children": 3}}
    job |= {"modules": [{"label": "look", "type": "python:look.py:Look"}]}
    job |= {"paths": {"path": ["look"]}}
    assert found_by_modules(tmp_path, job) == {expected}


def imported(folder: Path, column: str, cut: str) -> set[str]:
    """Whether Awkward is imported when a child begins, and when it has read its column."""
    file = write_events(folder / "events.root", [(1, 1, 10)])
    (folder / "look.py").write_text(_MODULE)
    look = {"label": "look", "type": "python:look.py:Look", "params": {"column": column}}
    kept = {"label": "cut", "type": f"expression:{cut}", "kind": "filter"}
    job: dict[str, Any] = {"source": {"files": [str(file)]}, "forking": {"children": 1}}
    job |= {"modules": [kept, look], "paths": {"path": ["cut", "look"]}}
    return found_by_modules(folder, job)


def found_by_modules(folder: Path, job: dict[str, Any]) -> set[str]:
    """Keys of what the module of the job has counted."""
    command = [sys.executable, "-m", "forkrun", "run", str(write_job(folder, job)), "-o", "run"]
    subprocess.run([*command, "--quiet"], cwd=folder, check=True)
    accumulators = json.loads((folder / "run/output/accumulators.json").read_text())
    (found,) = accumulators.values()
    return set(found["imported"])


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("column", "cut", "expected"),
    [
        ("event", "event > 2", "False False"),
        ("Jet_pt", "event > 2", "True True"),
        ("event", "where(event > 2, True, False)", "True True"),
        ("event", "len(Jet_pt) > 1", "True True"),
    ],
)
def test_awkward_is_imported_before_the_fork_or_not_at_all(
    tmp_path: Path, column: str, cut: str, expected: str
) -> None:
    assert imported(tmp_path, column, cut) == {expected}
