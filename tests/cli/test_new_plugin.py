"""A new library of C++ modules builds and runs as it is, and does what its comments say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
import vector

import forkrun as package
from tests.support.jobs import forkrun

CMAKE_DIR = Path(package.__file__).parent / "lib/cmake/forkrun"


def built(folder: Path) -> None:
    build = folder / "build"
    configure = ["cmake", "-S", str(folder), "-B", str(build), f"-Dforkrun_DIR={CMAKE_DIR}"]
    for command in (configure, ["cmake", "--build", str(build)]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_it_builds_without_a_warning_and_finds_all_pairs(tmp_path: Path) -> None:
    ended = forkrun("new-plugin", "pairs", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "cmake -S pairs -B pairs/build" in ended.out
    assert "NAME" not in "".join(file.read_text() for file in (tmp_path / "pairs").iterdir())
    built(tmp_path / "pairs")
    assert forkrun("sample", "in.root", "--events", 3000, "--lumis", 2, cwd=tmp_path).code == 0
    job = tmp_path / "pairs/job.toml"
    ended = forkrun("run", job, "in.root", "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    vector.register_awkward()
    with uproot.open(tmp_path / "in.root") as file:
        names = {name: f"Muon_{name}" for name in ("pt", "eta", "phi", "charge")}
        of_input = file["Events"].arrays([*names.values(), "event"])
    muons = ak.zip({name: of_input[branch] for name, branch in names.items()})
    muons = ak.with_field(muons, 0.0 * muons.pt, "mass")
    first, second = ak.unzip(ak.combinations(ak.with_name(muons, "Momentum4D"), 2))
    pairs = (first + second)[first.charge != second.charge]
    wanted = ak.any((pairs.mass > 60) & (pairs.mass < 120), axis=1)
    with uproot.open(tmp_path / "run/output/events.root") as file:
        events = file["Events"].arrays(["event", "MuonPair_mass", "MuonPair_pt"])
    assert ak.sum(wanted) > 100
    assert np.array_equal(events.event, of_input.event[wanted])
    assert ak.num(events.MuonPair_mass).tolist() == ak.num(pairs.mass[wanted]).tolist()
    for name in ("mass", "pt"):
        right = ak.flatten(getattr(pairs, name)[wanted])
        assert np.allclose(ak.flatten(events[f"MuonPair_{name}"]), right, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("name", ["my-modules", "../x", ""])
def test_a_name_has_to_be_one(tmp_path: Path, name: str) -> None:
    ended = forkrun("new-plugin", name, cwd=tmp_path)
    assert ended.code == 2
    assert "use letters, digits and underscores" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    ended = forkrun("new-plugin", "mine", cwd=tmp_path)
    assert ended.code == 4
    assert "exists already" in ended.err
    assert list((tmp_path / "mine").iterdir()) == []
