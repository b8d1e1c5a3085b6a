"""A library of C++ modules built outside the project, and one that is shipped."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import forkrun as package
from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job

PACKAGE = Path(package.__file__).parent
ROOT = PACKAGE.parent
EXAMPLE = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of all examples in C++ of the documentation."""
    folder = tmp_path_factory.mktemp("documented")
    texts = [page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/*.md"))]
    examples = [example for text in texts for example in EXAMPLE.findall(text)]
    for number, example in enumerate(examples):
        (folder / f"example{number}.cpp").write_text(example)
    sources = " ".join(f"example{number}.cpp" for number in range(len(examples)))
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(documented LANGUAGES CXX)\n"
        f"find_package(forkrun REQUIRED)\nforkrun_add_plugin(documented {sources})\n"
    )
    prefix = f"-Dforkrun_DIR={PACKAGE / 'lib/cmake/forkrun'}"
    build = str(folder / "build")
    for command in (["cmake", "-S", str(folder), "-B", build, prefix], ["cmake", "--build", build]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build/libdocumented.so"


@pytest.mark.long
def test_the_examples_of_the_documentation_do_what_they_say(
    tmp_path: Path, documented: Path
) -> None:
    file = write_events(tmp_path / "in.root", [(1, 1, 60), (1, 2, 40)])
    config = job(file, documented, n=2)
    config["modules"] = [
        {"label": "jets", "type": "cpp:ManyJets", "params": {"n": 2}},
        {"label": "hard", "type": "cpp:HardJets", "params": {"pt_min": 12.0}},
    ]
    ended = forkrun("run", write_job(tmp_path, config), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/events.root") as output:
        events = output["Events"].arrays(["Jet_pt", "HardJet_pt", "HardJet_index"])
    assert len(events) == 60
    assert events.HardJet_pt.tolist() == events.Jet_pt[events.Jet_pt > 12].tolist()
    right = [[i for i, pt in enumerate(event) if pt > 12] for event in events.Jet_pt.tolist()]
    assert events.HardJet_index.tolist() == right


@pytest.mark.parametrize(
    ("n_ends", "message"),
    [
        (2, "end_event() was called for more than the"),
        (0, 'product "Copy_pt" was filled for 0 events of a block of'),
    ],
)
def test_events_that_do_not_end_once_are_an_error(
    tmp_path: Path, plugin: Path, n_ends: int, message: str
) -> None:
    file = write_events(tmp_path / "in.root", [(1, 1, 5)])
    config = job(file, plugin)
    config["modules"] = [{"label": "copy", "type": "cpp:Copies", "params": {"n_ends": n_ends}}]
    config["paths"] = {}
    config["outputs"] = [{"label": "events"}]
    ended = forkrun("run", write_job(tmp_path, config), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert message in ended.err


def test_records_have_a_value_of_each_column(tmp_path: Path, plugin: Path) -> None:
    file = write_events(tmp_path / "in.root", [(1, 1, 50)])
    config = job(file, plugin)
    config["modules"] = [{"label": "copy", "type": "cpp:Copies"}]
    config["paths"] = {}
    config["outputs"] = [{"label": "events"}]
    ended = forkrun("run", write_job(tmp_path, config), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/events.root") as output:
        events = output["Events"].arrays(["Jet_pt", "Copy_pt", "Copy_good"])
    assert events.Copy_pt.tolist() == events.Jet_pt.tolist()
    assert events.Copy_good.tolist() == (events.Jet_pt > 15).tolist()


def job(file: Path, plugin: Path, **params: object) -> dict[str, Any]:
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


@pytest.mark.slow
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
