"""Objects of classes that no library here knows: as with ROOT, or refused before any event."""

from __future__ import annotations

from pathlib import Path

import pytest
import uproot

from forkrun import _core
from forkrun.merge import merge_files
from tests.support.jobs import forkrun, write_job
from tests.support.unknown_classes import write_links, write_pointers, write_tokens


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


def type_of(path: Path, branch: str) -> str:
    index = _core.index_tree(str(path), "Events", "run", "luminosityBlock", "event")
    types: dict[str, str] = {name: kind for name, kind, _ in index["branches"]}
    return types[branch]


@pytest.mark.parametrize("order", [("full", "empty"), ("empty", "full")])
def test_lists_without_objects_have_the_type_of_those_with_some(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    files = dict(zip(("empty", "full"), write_links(tmp_path), strict=True))
    paths = [files[name] for name in order]
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
            links = file["Events"]["links"].array(library="np")
            assert [len(each) for each in links] == sizes


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
