"""Branches of objects: what uproot reads of them in the input it reads in the output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

from forkrun import _core
from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support.jobs import forkrun, write_job
from tests.support.object_file import write_branches

FIRST, N_EVENTS = 7, 200


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("branches") / "input.root"
    call_root(write_branches, str(path))
    return path


def readable(path: Path) -> dict[str, Any]:
    """All branches that uproot can read, those within others as well."""
    found = {}
    with uproot.open(path) as opened:
        for name, branch in opened["Events"].iteritems(recursive=True):
            try:
                found[name] = branch.array()
            except Exception:  # whatever it cannot read
                continue
    return found


def test_a_merge_copies_them_as_they_are(file: Path, tmp_path: Path) -> None:
    merge_files([file, file], tmp_path / "out.root", verify=True)
    before, after = readable(file), readable(tmp_path / "out.root")
    assert set(after) == set(before)
    assert {"AuxDyn.nested", "AuxDyn.deep", "texts"} <= set(before)
    for name, values in before.items():
        assert ak.array_equal(after[name], ak.concatenate([values] * 2)), name


@pytest.mark.parametrize("compression", ["lz4:4"])
def test_a_merge_recompresses_them(file: Path, tmp_path: Path, compression: str) -> None:
    merge_files([file], tmp_path / "out.root", compression=compression)
    before, after = readable(file), readable(tmp_path / "out.root")
    assert set(after) == set(before)
    for name, values in before.items():
        assert ak.array_equal(after[name], values), name


def test_a_skim_copies_their_entries_as_bytes(file: Path, tmp_path: Path) -> None:
    assert _core.rewritten_branches(str(file), "Events") == ["one0."]  # a TBranchObject
    source = {"files": [str(file)], "skip_events": FIRST, "max_events": N_EVENTS}
    write_job(tmp_path, {"source": source, "outputs": [{"label": "all"}]})
    ended = forkrun("run", "job.json", "--children", 0, "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    out = tmp_path / "run/output/all.root"
    before, after = readable(file), readable(out)
    assert set(after) == set(before)
    for name, values in before.items():
        assert ak.array_equal(after[name], values[FIRST : FIRST + N_EVENTS]), name
