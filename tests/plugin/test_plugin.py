"""A library of C++ modules built outside the project, and one that is shipped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import uproot

import forkrun as package
from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job

PACKAGE = Path(package.__file__).parent


def job(file: Path, plugin: Path, **params: object) -> dict[str, object]:
    return {
        "job": {"plugins": [str(plugin)]},
        "source": {"files": [str(file)]},
        "modules": [{"label": "jets", "type": "cpp:ManyJets", "params": params}],
        "paths": {"skim": ["jets"]},
        "outputs": [{"label": "events", "paths": ["skim"]}],
    }


def test_a_plugin_selects_events(tmp_path: Path, plugin: Path) -> None:
    file = write_events(tmp_path / "in.root", [(1, 1, 60), (1, 2, 40)])
    config = write_job(tmp_path, job(file, plugin, n=2, pt_min=12.0))
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(file) as source, uproot.open(tmp_path / "run/output/events.root") as output:
        pt = source["Events"]["Jet_pt"].array()
        selected = [sum(value > 12 for value in event) >= 2 for event in pt]
        events = source["Events"]["event"].array(library="np")[selected]
        assert len(events) == 51
        assert np.array_equal(output["Events"]["event"].array(library="np"), events)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n": 2, "pt_mim": 12.0}, "pt_mim"),
        ({}, '"n"'),
        ({"n": "two"}, '"n"'),
    ],
)
def test_parameters_are_checked(
    tmp_path: Path, plugin: Path, params: dict[str, object], message: str
) -> None:
    file = write_events(tmp_path / "in.root", [(1, 1, 5)])
    ended = forkrun("check", write_job(tmp_path, job(file, plugin, **params)), cwd=tmp_path)
    assert ended.code == 2
    assert message in ended.err
    assert "jets" in ended.err


def test_the_shipped_example_agrees_with_its_python_twin_to_the_last_bit(
    tmp_path: Path,
) -> None:
    assert forkrun("sample", "in.root", "--events", 4000, "--lumis", 3, cwd=tmp_path).code == 0
    configs = PACKAGE.parent / "configs"
    outputs = {}
    for name in ("nanoaod", "nanoaod_cpp"):
        config = configs / f"{name}.toml"
        ended = forkrun("run", config, "in.root", "-o", name, cwd=tmp_path)
        assert ended.code == 0, ended.err
        outputs[name] = tmp_path / name / "output"
        report = json.loads((tmp_path / name / "report.json").read_text())
        assert report is not None
    python, cpp = outputs["nanoaod"], outputs["nanoaod_cpp"]
    assert (python / "events.root").read_bytes() == (cpp / "events.root").read_bytes()
    with uproot.open(python / "events.root") as file:
        assert file["Events"].num_entries > 100
    with uproot.open(python / "histograms.root") as p, uproot.open(cpp / "histograms.root") as c:
        names = p.keys(cycle=False, recursive=True, filter_classname="TH1D")
        assert names == c.keys(cycle=False, recursive=True, filter_classname="TH1D")
        assert len(names) == 2
        for name in names:
            assert np.array_equal(p[name].values(flow=True), c[name].values(flow=True))
            assert np.array_equal(p[name].variances(flow=True), c[name].variances(flow=True))
            assert p[name].values().sum() > 100
