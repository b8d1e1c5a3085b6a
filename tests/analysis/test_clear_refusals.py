"""What is easily confused is refused with the words of a person, and where it belongs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forkrun
from forkrun.errors import ConfigError, ForkrunError
from tests.support.files import write_events


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_events(tmp_path / "a.root", [(1, 1, 100)])


def run(job: Any) -> Any:
    return job.run(children=0, quiet=True, output="run", force=True)


def few(events: Any) -> Any:
    return events.nJet[:3]


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (
            "event",
            r'few\(\) gave 3 values and the weight "event" (\d+), for \1 events: give a value',
        ),
        (lambda events: events.event[:7], r"few\(\) gave 3 values and the weight the function of "),
        (lambda events: events.event[:3], r" 3, for \d+ events: give a value and a weight"),
    ],
)
def test_fewer_values_than_events_beside_a_weight_name_both(
    file: Path, weight: Any, says: str
) -> None:
    with pytest.raises(ForkrunError) as raised:
        run(_job(file, weight))
    assert re.search(says, str(raised.value))
    assert "broadcast" not in str(raised.value)


def _job(file: Path, weight: Any) -> forkrun.Job:
    job = forkrun.Job(file)
    job.hist(few, (5, 0, 5), weight=weight)
    return job


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (
            lambda file: forkrun.Job(file, branches={"fill": {}}).config,
            "branches: unknown key; it is one of source: source = { branches = … }, in Python"
            ' source={"branches": …}',
        ),
        (
            lambda file: forkrun.Job(file, distribution="contiguous").config,
            'in Python forking={"distribution": …}',
        ),
        (lambda file: forkrun.Job(file, children=3).config, 'forking={"children": …}'),
        (lambda file: forkrun.Job(file, output="x"), "output is an argument of job.run(output=…)"),
        (
            lambda file: forkrun.Job(file, forking={"distribution": "contiguous"}).run(),
            ': forking.children: give a number: with distribution = "contiguous" what'
            " each does depends on it, and so would the output on this machine's CPUs:"
            ' forking = { children = 4 }, in Python forking={"children": 4}, or --children 4',
        ),
        (
            lambda file: forkrun.Job(file).filter("nJet > 1", label="a").output("a").run(),
            'outputs[0].label (label "a"): a module has the label "a", too; give one of them',
        ),
        (
            lambda file: forkrun.Job(file).configure(modules=[{"label": "a"}]),
            "job.configure(modules=…): these come from job.filter(…), job.define(…), job.hist(…)",
        ),
        (
            lambda file: forkrun.Job(file, outputs=[{"label": "a"}]),
            'job.configure(outputs=…): these come from job.output("LABEL", …)',
        ),
    ],
)
def test_what_is_meant_is_said(file: Path, use: Callable[[Path], Any], says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        use(file)
    assert says in str(raised.value)
    assert ": :" not in str(raised.value)


def test_contiguous_parts_are_those_of_the_children_that_run_takes(file: Path) -> None:
    job = forkrun.Job(file, forking={"distribution": "contiguous"}).hist("nJet", (5, 0, 5))
    assert run(job).report["job"]["children"] == 0
