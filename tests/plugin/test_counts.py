"""What analyzers in C++ accumulate, and columns of other shapes in C++."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun.parent.result import Result
from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job
from tests.support.shapes_file import write_shapes_file

LUMIS = [(1, lumi, 70) for lumi in range(1, 6)]


def job(folder: Path, plugin: Path, **sections: Any) -> Path:
    events = write_events(folder / "a.root", LUMIS)
    config = {
        "job": {"name": "counts", "plugins": [str(plugin)]},
        "source": {"files": [str(events)]},
        "modules": [
            {"label": "up", "type": "expression:2 * Jet_pt", "kind": "producer",
             "replaces": ["Jet_pt"], "variation": "jes_up"},
            {"label": "jets", "type": "cpp:ManyJets", "params": {"n": 1, "pt_min": 0.0}},
            {"label": "counts", "type": "cpp:Counts"},
            {"label": "listed", "type": "cpp:Listed"},
        ],
        "paths": {"main": ["jets", "counts"], "all": ["listed"]},
        "forking": {"distribution": "lumi"},
        **sections,
    }  # fmt: skip
    return write_job(folder, config)


def run(folder: Path, config: Path, *options: object) -> dict[str, dict[str, Any]]:
    ended = forkrun("run", config, "-o", folder / "run", *options, cwd=folder)
    assert ended.code == 0, ended.err
    return Result.read(folder / "run").accumulators


def jets(event: int) -> list[np.float32]:
    return [np.float32(10 * (jet + 1) + event % 7) for jet in range(event % 5)]


@pytest.mark.slow
def test_sums_count_each_event_once_in_any_layout(tmp_path: Path, plugin: Path) -> None:
    found = []
    layouts = [(1, {}), (3, {"block_size": 7}), (2, {"per_child": 2, "block_size": 16})]
    for number, (children, threads) in enumerate(layouts):
        folder = tmp_path / str(number)
        folder.mkdir()
        config = job(folder, plugin, threads=threads)
        found.append(run(folder, config, "--children", children))
    assert found[1:] == found[:-1]
    with_jets = [event for event in range(1, 351) if jets(event)]
    counts = found[0]["counts"]
    assert counts["n_events"] == len(with_jets) == 280
    values = [float(pt) for event in with_jets for pt in jets(event)]
    assert counts["sum_of_pt"] == math.fsum(values + [1e-30] * len(with_jets))
    expected: dict[str, Any] = {str(n): 70 for n in range(1, 5)}
    assert counts["by_jets"] == {**expected, "weights": math.fsum([0.1] * 280)}


def test_lists_are_in_the_order_of_the_input(tmp_path: Path, plugin: Path) -> None:
    found = run(tmp_path, job(tmp_path, plugin), "--children", 3)["listed"]["events"]
    assert found == [value for n in range(50, 351, 50) for value in (n, f"event {n}")]


def test_sums_of_variations_have_their_names(tmp_path: Path, plugin: Path) -> None:
    found = run(tmp_path, job(tmp_path, plugin))
    assert sorted(found) == ["counts", "counts@jes_up", "listed"]
    nominal, varied = found["counts"]["sum_of_pt"], found["counts@jes_up"]["sum_of_pt"]
    assert varied == pytest.approx(2 * nominal, rel=1e-6)


def test_a_job_that_is_merged_later_counts_each_event_once(tmp_path: Path, plugin: Path) -> None:
    config = job(tmp_path, plugin, merge={"enabled": False})
    ended = forkrun("run", config, "-o", tmp_path / "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    ended = forkrun("merge", tmp_path / "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert Result.read(tmp_path / "run").accumulators["counts"]["n_events"] == 280


def test_a_list_needs_blocks_in_order(tmp_path: Path, plugin: Path) -> None:
    config = job(
        tmp_path, plugin, paths={},
        modules=[{"label": "listed", "type": "cpp:Listed", "concurrency": "reentrant"}],
    )  # fmt: skip
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert 'module "listed" accumulates a list, "events", but sees several blocks' in ended.err


def test_other_shapes_go_through_modules_in_cpp(tmp_path: Path, plugin: Path) -> None:
    file = write_shapes_file(tmp_path / "shapes.root", n_events=300)
    config = {
        "job": {"name": "shapes", "plugins": [str(plugin)]},
        "source": {"files": [str(file)]},
        "modules": [{"label": "copy", "type": "cpp:CopyShapes"}],
        "outputs": [{"label": "all"}],
        "threads": {"block_size": 64, "per_child": 2},
    }
    ended = forkrun("run", write_job(tmp_path, config), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/all.root") as root:
        events = root["Events"].arrays()
    for name in ("x", "floats", "texts"):
        assert str(events[f"copied_{name}"].type) == str(events[name].type)
        assert ak.array_equal(events[f"copied_{name}"], events[name]), name
    assert events.length.tolist() == [len(text.encode()) for text in events.text.tolist()]


@pytest.mark.slow
def test_a_column_of_another_shape_is_refused_with_both_types(tmp_path: Path, plugin: Path) -> None:
    file = write_shapes_file(tmp_path / "shapes.root", n_events=10)
    config = {
        "job": {"name": "shapes", "plugins": [str(plugin)]},
        "source": {"files": [str(file)]},
        "modules": [
            {"label": "counts", "type": "cpp:Counts"},
            {"label": "Jet_pt", "type": "expression:x", "kind": "producer"},
        ],
    }
    ended = forkrun("run", write_job(tmp_path, config), "-o", "run", cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert '"Jet_pt"' in ended.err
    assert "float32[4]" in ended.err
