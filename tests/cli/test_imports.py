"""What commands import: each package is a part of what a small job, and each test, costs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_events
from tests.support.jobs import environment, write_job

_LARGE = {"asyncio", "awkward", "boost_histogram", "fsspec", "hist", "importlib.metadata",
          "matplotlib", "numpy", "psutil", "pydantic", "rich", "uproot"}  # fmt: skip
_MODULE = """
import forkrun

class Late(forkrun.Filter):
    consumes = ("event",)

    def __init__(self, first: int = 0) -> None:
        self.first = first

    def filter(self, block):
        return block["event"] >= self.first
"""


def imported(folder: Path, *words: object) -> set[str]:
    """Names of all modules that a command imports in its first process."""
    command = [sys.executable, "-X", "importtime", "-m", "forkrun", *map(str, words)]
    ended = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    return names_in(ended.stderr)


def names_in(text: str) -> set[str]:
    """Names of modules in what Python says of its imports."""
    return set(re.findall(r"^import time:[ \d|]*\| +(\S+)$", text, re.MULTILINE))


def among(names: Iterable[str], unwanted: Iterable[str]) -> list[str]:
    return sorted(set(unwanted).intersection(names))


@pytest.mark.parametrize("option", ["--version", "--help", "--cmake-dir"])
def test_what_says_one_thing_imports_next_to_nothing(tmp_path: Path, option: str) -> None:
    names = imported(tmp_path, option)
    assert "forkrun.cli.parser" in names
    assert among(names, {*_LARGE, "forkrun._core", "msgspec"}) == []


def test_files_are_merged_without_what_configurations_need(tmp_path: Path) -> None:
    files = [write_events(tmp_path / f"{n}.root", [(1, n, 10)]) for n in (1, 2)]
    names = imported(tmp_path, "merge", tmp_path / "out.root", *files)
    assert "forkrun.merge.files" in names
    assert among(names, {*_LARGE, "forkrun.config.model"}) == []


@pytest.mark.slow
def test_a_job_imports_no_library_that_it_does_not_use_and_its_children_nothing(
    tmp_path: Path,
) -> None:
    file = write_events(tmp_path / "events.root", [(1, lumi, 10) for lumi in (1, 2)])
    (tmp_path / "late.py").write_text(_MODULE)
    job: dict[str, Any] = {"source": {"files": [str(file)]}, "forking": {"children": 2}}
    job |= {"modules": [{"label": "late", "type": "python:late.py:Late", "params": {"first": 3}}]}
    job |= {"paths": {"path": ["late"]}, "outputs": [{"label": "out"}]}
    names = imported(tmp_path, "run", write_job(tmp_path, job), "-o", "run", "--quiet")
    assert "forkrun.monitoring.report.write" in names
    assert among(names, {*_LARGE - {"numpy"}, "numpy.ma", "forkrun.parent.warm_up"}) == []
    logs = {log.name: log.read_text() for log in (tmp_path / "run/logs").glob("*.log")}
    assert len(logs) == 4  # of the parent, of two children and of the merge
    found = {name: sorted(names_in(log)) for name, log in logs.items()}
    assert {name: names for name, names in found.items() if names} == {}
