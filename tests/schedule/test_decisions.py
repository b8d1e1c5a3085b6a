"""Columns that say which paths accept an event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from tests.support.files import write_events
from tests.support.jobs import forkrun, module, write_job

N = 240
PREFIX = "forkrun_paths_"
NUMBERS = np.arange(1, N + 1)
TWO = NUMBERS % 5 >= 2
FOUR = NUMBERS % 5 >= 4


def job(folder: Path, **output: Any) -> Path:
    write_events(folder / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    modules = [
        module("two", "ManyJets", n=2, pt_min=1.0),
        module("four", "ManyJets", n=4, pt_min=1.0),
        module("none", "ManyJets", n=9, pt_min=1.0),
    ]
    paths = {"loose": ["two"], "tight": ["two", "four"], "never": ["none", "two"], "all": []}
    outputs = [{"label": "events", "decisions": True, **output}]
    source = {"files": ["a.root"]}
    return write_job(
        folder, {"source": source, "modules": modules, "paths": paths, "outputs": outputs}
    )


def columns(run: Path) -> dict[str, Any]:
    with uproot.open(run / "output/events.root") as file:
        names = [branch.name for branch in file["Events"] if branch.name.startswith(PREFIX)]
        return {name: file["Events"][name].array(library="np") for name in ["event", *names]}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "options",
    [
        ("--children", 0),
        ("--children", 2, "--threads", 3, "--set", "threads.block_size=7"),
        ("--children", 3, "--set", "forking.max_unit_events=10", "--executor", "tbb"),
    ],
)
def test_every_event_has_the_decisions_of_all_paths(tmp_path: Path, options: Any) -> None:
    ended = forkrun("run", job(tmp_path), "-o", "run", *options, cwd=tmp_path)
    assert ended.code == 0, ended.err
    found = columns(tmp_path / "run")
    assert found.pop("event").tolist() == NUMBERS.tolist()
    wanted = {"loose": TWO, "tight": FOUR, "never": NUMBERS < 0, "all": NUMBERS > 0}
    assert list(found) == [f"forkrun_paths_{path}" for path in wanted]
    for path, accepted in wanted.items():
        assert found[f"forkrun_paths_{path}"].dtype == bool
        assert found[f"forkrun_paths_{path}"].tolist() == accepted.tolist()
    assert "decisions" not in (tmp_path / "run/report.txt").read_text()


def test_an_output_of_some_paths_and_a_friend_have_them_too(tmp_path: Path) -> None:
    config = job(tmp_path, paths=["loose"], mode="friend")
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    found = columns(tmp_path / "run")
    assert found["event"].tolist() == NUMBERS[TWO].tolist()
    assert found["forkrun_paths_tight"].tolist() == FOUR[TWO].tolist()


def test_what_cannot_be_a_column_is_said(tmp_path: Path) -> None:
    text = job(tmp_path).read_text()
    wrong = text.replace('"loose"', '"a-b"')
    (tmp_path / "wrong.json").write_text(wrong)
    ended = forkrun("check", "wrong.json", cwd=tmp_path)
    assert ended.code == 2
    assert 'outputs "events": decisions: path "a-b"' in ended.err
