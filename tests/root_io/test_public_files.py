"""Files of experiments: checked, skimmed and merged with what uproot reads in them, or refused by
`check` before any event."""

from __future__ import annotations

from pathlib import Path

import pytest
import uproot

from tests.support.jobs import forkrun, write_job
from tests.support.opened_by_root import open_with_root
from tests.support.same_columns import differing_columns

TREES = {
    "AO2D.root": "DF_2273751408283648/O2udtrack",  # one of 172
    "delphes.root": "Delphes",  # two branches of one name
    "p8_ee_WW_ecm240_edm4hep.root": "events",
    "uproot-issue-607.root": "MGTree",
    "uproot-issue213.root": "T",
    "uproot-issue327.root": "DstTree",  # members that were never written
}
REFUSED = {"uproot-issue-607.root": "event", "uproot-issue213.root": "eventPack"}
"""ROOT cannot write these branches anew, the only ones: their classes have code of their own."""


@pytest.fixture(scope="module")
def files(real_data: Path) -> Path:
    folder = real_data / "objects"
    if not folder.is_dir():
        pytest.skip(f"no files of objects: {folder} does not exist")
    return folder


def test_each_file_of_the_folder_is_tried(files: Path) -> None:
    assert sorted(path.name for path in files.glob("*.root")) == sorted(TREES)


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", TREES)
def test_a_skim_of_all_is_what_was_read_or_refused_before_any_event(
    files: Path, tmp_path: Path, name: str
) -> None:
    ids = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    source = {"files": [str(files / name)], "tree": TREES[name], **ids}
    write_job(tmp_path, {"source": source, "outputs": [{"label": "all"}]})
    checked = forkrun("check", "job.json", cwd=tmp_path)
    if refused := REFUSED.get(name):
        assert checked.code == 3
        assert f'objects of branch "{refused}" cannot be written to outputs' in checked.err
        return
    assert checked.code == 0, checked.err
    ended = forkrun("run", "job.json", "--children", 0, "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert differing_columns(files / name, tmp_path / "run/output/all.root", TREES[name]) == []


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", TREES)
def test_a_file_merged_with_itself_has_everything_twice(
    files: Path, tmp_path: Path, name: str
) -> None:
    path = files / name
    ended = forkrun("merge", "out.root", path, path, cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(path) as before, uproot.open(tmp_path / "out.root") as after:
        trees = before.keys(filter_classname="TTree", cycle=False)
        assert after.keys(filter_classname="TTree", cycle=False) == trees
    for tree in trees[::40]:
        assert differing_columns(path, tmp_path / "out.root", tree, times=2) == []


def test_root_opens_what_was_merged_without_a_word(files: Path, tmp_path: Path) -> None:
    path = files / "uproot-issue327.root"
    assert forkrun("merge", "out.root", path, path, cwd=tmp_path).code == 0
    [contents] = open_with_root([tmp_path / "out.root"])
    assert contents["DstTree"][0] == 196
