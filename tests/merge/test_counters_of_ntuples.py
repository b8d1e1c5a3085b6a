"""RNTuples as trees: what counts the values of lists is said by the schema, and nothing replaces a
field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun

Make = Callable[[Path, Path], None]
"""Makes a file with a tree of one with an RNTuple."""
N = 5


def lists(*lengths: int) -> Any:
    return ak.Array([np.arange(n, dtype="f4") + 0.5 for n in lengths])


def ragged(factor: int) -> Any:
    return lists(*(factor * i for i in range(N)))


COLUMNS = {
    "rec_px": ragged(1),
    "rec_track_Z0": ragged(2),
    "nrec": np.arange(N, dtype="i4") + 100,
    "nJet": np.arange(N, dtype="i4") + 7,
    "Jet_pt": ragged(1),
    "x": ragged(3),
    "nx": np.arange(N, dtype="i4") + 50,
}


def convert(ntuple: Path, tree: Path) -> None:
    forkrun.merge_files(ntuple, tree, format="ttree", note=None)


def merge(ntuple: Path, tree: Path) -> None:
    """With a file beside it, whose events come first."""
    first = ntuple.with_name("first.root")
    first.write_bytes(ntuple.read_bytes())
    forkrun.merge_files([first, ntuple], tree, format="ttree")


def skim(ntuple: Path, tree: Path) -> None:
    ids = {f"{name}_branch": "" for name in ("run", "lumi", "event")}
    job = forkrun.Job(str(ntuple), tree="Events", source=ids)
    job.output("skim", format="ttree")
    done = job.run(0, output=str(tree.with_suffix(".run")), quiet=True, plots=False)
    tree.write_bytes(Path(done.output("skim")).read_bytes())


@pytest.mark.parametrize("make", [convert, merge, pytest.param(skim, marks=pytest.mark.slow)])
def test_lists_of_one_prefix_have_counters_of_their_own(tmp_path: Path, make: Make) -> None:
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mkrntuple("Events", COLUMNS)
    make(tmp_path / "in.root", tmp_path / "out.root")
    n_files = 2 if make is merge else 1
    with uproot.open(tmp_path / "out.root") as file:
        tree = file["Events"]
        for name, values in COLUMNS.items():
            assert tree[name].array().tolist() == ak.to_list(values) * n_files, name
        counters = {
            leaf.member("fName"): leaf.member("fLeafCount").member("fName")
            for branch in tree.branches
            for leaf in branch.member("fLeaves")
            if leaf.member("fLeafCount") is not None
        }
    assert counters == {
        "rec_px": "nrec_px", "rec_track_Z0": "nrec_track_Z0", "Jet_pt": "nJet_pt", "x": "nx_",
    }  # fmt: skip


@pytest.mark.parametrize("make", [convert, pytest.param(skim, marks=pytest.mark.slow)])
def test_members_of_a_collection_share_its_counter(tmp_path: Path, make: Make) -> None:
    jets = ak.zip({"pt": ragged(1), "eta": -ragged(1)})
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mkrntuple("Events", {"Jet": jets, "Jet_more": ragged(2), "k": np.arange(N)})
    make(tmp_path / "in.root", tmp_path / "out.root")
    with uproot.open(tmp_path / "out.root") as file:
        tree = file["Events"]
        assert sorted(tree.keys()) == [
            "Jet_eta", "Jet_more", "Jet_pt", "k", "nJet", "nJet_more",
        ]  # fmt: skip
        assert tree["nJet"].array().tolist() == [0, 1, 2, 3, 4]
        assert tree["Jet_eta"].array().tolist() == ak.to_list(-ragged(1))
        assert tree["Jet_more"].array().tolist() == ak.to_list(ragged(2))


def test_vectors_of_a_tree_are_the_same_there_and_back(tmp_path: Path) -> None:
    """Nothing of a tree is lost on the way through an RNTuple."""
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mkrntuple("Events", COLUMNS)
    forkrun.merge_files(tmp_path / "in.root", tmp_path / "tree.root", format="ttree")
    forkrun.merge_files(tmp_path / "tree.root", tmp_path / "ntuple.root", format="rntuple")
    forkrun.merge_files(tmp_path / "ntuple.root", tmp_path / "back.root", format="ttree")
    with uproot.open(tmp_path / "tree.root") as one, uproot.open(tmp_path / "back.root") as other:
        assert one["Events"].typenames() == other["Events"].typenames()
        for name in one["Events"].keys():  # noqa: SIM118
            values = one["Events"][name].array().tolist()
            assert other["Events"][name].array().tolist() == values, name


def test_lists_in_a_record_whose_name_has_a_colon_are_branches(tmp_path: Path) -> None:
    """As ATLAS has them: two lists of different lengths, one of lists."""
    record = ak.zip(
        {"tav": ragged(1), "tap": ragged(2), "nf": ak.Array([[[1.5]], [], [[], [2.5]], [], []])},
        depth_limit=1,
    )
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mkrntuple("Events", {"xTrigDecisionAux:": record})
    convert(tmp_path / "in.root", tmp_path / "out.root")
    with uproot.open(tmp_path / "out.root") as file:
        for name in record.fields:
            found = file["Events"][f"xTrigDecisionAux:_{name}"].array().tolist()
            assert found == ak.to_list(record[name]), name
