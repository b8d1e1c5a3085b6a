"""Joining files by copying their baskets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import InputError, OutputError
from tests.support.jobs import sha256
from tests.support.odd_file import OBJECTS, write_odd_file


def write(
    path: Path,
    numbers: Sequence[int],
    name: str = "x",
    tree: str = "Events",
    append_tree: bool = False,
) -> str:
    columns = [(name, "int32"), ("Jet_pt", "float32[]")]
    writer = _core.TreeWriter(str(path), tree, columns, "zstd:5", append_tree=append_tree)
    values = np.asarray(numbers, dtype=np.int32)
    offsets = np.arange(len(values) + 1, dtype=np.int64) * 2
    writer.write({name: values, "Jet_pt": (offsets, np.repeat(values, 2).astype(np.float32))})
    writer.close()
    return str(path)


def histogram(path: Path, name: str, values: Sequence[float]) -> None:
    filled = np.array([0, *values, 0], dtype=float)
    axes: list[Any] = [("x [GeV]", np.linspace(0, 1, len(values) + 1), False, [])]
    sums = np.stack([filled, filled])
    _core.write_histograms(str(path), [(name, "title", axes, "weights", sums, False)])


def test_entries_come_in_the_order_of_the_inputs(tmp_path: Path) -> None:
    inputs = [write(tmp_path / f"{i}.root", range(10 * i, 10 * i + i)) for i in (3, 0, 2, 1)]
    out = str(tmp_path / "merged.root")
    seen: list[int] = []
    assert _core.merge_trees(inputs, out, progress=seen.append) == {"Events": 6}
    assert seen == [1, 2, 3, 4]
    with uproot.open(out) as file:
        assert file["Events"]["x"].array().tolist() == [30, 31, 32, 20, 21, 10]
        assert file["Events"]["Jet_pt"].array().tolist()[-1] == [10, 10]


@pytest.mark.slow
@pytest.mark.parametrize("compression", [None, pytest.param("lz4:4", marks=pytest.mark.long)])
def test_every_kind_of_branch_survives(tmp_path: Path, compression: str | None) -> None:
    inputs = [write_odd_file(tmp_path / f"{c}.root", c) for c in ("zlib", "none", "zstd")]
    out = tmp_path / "merged.root"
    _core.merge_trees([str(path) for path in inputs], str(out), None, compression)
    with uproot.open(out) as file, uproot.open(inputs[0]) as first:
        names = [name for name in first["Events"].keys(recursive=False) if name not in OBJECTS[1:]]
        for name in names:
            once = first["Events"][name].array()
            merged = file["Events"][name].array()
            assert ak.array_equal(merged, ak.concatenate([once] * 3), dtype_exact=True), name


def test_the_bytes_depend_on_the_inputs_alone(tmp_path: Path) -> None:
    inputs = [write(tmp_path / f"{i}.root", range(i + 1)) for i in range(3)]
    digests = set()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        out = tmp_path / folder / "merged.root"
        _core.merge_trees(inputs, str(out))
        digests.add(sha256(out))
    assert len(digests) == 1


def test_trees_that_differ_are_an_error_that_names_the_branches(tmp_path: Path) -> None:
    inputs = [write(tmp_path / "a.root", [1], "x"), write(tmp_path / "b.root", [1], "y")]
    out = tmp_path / "merged.root"
    with pytest.raises(InputError, match=r"b\.root.*lacks x \(int32\).*has also y \(int32\)"):
        _core.merge_trees(inputs, str(out))
    assert not out.exists()


def test_histograms_are_summed_and_carried_objects_join_a_merged_tree(tmp_path: Path) -> None:
    for i in (1, 2):
        histogram(tmp_path / f"{i}.root", "folder/mass", [i, 10 * i])
        write(tmp_path / f"{i}.root", [i], append_tree=True)
    inputs = [str(tmp_path / f"{i}.root") for i in (1, 2)]
    out = str(tmp_path / "merged.root")
    assert _core.merge_trees(inputs, out, ["Events"]) == {"Events": 2}
    _core.carry_objects(inputs, out, ["Events"])
    with uproot.open(out) as file:
        assert {*file.keys(cycle=False)} == {"Events", "folder", "folder/mass", "forkrun_origins"}
        assert file["folder/mass"].values().tolist() == [3, 30]
        assert file["Events"]["x"].array().tolist() == [1, 2]


def test_a_tree_that_is_nowhere_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='"Evnts" is in none'):
        _core.merge_trees([write(tmp_path / "a.root", [1])], str(tmp_path / "out.root"), ["Evnts"])


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    inputs = [write(tmp_path / "a.root", [1])]
    with pytest.raises(OutputError, match="nowhere"):
        _core.merge_trees(inputs, str(tmp_path / "nowhere" / "out.root"))


def test_the_command_loads_nothing_of_jobs(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{i}.root", [i]) for i in range(2)]
    command = [sys.executable, "-X", "importtime", "-m", "forkrun", "merge"]
    command += [str(tmp_path / "merged.root"), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "forkrun.merge.files" in loaded
    slow = {"pydantic", "numpy", "msgspec", "forkrun.config", "forkrun.rundir.directory"}
    assert loaded & slow == set()
