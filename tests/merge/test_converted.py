"""RNTuples as trees, and trees as RNTuples: without entries, with names that ROOT takes apart, and
what is left of a conversion that fails."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun
from forkrun.errors import OutputError
from tests.support.jobs import forkrun as command
from tests.support.jobs import write_job

NAMES = {"run": "i4", "b:x": "i4", "c:.y": "f4"}


def write(path: Path, columns: Mapping[str, Any]) -> Path:
    with uproot.recreate(path) as file:
        file.mkrntuple("Events", dict(columns))
    return path


def columns(n: int) -> dict[str, Any]:
    lists = ak.Array([[float(i)] * (i % 3) for i in range(n)] or [[0.0]])[:n]
    return {"k": np.arange(n, dtype="i4"), "v": ak.values_astype(lists, "f4")}


def test_an_ntuple_without_entries_is_a_tree_without_entries(tmp_path: Path) -> None:
    none, two = write(tmp_path / "none.root", columns(0)), write(tmp_path / "two.root", columns(2))
    ended = command("convert", "--format", "ttree", "none.root", "out.root", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Events"].num_entries == 0
        assert {"k", "v", "nv"} <= set(file["Events"].keys())
    notes: list[str] = []
    forkrun.merge_files([none, two], tmp_path / "both.root", format="ttree", note=notes.append)
    with uproot.open(tmp_path / "both.root") as file:
        assert file["Events"]["k"].array().tolist() == [0, 1]
    assert not any(".part" in note or "ntuples" in note for note in notes)
    assert sorted(os.listdir(tmp_path)) == ["both.root", "none.root", "out.root", "two.root"]


@pytest.mark.parametrize("with_lists", [False, True])
def test_names_with_colons_are_those_of_branches(tmp_path: Path, with_lists: bool) -> None:
    """Leaves have other names: ROOT takes those in a list of leaves apart at colons."""
    values = {name: np.arange(5, dtype=kind) for name, kind in NAMES.items()}
    lists = {"l:z": ak.Array([[1.5], [], [2.5, 3.5], [], []])}
    nested = {"n:t": ak.Array([[[1], []], [], [[2, 3]], [], []])}
    of_file = values | (lists | nested if with_lists else {})
    write(tmp_path / "in.root", of_file)
    ended = command("convert", "--format", "ttree", "in.root", "out.root", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "out.root") as file:
        tree = file["Events"]
        for name, expected in of_file.items():
            assert tree[name].array().tolist() == ak.to_list(expected), name
        assert tree["b:x"].title == "b_x/I"
    ended = command("convert", "out.root", "back.root", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "back.root") as file:
        assert file["Events"]["b:x"].array().tolist() == [0, 1, 2, 3, 4]


def test_a_refusal_names_the_input_and_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a.root", columns(3))
    write(tmp_path / "b.root", {**columns(3), "more": np.arange(3, dtype="i4")})
    ended = command("convert", "--format", "ttree", "a.root", "b.root", "out.root", cwd=tmp_path)
    assert ended.code == 3
    assert "b.root" in ended.err
    assert ".part" not in ended.err
    assert "ntuples" not in ended.err
    assert sorted(os.listdir(tmp_path)) == ["a.root", "b.root"]


def test_what_is_beside_a_temporary_file_goes_with_it(tmp_path: Path) -> None:
    from forkrun.base.durable import published

    def fail() -> None:
        with published(tmp_path / "a") as temporary:
            temporary.write_text("x")
            temporary.with_name(f"{temporary.name}.0.ntuples").write_text("y")
            raise ValueError("stops")

    with pytest.raises(ValueError, match="stops"):
        fail()
    assert os.listdir(tmp_path) == []


def test_a_job_names_inputs_whose_other_ntuples_differ(tmp_path: Path) -> None:
    for name, more in (("a", {}), ("b", {"more": np.arange(1, dtype="i4")})):
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file.mkrntuple("Events", columns(3))
            file.mkrntuple("Runs", {"sum": np.arange(1, dtype="i4"), **more})
    source = {
        "files": ["a.root", "b.root"],
        "run_branch": "",
        "lumi_branch": "",
        "event_branch": "",
    }
    job = write_job(
        tmp_path, {"source": source, "paths": {}, "outputs": [{"label": "all", "format": "ttree"}]}
    )
    ended = command("check", job, cwd=tmp_path)
    assert ended.code == 3
    assert "a.root" in ended.err
    assert "b.root" in ended.err
    assert "ntuples" not in ended.err


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    from forkrun.base.durable import published

    def fail() -> None:
        with published(tmp_path / "a.root") as temporary:
            raise OutputError(f"{temporary}: cannot be written")

    with pytest.raises(OutputError) as caught:
        fail()
    assert str(caught.value) == f"{tmp_path / 'a.root'}: cannot be written"


def test_branches_whose_names_are_alike_are_two_fields(tmp_path: Path) -> None:
    """ "a.b" of a tree is no other name of "a_b"."""
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mktree("Events", {"a.b": np.arange(3, dtype="i4"), "a_b": np.arange(3, 6, dtype="i4")})
    ended = command("convert", "in.root", "out.root", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Events"]["a_b"].array().tolist() == [3, 4, 5]
        assert file["Events"]["a"].array()["b"].tolist() == [0, 1, 2]
