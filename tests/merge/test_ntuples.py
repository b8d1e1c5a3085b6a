"""RNTuples are merged by their pages, and converted to trees and back."""

from __future__ import annotations

import hashlib
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import merge_files
from forkrun.errors import InputError
from tests.support.jobs import forkrun
from tests.support.rntuple_by_root import said_by_variants, write_kinds, write_variants
from tests.support.rntuple_files import by_forkrun
from tests.support.rntuple_pages import fields_of, pages_of
from tests.support.rntuple_pair import events, write_pair


def write_table(path: Path, columns: dict[str, Any], **objects: Any) -> str:
    """An RNTuple with checksums, as conversion makes it."""
    plain = path.with_suffix(".plain.root")
    with uproot.recreate(plain) as file:
        file.mkrntuple("Events", columns)
        for name, value in objects.items():
            file[name] = value
    merge_files(plain, path, format="rntuple", needs_checksums=False)
    return str(path)


def convert(folder: Path, *words: Any) -> None:
    ended = forkrun("convert", *words, cwd=folder)
    assert ended.code == 0, ended.err


@pytest.mark.slow
def test_pages_of_files_are_joined_in_their_order(tmp_path: Path) -> None:
    files = [write_kinds(tmp_path / f"{n}.root", 500 + n, 505) for n in (1, 2, 3)]
    out = tmp_path / "out.root"
    assert merge_files(files, out) == {"kinds": 1506}
    wanted = [by_forkrun(file, "kinds") for file in files]
    found = by_forkrun(str(out), "kinds")
    assert found == {name: list(chain(*(part[name] for part in wanted))) for name in wanted[0]}
    assert fields_of(out, "kinds") == fields_of(files[0], "kinds")
    assert len(pages_of(out, "kinds")) == 1
    with uproot.open(out) as file, uproot.open(files[0]) as first:
        deep = file["kinds"]["deep"].array().tolist()
        assert deep[:501] == first["kinds"]["deep"].array().tolist()
    merge_files(files, tmp_path / "never.root", recluster="never", verify=True)
    assert len(pages_of(tmp_path / "never.root", "kinds")) == 6
    assert pages_of(tmp_path / "never.root", "kinds")[:2] == pages_of(files[0], "kinds")
    merge_files(files, tmp_path / "always.root", recluster="always")
    for way in ("never", "always"):
        assert by_forkrun(str(tmp_path / f"{way}.root"), "kinds") == found
    again = tmp_path / "again.root"
    merge_files(files, again)
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(out.read_bytes()).digest()


@pytest.mark.slow
def test_variants_are_merged_cluster_by_cluster(tmp_path: Path) -> None:
    files = [write_variants(tmp_path / f"{n}.root", 100 * n, 100) for n in (0, 1)]
    out = tmp_path / "out.root"
    assert merge_files(files, out, verify=True) == {"variants": 200}
    assert pages_of(out, "variants") == [
        cluster for file in files for cluster in pages_of(file, "variants")
    ]
    said = [said_by_variants(path) for path in (*files, str(out))]
    assert said[2] == said[0] + said[1]
    assert said[2][100:104] == [
        "1:100",
        "2:101,;0:50.5",
        "0:102;0:51;1:-1",
        "1:103;0:51.5;1:-1;0:51.5",
    ]
    with pytest.raises(InputError, match=r'field "either" is a variant: its pages are copied'):
        merge_files(files, tmp_path / "zlib.root", compression="zlib:1")
    assert not (tmp_path / "zlib.root").exists()


def test_trees_and_histograms_beside_rntuples_are_merged(tmp_path: Path) -> None:
    names = []
    for n in (1, 2):
        with uproot.recreate(tmp_path / f"{n}.plain.root") as file:
            file.mkrntuple("Events", events(100, n))
            file.mktree("Runs", {"sum": np.array([float(n)])})
            file["h"] = np.histogram([1.0, 2.0], bins=2)
        convert(tmp_path, f"{n}.plain.root", f"{n}.root", "--format", "rntuple")
        names.append(tmp_path / f"{n}.root")
    assert merge_files(names, tmp_path / "out.root") == {"Events": 200, "Runs": 2}
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Runs"]["sum"].array().tolist() == [1, 2]
        assert file["h"].values().tolist() == [2, 2]
        assert file.classnames()["Runs;1"] == file.classnames()["Events;1"] == "ROOT::RNTuple"
        assert file["Events"]["event"].array().tolist() == [*range(100, 200), *range(200, 300)]


def test_trees_become_rntuples_and_trees_again(tmp_path: Path) -> None:
    tree, _ = write_pair(tmp_path, "a", 300)
    convert(tmp_path, tree, "ntuple.root")
    convert(tmp_path, "ntuple.root", "back.root", "--format", "ttree")
    with uproot.open(tree) as first, uproot.open(tmp_path / "back.root") as last:
        before, after = first["Events"], last["Events"]
        assert set(before.keys()) == set(after.keys())
        for name in before.keys():  # noqa: SIM118
            assert after[name].array().tolist() == before[name].array().tolist()
        assert last.classnames() == {"Events;1": "TTree"}


def test_trees_and_rntuples_are_joined_in_the_format_of_an_rntuple_or_that_is_named(
    tmp_path: Path,
) -> None:
    tree, plain = write_pair(tmp_path, "a", 100)
    ntuple, out = tmp_path / "b.root", tmp_path / "out.root"
    merge_files(plain, ntuple, needs_checksums=False)
    for inputs, asked in (((ntuple, tree), None), ((tree, ntuple), "rntuple")):
        assert merge_files(inputs, out, force=True, format=asked) == {"Events": 200}
        with uproot.open(out) as file:
            assert file.classnames() == {"Events;1": "ROOT::RNTuple"}
            assert file["Events"]["Muon_pt"].array().tolist() == events(100)["Muon"].pt.tolist() * 2
    with pytest.raises(InputError, match=r"b.root: .*is an RNTuple, and a tree in a file before"):
        merge_files((tree, ntuple), out, force=True)
    convert(tmp_path, tree, "trees.root")
    convert(tmp_path, "trees.root", "b.root", "back.root", "--format", "ttree")
    with uproot.open(tmp_path / "back.root") as file:
        assert file.classnames() == {"Events;1": "TTree"}
        assert file["Events"]["event"].array().tolist() == events(100)["event"].tolist() * 2


def test_files_that_do_not_fit_are_refused_with_their_place(tmp_path: Path) -> None:
    x = np.arange(3)
    first = write_table(tmp_path / "first.root", {"x": x, "y": x * 1.5})
    fewer = write_table(tmp_path / "fewer.root", {"x": x})
    more = write_table(tmp_path / "more.root", {"x": x, "y": x * 1.5, "z": x})
    other = write_table(tmp_path / "other.root", {"x": x * 1.5, "y": x * 1.5})
    out = tmp_path / "out.root"
    for file, problem in (
        (fewer, 'fewer.root: RNTuple "Events": it has no field "y", which the first file has'),
        (more, 'more.root: RNTuple "Events": it has a field "z", which the first file has not'),
        (other, 'other.root: RNTuple "Events": field "x" is double, stored as float64'),
    ):
        with pytest.raises(InputError, match=problem):
            merge_files([first, file], out)
    _, plain = write_pair(tmp_path, "a", 100)
    with pytest.raises(InputError, match=r'field "MET_pt": page 0 in cluster 0 has no checksum'):
        merge_files([plain], out)
    assert not out.exists()


def test_a_damaged_page_is_an_error_with_its_place(tmp_path: Path) -> None:
    file = write_table(tmp_path / "in.root", {"x": np.arange(1000)})
    page = pages_of(file, "Events")[0][0][0]
    data = bytearray(Path(file).read_bytes())
    data[data.index(page) + 20] ^= 1
    Path(file).write_bytes(data)
    with pytest.raises(InputError, match=r'in.root: field "x": page 0 in cluster 0, at byte'):
        merge_files([file], tmp_path / "out.root")
    assert not (tmp_path / "out.root").exists()


def test_a_tree_beside_an_rntuple_is_merged_if_only_a_later_file_needs_root(tmp_path: Path) -> None:
    files = [tmp_path / "a.root", tmp_path / "b.root"]
    for path in files:
        with uproot.recreate(path) as file:
            file.mkrntuple("Events", {"x": np.arange(5)})
            file.mktree("T", {"y": np.arange(1000)})
            if path.name == "b.root":
                file["h"] = np.histogram([1.0, 2.0])
    merge_files(files, tmp_path / "out.root", needs_checksums=False)
    with uproot.open(tmp_path / "out.root") as merged:
        assert merged["Events"]["x"].array().tolist() == [*range(5)] * 2
        assert merged["T"]["y"].array().tolist() == [*range(1000)] * 2
        assert merged["h"].values().sum() == 2
