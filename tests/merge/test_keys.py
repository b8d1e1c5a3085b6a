"""An object is its key: names within, cycles, folders of the same name, and odd names."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun.merge import merge_files
from tests.server.root_program import call_root, declare
from tests.support.jobs import Ended, forkrun, write_job
from tests.support.key_file import (
    ODD_NAMES,
    entries_by_get,
    seen_by_root,
    write_cycles,
    write_folders,
    write_named_trees,
    write_one_name,
)


def run(folder: Path, files: list[Path], tree: str, *more: object, **sections: Any) -> Ended:
    job = {
        "source": {"files": [str(file) for file in files], "tree": tree},
        "forking": {"children": 0},
        "outputs": [{"label": "all"}],
        **sections,
    }
    return forkrun("run", write_job(folder, job), "-o", folder / "run", "--force", cwd=folder)


def x_of(path: Path, tree: str) -> list[float]:
    with uproot.open(path) as file:
        values: list[float] = file[tree]["x"].array().tolist()
        assert file[tree]["v"].array()[:3].tolist() == [[x] * (int(abs(x)) % 3) for x in values[:3]]
        return values


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files whose trees are all called "tree" within."""
    folder = tmp_path_factory.mktemp("named")
    for name, first in (("a.root", 0), ("b.root", 100)):
        call_root(write_named_trees, str(folder / name), first, ["nominal", "JES_up", "tree"])
    return [folder / "a.root", folder / "b.root"]


EXPECTED = [float(e) for first in (0, 100) for e in range(first, first + 10)]


@pytest.mark.parametrize("options", [{}, {"recluster": "never"}, {"compression": "lz4:4"}])
def test_trees_of_one_name_within_are_told_apart_by_their_keys(
    named: list[Path], tmp_path: Path, options: dict[str, str]
) -> None:
    out = tmp_path / "out.root"
    entries = merge_files(named, out, verify=True, **options)  # type: ignore[arg-type]
    assert entries == {"JES_up": 20, "nominal": 20, "tree": 20}
    assert x_of(out, "nominal") == x_of(out, "tree") == EXPECTED
    assert x_of(out, "JES_up") == [-x for x in EXPECTED]


def test_what_root_sees_of_them_is_what_hadd_makes(named: list[Path], tmp_path: Path) -> None:
    merge_files(named, tmp_path / "out.root")
    command = Path(find_spec("ROOT").origin).parent / "bin/hadd"  # type: ignore[union-attr,arg-type]
    subprocess.run([command, tmp_path / "hadd.root", *named], check=True, capture_output=True)
    found = call_root(seen_by_root, str(tmp_path / "out.root"))
    by_hadd = call_root(seen_by_root, str(tmp_path / "hadd.root"))
    assert {str(one) for one in found} == {str(one) for one in by_hadd}  # it has TNamed twice
    assert len(found) == 5
    assert ["JES_up", "TTree", "tree", -sum(EXPECTED)] in found
    assert ["key of h", "TH1F", "own", None] in found


def test_a_job_reads_and_writes_a_tree_by_its_key_and_carries_the_others(
    named: list[Path], tmp_path: Path
) -> None:
    assert run(tmp_path, named, "JES_up").code == 0
    out = tmp_path / "run/output/all.root"
    assert x_of(out, "JES_up") == [-x for x in EXPECTED]
    assert x_of(out, "nominal") == x_of(out, "tree") == EXPECTED
    with uproot.open(out) as file:
        assert file["key of h"].values().tolist() == [0, 2, 0]
    assert ["JES_up", "TTree", "tree", -sum(EXPECTED)] in call_root(seen_by_root, str(out))


def test_a_friend_in_the_same_file_is_found_by_its_key(named: list[Path], tmp_path: Path) -> None:
    friend = {"tree": "JES_up", "prefix": "up_"}
    source = {"files": [str(named[0])], "tree": "nominal", "friends": [friend]}
    job = {"outputs": [{"label": "all", "keep": ["x", "up_x"]}], "forking": {"children": 0}}
    path = write_job(tmp_path, {"source": source, **job})
    ended = forkrun("run", path, "-o", tmp_path / "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/all.root") as file:
        assert file["nominal"]["up_x"].array().tolist() == [-x for x in EXPECTED[:10]]
        assert file["tree"].num_entries == 10  # is carried
        assert "JES_up" not in file


@pytest.mark.slow
def test_a_tree_without_a_name_of_its_own_keeps_its_key(tmp_path: Path) -> None:
    call_root(write_nameless, str(tmp_path / "a.root"))
    merge_files([tmp_path / "a.root"] * 2, tmp_path / "out.root")
    found = call_root(seen_by_root, str(tmp_path / "out.root"))
    assert found == [["tree", "TTree", "", 90.0]]


def write_nameless(path: str) -> None:
    import ROOT

    from tests.support.key_file import TREES

    declare(TREES)
    file = ROOT.TFile(path, "recreate")
    ROOT.write_as(file, "tree", "", 0, 10, 1)
    file.Close()


def test_a_folder_and_a_tree_of_one_name_are_both_kept(tmp_path: Path) -> None:
    for name, first in (("a.root", 0), ("b.root", 100)):
        call_root(write_one_name, str(tmp_path / name), first)
    files = [tmp_path / "a.root", tmp_path / "b.root"]
    out = tmp_path / "out.root"
    assert merge_files(files, out) == {"Events": 20, "Events/inner": 4}
    assert x_of(out, "Events") == EXPECTED
    assert call_root(entries_by_get, str(out), "Events") == 20
    with uproot.open(out) as file:
        assert file["Events;1"]["h"].values().tolist() == [0, 2, 0]
    again = tmp_path / "again.root"
    assert merge_files([out], again, trees=["Events/inner"]) == {"Events/inner": 4}
    assert x_of(again, "Events/inner") == [0, 1, 100, 101]


def test_a_misspelt_tree_beside_a_folder_is_an_error_that_names_what_there_is(
    tmp_path: Path,
) -> None:
    call_root(write_one_name, str(tmp_path / "a.root"), 0)
    ended = run(tmp_path, [tmp_path / "a.root"], "Event")
    assert (ended.code, "its trees are: Events, Events/inner" in ended.err) == (3, True), ended.err


def test_folders_may_have_any_name(tmp_path: Path) -> None:
    names = ["Histogrammer:detector1", "sp ace", "st*r?", "semi;1"]
    call_root(write_folders, str(tmp_path / "a.root"), names)
    out = tmp_path / "out.root"
    merged = merge_files([tmp_path / "a.root"] * 2, out)
    assert merged == {f"config/{name}/t": 6 for name in names}
    again = merge_files([out], tmp_path / "again.root", trees=["config/Histogrammer:detector1/t"])
    assert again == {"config/Histogrammer:detector1/t": 6}
    with uproot.open(out) as file:
        config = file["config"]
        histograms = {k: v for k, v in config.items(cycle=False) if k.endswith("/h")}
        assert sorted(histograms) == sorted(f"{name}/h" for name in names)
        assert all(h.values().tolist() == [0, 2, 0] for h in histograms.values())


@pytest.mark.slow
def test_trees_may_have_any_name(tmp_path: Path) -> None:
    call_root(write_named_trees, str(tmp_path / "a.root"), 0, list(ODD_NAMES))
    file = tmp_path / "a.root"
    assert merge_files([file] * 2, tmp_path / "out.root") == dict.fromkeys(sorted(ODD_NAMES), 20)
    seen = {key: total for key, _, _, total in call_root(seen_by_root, str(tmp_path / "out.root"))}
    assert {name: seen[name] for name in ODD_NAMES} == {
        name: (-90.0 if i % 2 else 90.0) for i, name in enumerate(ODD_NAMES)
    }
    for name in ODD_NAMES:
        assert merge_files([file], tmp_path / "one.root", trees=[name], force=True) == {name: 10}


@pytest.mark.parametrize("name", ["col:on", "st*r", "d e"])
def test_a_job_reads_a_tree_of_any_name(tmp_path: Path, name: str) -> None:
    call_root(write_named_trees, str(tmp_path / "a.root"), 0, [name])
    ended = run(tmp_path, [tmp_path / "a.root"], name)
    assert ended.code == 0, ended.err
    seen = call_root(seen_by_root, str(tmp_path / "run/output/all.root"))
    assert [name, "TTree", "tree", 45.0] in seen


@pytest.mark.long
def test_where_cycles_have_wrapped_the_newest_is_what_root_takes(tmp_path: Path) -> None:
    file = tmp_path / "wrapped.root"
    call_root(write_cycles, str(file), 32768, 2)
    with uproot.open(file) as opened:
        assert opened.keys() == ["Events;-32768", "Events;32767"]
    assert call_root(entries_by_get, str(file), "Events") == 9
    assert merge_files([file], tmp_path / "out.root") == {"Events": 9}
    assert run(tmp_path, [file], "Events").code == 0
    assert x_of(tmp_path / "run/output/all.root", "Events") == [float(e) for e in range(9)]


def test_a_cycle_can_be_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "cycles.root"
    call_root(write_cycles, str(file), 9, 9)
    assert call_root(entries_by_get, str(file), "Events;3") == 3
    assert merge_files([file], tmp_path / "new.root", trees=["Events"]) == {"Events": 9}
    assert merge_files([file] * 2, tmp_path / "old.root", trees=["Events;3"]) == {"Events": 6}
    assert run(tmp_path, [file], "Events;3").code == 0
    with uproot.open(tmp_path / "run/output/all.root") as opened:
        assert opened["Events"]["event"].array().tolist() == [0, 1, 2]
        assert {key.partition(";")[0] for key in opened} == {"Events"}


def test_of_cycles_that_another_program_lists_last_the_highest_is_the_newest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "updated.root"
    for n in (3, 7):
        with (uproot.recreate if n == 3 else uproot.update)(path) as file:
            tree = file.mktree("Events", {"x": np.int32})
            tree.extend({"x": np.arange(n, dtype=np.int32)})
            file[f"h{n}"] = np.histogram([1.0])
    assert merge_files([path], tmp_path / "out.root") == {"Events": 7}


@pytest.mark.slow
def test_histograms_of_branches_outlive_the_file_that_they_were_read_from(tmp_path: Path) -> None:
    for name, first in (("a.root", 0), ("b.root", 100)):
        call_root(write_histogram_branch, str(tmp_path / name), first)
    ended = run(tmp_path, [tmp_path / "a.root", tmp_path / "b.root"], "Events")
    assert ended.code == 0, ended.err
    assert call_root(histogram_sums, str(tmp_path / "run/output/all.root")) == [
        float(e) for first in (0, 100) for e in range(first, first + 5)
    ]


def write_histogram_branch(path: str, first: int) -> None:
    import ROOT

    declare("""
void write_histogram_branch(const char* path, int first) {
  TFile file(path, "recreate"); TTree tree("tree", "");
  UInt_t run = 1, lumi = 1; ULong64_t event;
  TH1F h("hh", "", 3, 0, 3); h.SetDirectory(nullptr); TH1F* to_h = &h;
  tree.Branch("run", &run); tree.Branch("luminosityBlock", &lumi);
  tree.Branch("event", &event, "event/l"); tree.Branch("h", &to_h);
  for (int e = first; e < first + 5; ++e) {
    event = e; h.Reset(); h.SetBinContent(1, e); tree.Fill();
  }
  tree.Write("Events");
}""")
    ROOT.write_histogram_branch(path, first)


def histogram_sums(path: str) -> list[float]:
    import ROOT

    file = ROOT.TFile.Open(path)
    return [entry.h.GetSumOfWeights() for entry in file.Get("Events")]
