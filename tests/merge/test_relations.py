"""The index of a tree and its friends, which are stored with it: an output has its own, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forkrun.merge import merge_files
from tests.support.jobs import forkrun, write_job
from tests.support.related_file import N_EVENTS, relations, write_related


def run(tmp_path: Path, files: list[Path], **output: Any) -> tuple[Path, Path]:
    job = {
        "source": {"files": [str(file) for file in files]},
        "modules": [{"label": "some", "type": "expression:event % 3 != 1", "kind": "filter"}],
        "paths": {"p": ["some"]},
        "outputs": [{"label": "out", **output}],
    }
    write_job(tmp_path, job)
    ended = forkrun("run", "job.json", "--children", 0, "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    return tmp_path / "run", tmp_path / "run/output/out.root"


def test_a_skim_has_an_index_of_its_own_entries_and_no_friend(tmp_path: Path) -> None:
    files = [write_related(tmp_path / "a.root", 0), write_related(tmp_path / "b.root", 100)]
    folder, out = run(tmp_path, files, paths=["p"])
    found = relations(out)
    assert found["entries"] == list(range(13))
    assert found["friends"] == []
    warnings = json.loads((folder / "report.json").read_text())["warnings"]
    assert any("the friend Fr (" in text and "source.friends" in text for text in warnings)


@pytest.mark.slow
def test_an_output_of_all_entries_of_a_file_keeps_its_friend(tmp_path: Path) -> None:
    file = write_related(tmp_path / "a.root", 0)
    _, out = run(tmp_path, [file])
    assert relations(out) == relations(file)
    assert relations(out) == {
        "entries": list(range(N_EVENTS)), "friends": [str(tmp_path / "friend_a.root")]
    }  # fmt: skip


def test_a_merge_indexes_all_entries_and_names_the_friend_that_it_leaves_out(
    tmp_path: Path,
) -> None:
    files = [write_related(tmp_path / "a.root", 0), write_related(tmp_path / "b.root", 100)]
    notes: list[str] = []
    for recluster in ("never", "always"):
        merge_files(files, tmp_path / "out.root", force=True, note=notes.append,
                    recluster=recluster)  # fmt: skip
        found = relations(tmp_path / "out.root")
        assert found == {"entries": list(range(2 * N_EVENTS)), "friends": []}
    assert any("friend Fr" in note and "friend_a.root" in note for note in notes)


def test_a_merge_of_one_file_keeps_all(tmp_path: Path) -> None:
    file = write_related(tmp_path / "a.root", 0)
    merge_files([file], tmp_path / "out.root")
    assert relations(tmp_path / "out.root") == relations(file)


def test_an_rntuple_has_neither_and_that_is_said(tmp_path: Path) -> None:
    file = write_related(tmp_path / "a.root", 0)
    notes: list[str] = []
    merge_files([file], tmp_path / "out.root", note=notes.append, format="rntuple")
    for what in (f"the friend Fr ({tmp_path}/friend_a.root)", "the index of its entries"):
        words = f'"Events": {what}, which is stored with the tree of {file}, is left out'
        assert [words in note for note in notes].count(True) == 1, notes
    folder, _ = run(tmp_path, [file], format="rntuple")
    warnings = json.loads((folder / "report.json").read_text())["warnings"]
    assert any("is kept only where an output is a tree of all entries" in w for w in warnings)
