"""Several branches of one name, each with values of its own: a branch is its place in the tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun import _core
from forkrun.merge import merge_files
from tests.support.jobs import forkrun, write_job
from tests.support.twice_file import N_EVENTS, entries_of, write_twice


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_twice(tmp_path_factory.mktemp("twice") / "input.root")


def skim(tmp_path: Path, source: dict[str, Any], **output: Any) -> Path:
    job = {
        "source": source,
        "modules": [{"label": "third", "type": "expression:event % 3 != 1", "kind": "filter"}],
        "paths": {"p": ["third"]},
        "outputs": [{"label": "all"}, {"label": "some", "paths": ["p"], **output}],
    }
    write_job(tmp_path, job)
    ended = forkrun("run", "job.json", "--children", 0, "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    return tmp_path / "run/output"


def test_the_file_has_different_values_in_them(file: Path) -> None:
    entry = entries_of(file)[7]
    assert entry[:9] == [
        "run:1 ", "luminosityBlock:1 ", "event:7 ", "nA:3 ", "nB:0 ", "x:7 ", "x:1007 ",
        "list:70 71 72 ", "list:",
    ]  # fmt: skip
    assert entry[9] == "texts:['a']"
    assert entry[13] == "texts:['b', 'b']"
    assert [text for text in entry if text[:3] == "old"] == ["old:7 0", "old:7 1"]


@pytest.mark.long
def test_skims_keep_each_of_them(file: Path, tmp_path: Path) -> None:
    outputs = skim(tmp_path, {"files": [str(file)]}, keep=["*"])
    before = entries_of(file)
    assert entries_of(outputs / "all.root") == before
    assert entries_of(outputs / "some.root") == [e for i, e in enumerate(before) if i % 3 != 1]
    assert entries_of(outputs / "some.root", "Runs") == entries_of(file, "Runs")


def test_patterns_keep_and_drop_all_of_one_name(file: Path, tmp_path: Path) -> None:
    outputs = skim(tmp_path, {"files": [str(file)]}, keep=["event", "x", "list"])
    kept = [
        [text for text in entry if text.partition(":")[0] in ("event", "nA", "nB", "x", "list")]
        for i, entry in enumerate(entries_of(file))
        if i % 3 != 1
    ]
    assert entries_of(outputs / "some.root") == kept


@pytest.mark.parametrize(
    ("compression", "recluster"), [(None, "auto"), (None, "always"), ("lz4:4", "never")]
)
def test_merges_keep_each_of_them(
    file: Path, tmp_path: Path, compression: str | None, recluster: str
) -> None:
    out = tmp_path / "out.root"
    merge_files([file, file], out, compression=compression, recluster=recluster)
    assert entries_of(tmp_path / "out.root") == 2 * entries_of(file)


def test_the_first_is_read_by_the_name(file: Path) -> None:
    columns = _core.read_columns(str(file), "Events", ["x"])
    assert np.asarray(columns["x"]).tolist() == list(range(N_EVENTS))


def test_files_with_other_numbers_of_them_are_refused_before_any_event(
    file: Path, tmp_path: Path
) -> None:
    other = write_twice(tmp_path / "other.root", first=100, n_more=2)
    source = {"files": [str(file), str(other)]}
    write_job(
        tmp_path, {"source": source, "outputs": [{"label": "all"}], "merge": {"carry": False}}
    )
    ended = forkrun("check", "job.json", cwd=tmp_path)
    assert ended.code == 3
    assert 'branch "x" is float32 and float32 and float32, but float32 and float32' in ended.err


@pytest.mark.slow
def test_what_is_not_common_to_all_files_is_left_out(file: Path, tmp_path: Path) -> None:
    other = write_twice(tmp_path / "other.root", first=100, n_more=2)
    files = [str(file), str(other)]
    outputs = skim(tmp_path, {"files": files, "branches": "common"})
    common = [[text for text in entry if text[:2] != "x:"] for entry in entries_of(file)]
    assert entries_of(outputs / "all.root")[:N_EVENTS] == common
    runs = [[text for text in entry if text[:2] != "x:"] for entry in entries_of(file, "Runs")]
    assert entries_of(outputs / "all.root", "Runs")[:N_EVENTS] == runs
