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


def imported(folder: Path, column: str, cut: str) -> set[str]:
    """Whether Awkward is imported when a child begins, and when it has read its column."""
    file = write_events(folder / "events.root", [(1, 1, 10)])
    (folder / "look.py").write_text(_MODULE)
    look = {"label": "look", "type": "python:look.py:Look", "params": {"column": column}}
    kept = {"label": "cut", "type": f"expression:{cut}", "kind": "filter"}
    job: dict[str, Any] = {"source": {"files": [str(file)]}, "forking": {"children": 1}}
    job |= {"modules": [kept, look], "paths": {"path": ["cut", "look"]}}
    command = [sys.executable, "-m", "forkrun", "run", str(write_job(folder, job)), "-o", "run"]
    subprocess.run([*command, "--quiet"], cwd=folder, check=True)
    accumulators = json.loads((folder / "run/output/accumulators.json").read_text())
    (found,) = accumulators.values()
    return set(found["imported"])


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
