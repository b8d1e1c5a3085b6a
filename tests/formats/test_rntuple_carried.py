"""What files of RNTuples hold beside their events is in outputs, as it is of trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from tests.support.jobs import Ended, forkrun, write_job
from tests.support.rntuple_pair import events

LUMIS = {
    "run": np.ones(3, np.uint32),
    "luminosityBlock": np.arange(1, 4, dtype=np.uint32),
}


def runs(factor: int) -> dict[str, Any]:
    return {
        "run": np.array([1, 2], np.uint32),
        "genEventSumw": np.array([1.5, 2.5]) * factor,
        "Weights": [[1.0 * factor], [2.0, 3.0]],
    }


def write_file(path: Path, first_lumi: int, **beside: Any) -> Path:
    """Events in an RNTuple, with other RNTuples and a histogram."""
    with uproot.recreate(path) as file:
        file.mkrntuple("Events", events(100, first_lumi))
        for name, columns in beside.items():
            file.mkrntuple(name, columns)
        file["counts"] = np.histogram([first_lumi], bins=4, range=(0, 40))
    return path


def run_job(folder: Path, files: list[Path], run: str = "run", **sections: Any) -> Ended:
    job = {
        "source": {"files": [str(file) for file in files]},
        "outputs": [{"label": "all", "keep": ["event"]}],
    }
    return forkrun("run", write_job(folder, {**job, **sections}), "-o", run, cwd=folder)


def carried(file: Path, tree: str) -> dict[str, list[Any]]:
    with uproot.open(file) as opened:
        arrays = opened[tree].arrays()
        return {name: arrays[name].tolist() for name in arrays.fields}


def test_rntuples_beside_events_are_trees_of_outputs(tmp_path: Path) -> None:
    files = [
        write_file(tmp_path / "a.root", 1, Runs=runs(1), LuminosityBlocks=LUMIS),
        write_file(tmp_path / "b.root", 11, Runs=runs(10), LuminosityBlocks=LUMIS),
    ]
    ended = run_job(tmp_path, files)
    assert ended.code == 0, ended.err
    output = tmp_path / "run/output/all.root"
    assert carried(output, "Runs") == {
        "run": [1, 2, 1, 2],
        "genEventSumw": [1.5, 2.5, 15.0, 25.0],
        "nWeights": [1, 2, 1, 2],
        "Weights": [[1.0], [2.0, 3.0], [10.0], [2.0, 3.0]],
    }
    assert carried(output, "LuminosityBlocks")["luminosityBlock"] == [1, 2, 3] * 2
    with uproot.open(output) as opened:
        assert opened["counts"].values().tolist() == [1, 1, 0, 0]
        assert set(opened.keys(cycle=False)) == {
            "Events", "Runs", "LuminosityBlocks", "counts", "forkrun_origins",
        }  # fmt: skip
    assert sorted(file.name for file in output.parent.iterdir()) == ["all.root"]


def test_outputs_of_the_same_input_have_its_rows_once_when_they_are_merged(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.root", 1, Runs=runs(1))
    for run in ("one", "other"):
        assert run_job(tmp_path, [file], run).code == 0
    parts = [tmp_path / run / "output/all.root" for run in ("one", "other")]
    ended = forkrun("merge", "whole.root", *parts, "--trees", "Runs", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert carried(tmp_path / "whole.root", "Runs")["run"] == [1, 2]


def test_nothing_is_carried_where_it_is_not_wanted(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.root", 1, Runs=runs(1))
    assert run_job(tmp_path, [file], merge={"carry": False}).code == 0
    with uproot.open(tmp_path / "run/output/all.root") as opened:
        assert opened.keys(cycle=False) == ["Events"]


def test_rntuples_that_differ_are_refused_before_the_first_event(tmp_path: Path) -> None:
    other = {**runs(1), "genEventSumw": np.array([1, 2], np.int32)}
    files = [
        write_file(tmp_path / "a.root", 1, Runs=runs(1)),
        write_file(tmp_path / "b.root", 11, Runs=other),
    ]
    ended = run_job(tmp_path, files)
    assert ended.code == 3
    assert f'{files[1]}: tree "Runs"' in ended.err
    assert "genEventSumw" in ended.err
    assert not (tmp_path / "run/output").exists()
    common = {"files": [str(file) for file in files], "branches": "common"}
    ended = run_job(tmp_path, files, source=common)
    assert ended.code == 0, ended.err
    assert set(carried(tmp_path / "run/output/all.root", "Runs")) == {"run", "nWeights", "Weights"}


def test_a_field_that_no_tree_can_hold_is_said_before_the_first_event(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.root", 1, Runs={"deep": [[[[[[[[1]]]]]]]]})
    ended = run_job(tmp_path, [file])
    assert ended.code == 3
    assert f'{file}: RNTuple "Runs": field "deep"' in ended.err
    assert "merge.carry = false" in ended.err


def test_rntuples_beside_a_tree_of_events_are_carried_too(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with uproot.recreate(path) as file:
        columns = events(100)
        file.mktree("Events", {name: each for name, each in columns.items() if name != "Muon"})
        file.mkrntuple("Runs", runs(1))
    ended = run_job(tmp_path, [path])
    assert ended.code == 0, ended.err
    assert carried(tmp_path / "run/output/all.root", "Runs")["genEventSumw"] == [1.5, 2.5]


@pytest.mark.slow
def test_files_that_root_opens_by_their_urls_give_the_same_output(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.root", 1, Runs=runs(1))
    digests = []
    for run, name in (("local", str(file)), ("remote", f"file://{file}")):
        ended = run_job(tmp_path, [file], run, source={"files": [name]})
        assert ended.code == 0, ended.err
        output = tmp_path / run / "output/all.root"
        assert carried(output, "Runs")["genEventSumw"] == [1.5, 2.5]
        digests.append(carried(output, "Events")["event"])
    assert digests == [events(100)["event"].tolist()] * 2
