"""Objects of classes that no library here knows: as with ROOT, or refused before any event."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import uproot

from forkrun import ConfigError, Job, _core
from forkrun.merge import merge_files
from forkrun.modules.columns import as_array
from tests.support.jobs import forkrun, write_job
from tests.support.opened_by_root import open_with_root
from tests.support.unknown_classes import (
    write_links,
    write_old_form,
    write_own_streaming,
    write_pointers,
    write_references,
    write_tokens,
)


def test_objects_that_root_cannot_write_are_refused_before_any_event(tmp_path: Path) -> None:
    path = write_pointers(tmp_path / "a.root")
    job = {"source": {"files": [str(path)]}, "outputs": [{"label": "all"}]}
    write_job(tmp_path, job)
    for command in (["check", "job.json"], ["run", "job.json", "-o", "run"]):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 3
        assert 'objects of branch "foo" cannot be written to outputs' in ended.err
        assert 'drop = ["foo"]' in ended.err
    assert not (tmp_path / "run/ledger").exists()


def test_the_remedy_that_is_named_helps(tmp_path: Path) -> None:
    path = write_pointers(tmp_path / "a.root")
    write_job(
        tmp_path, {"source": {"files": [str(path)]}, "outputs": [{"label": "all", "drop": ["foo"]}]}
    )
    ended = forkrun("run", "job.json", "-o", "run", "--children", 0, cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/all.root") as file:
        assert file["Events"]["x"].array().tolist() == list(range(10))


def forkrun_job(path: Path) -> Job:
    return Job(path, source=dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), ""))


def type_of(path: Path, branch: str) -> str:
    index = _core.index_tree(str(path), "Events", "run", "luminosityBlock", "event")
    types: dict[str, str] = {name: kind for name, kind, _ in index["branches"]}
    return types[branch]


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The file without objects, and that with some; ROOT compiles for seconds what writes them."""
    return write_links(tmp_path_factory.mktemp("links"))


@pytest.mark.long  # ROOT makes dictionaries
@pytest.mark.parametrize("step", [1, -1])
def test_lists_without_objects_have_the_type_of_those_with_some(
    tmp_path: Path, links: tuple[Path, Path], step: int
) -> None:
    paths = links[::step]
    assert {type_of(path, "links") for path in paths} == {"other:vector<vector<Link> >"}
    write_job(
        tmp_path,
        {"source": {"files": [str(path) for path in paths]}, "outputs": [{"label": "all"}]},
    )
    ended = forkrun("run", "job.json", "-o", "run", "--children", 0, cwd=tmp_path)
    assert ended.code == 0, ended.err
    merge_files(paths, tmp_path / "m.root")
    sizes = [e % 3 for e in range(10)] * 2
    for path in (tmp_path / "run/output/all.root", tmp_path / "m.root"):
        with uproot.open(path) as file:
            lists = file["Events"]["links"].array(library="np")
            assert [len(each) for each in lists] == sizes


@pytest.mark.long
def test_pointers_to_objects_of_a_class_that_no_file_describes_stay_in_their_baskets(
    tmp_path: Path,
) -> None:
    """Each entry names the class where it was met first: by its place in the basket."""
    files = write_tokens(tmp_path)
    write_job(
        tmp_path,
        {"source": {"files": [str(path) for path in files]}, "outputs": [{"label": "all"}]},
    )
    checked = forkrun("check", "job.json", cwd=tmp_path)
    assert checked.code == 3
    assert 'objects of branch "tokens" cannot be written to outputs' in checked.err
    merge_files(files, tmp_path / "m.root")
    with uproot.open(tmp_path / "m.root") as file:
        tokens = file["Events"]["tokens"].array(library="np")
        assert [len(each) for each in tokens] == [e % 4 for e in range(10)] * 2


def test_objects_whose_bytes_mean_something_else_in_a_new_file_are_not_copied(
    tmp_path: Path,
) -> None:
    path = write_old_form(tmp_path / "old.root")
    open_with_root([path])  # without a word
    ended = forkrun("merge", "m.root", path, path, cwd=tmp_path)
    assert ended.code == 3
    assert 'old.root: objects of branch "many.all" have a form that only files of old' in ended.err
    assert not (tmp_path / "m.root").exists()


@pytest.mark.slow
def test_members_of_objects_that_are_not_written_as_the_file_describes_are_no_columns(
    tmp_path: Path,
) -> None:
    path = write_own_streaming(tmp_path / "a.root")
    listed = forkrun("columns", path, "--json", cwd=tmp_path)
    columns = {
        each["name"]: each["type"] for each in json.loads(listed.out) if not each["why_none"]
    }
    assert columns == {"x": "int32", "split.before": "int32", "split.behind": "int32"}
    words = forkrun("columns", path, cwd=tmp_path).out
    assert "first ones cannot be read as the file describes their classes" in words
    job = forkrun_job(path)
    job.filter("outer.before > 1")
    with pytest.raises(ConfigError, match=r'"outer\.before" exists, of type not as described'):
        job.check()
    values = _core.read_columns(str(path), "Events", list(columns))
    assert as_array(values["split.before"]).tolist() == list(range(20))


def classes_in(path: Path) -> set[tuple[str, int]]:
    with uproot.open(path) as file:
        return {(name, version) for name, of in file.file.streamers.items() for version in of}


def test_a_merge_by_root_describes_all_classes_of_its_input(tmp_path: Path) -> None:
    """ROOT leaves out abstract ones: nobody could read objects of an old version. In a process that
    has not read a real file of that version."""
    path = write_references(tmp_path / "a.root")
    assert forkrun("merge", "m.root", path, path, cwd=tmp_path).code == 0
    assert ("TH1", 7) in classes_in(path)
    assert classes_in(path) <= classes_in(tmp_path / "m.root")
    open_with_root([tmp_path / "m.root"])
