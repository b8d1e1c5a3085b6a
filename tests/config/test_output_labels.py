"""Labels of outputs are names of files, and no two outputs share one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from forkrun.config.read import validate
from forkrun.errors import ConfigError
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job


def problems_of(*labels: Any) -> list[str]:
    try:
        validate({"outputs": [{"label": label} for label in labels]}, "job.toml")
    except ConfigError as error:
        return error.problems
    return []


def test_check_refuses_an_output_that_would_overwrite_the_histograms(tmp_path: Path) -> None:
    events = write_events(tmp_path / "a.root", [(1, 1, 20)])
    outputs = [{"label": "histograms", "paths": ["skim"]}]
    job = write_job(tmp_path, jets_job([events], outputs=outputs))
    for command in (["check", job], ["run", job, "-o", "run"]):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 2, ended.err
        assert (
            'outputs[0].label (label "histograms"): the output "histograms" would overwrite the'
            " booked histograms, output/histograms.root; rename it"
        ) in ended.err
    assert not (tmp_path / "run/output").exists()


def test_labels_that_differ_in_case_alone_are_named_together() -> None:
    (problem,) = problems_of("Muons", "jets", "muons")
    assert problem.startswith('job.toml: outputs[2].label (label "muons"): the outputs "Muons" and')
    (problem,) = problems_of("Histograms")
    assert "shares a file with the booked histograms" in problem
    (problem,) = problems_of("jets", "jets")
    assert 'the label "jets" is used 2 times' in problem
    assert problems_of("muons", "muons2", "muons.root", "histograms2", "histograms.root") == []


@pytest.mark.parametrize("label", ["a/b", "/a", "..", ".a", "a b", "", "a\n", "a\\b", "µ"])
def test_labels_are_plain_names(label: str) -> None:
    (problem,) = problems_of(label)
    assert "is not of the form a letter or _" in problem


def test_a_label_leaves_room_for_every_suffix(tmp_path: Path) -> None:
    assert problems_of("a" * 223) == []
    (problem,) = problems_of("a" * 224)
    assert 'the label "aaaaaaaaaaaaaaaaaaaa…" has 224 bytes' in problem
    assert "223 bytes at most" in problem
    events = write_events(tmp_path / "a.root", [(1, 1, 20)])
    outputs = [{"label": "a" * 223, "paths": ["skim"]}]
    job = write_job(tmp_path, jets_job([events], outputs=outputs, merge={"keep_temporary": True}))
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    names = [name for _, _, files in os.walk(tmp_path / "run") for name in files]
    assert f"{'a' * 223}.root" in names
