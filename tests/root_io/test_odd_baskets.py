"""Baskets without offsets, of renamed branches, and in other files: read as ROOT and uproot
read them, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import InputError
from forkrun.merge import merge_files
from tests.support.jobs import forkrun, write_job
from tests.support.odd_baskets import (
    N_EVENTS,
    jets_of,
    write_in_another_file,
    write_renamed,
    write_within_the_tree,
    write_without_offsets,
)
from tests.support.opened_by_root import open_with_root


def skim(tmp_path: Path, path: Path) -> Path:
    """Of events whose number is no multiple of 3."""
    job = {
        "source": {"files": [str(path)]},
        "modules": [{"label": "some", "type": "expression:event % 3 != 0", "kind": "filter"}],
        "paths": {"p": ["some"]},
        "outputs": [{"label": "out", "paths": ["p"]}],
    }
    write_job(tmp_path, job)
    ended = forkrun("run", "job.json", "--children", 0, "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    return tmp_path / "run/output/out.root"


def contents(path: Path) -> dict[str, Any]:
    with uproot.open(path) as file:
        return {name: branch.array() for name, branch in file["Events"].iteritems()}


def values_of(column: Any) -> list[Any]:
    values: list[Any] = np.asarray(column).tolist()
    return values


def expected_jets(n_events: int) -> list[list[float]]:
    return [[10.0 * e + k for k in range(e % 5)] for e in range(n_events)]


@pytest.mark.parametrize("n_events", [10, N_EVENTS])
def test_offsets_that_are_not_stored_follow_from_the_counts(tmp_path: Path, n_events: int) -> None:
    path = write_without_offsets(tmp_path / "a.root", n_events)
    columns = _core.read_columns(str(path), "Events", ["Jet_pt", "Jet_xy"], 3, n_events)
    offsets, values = columns["Jet_pt"]
    jets = expected_jets(n_events)[3:]
    assert ak.Array(ak.contents.ListOffsetArray(
        ak.index.Index64(offsets), ak.contents.NumpyArray(values))).tolist() == jets  # fmt: skip
    assert columns["Jet_xy"][1].reshape(-1, 2)[:, 0].tolist() == [
        e for e in range(3, n_events) for _ in range(e % 5)
    ]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("n_events", [10, N_EVENTS])
def test_such_branches_are_skimmed_and_merged(tmp_path: Path, n_events: int) -> None:
    path = write_without_offsets(tmp_path / "a.root", n_events)
    jets = expected_jets(n_events)
    assert jets_of(path) == jets
    assert jets_of(skim(tmp_path, path)) == [jets[e] for e in range(n_events) if e % 3 != 0]
    for recluster in ("never", "always"):
        merge_files(
            [path, path],
            tmp_path / "m.root",
            force=True,
            recluster=recluster,
            verify=True,
        )
        assert jets_of(tmp_path / "m.root") == 2 * jets


def test_branches_that_were_renamed_are_read_skimmed_and_merged(tmp_path: Path) -> None:
    path = write_renamed(tmp_path / "a.root")
    columns = _core.read_columns(str(path), "Events", ["pt", "pt_raw"])
    assert values_of(columns["pt_raw"]) == list(range(N_EVENTS))
    assert values_of(columns["pt"]) == [-e for e in range(N_EVENTS)]
    out = contents(skim(tmp_path, path))
    some = np.arange(N_EVENTS) % 3 != 0
    assert out["pt"].tolist() == (-np.arange(N_EVENTS)[some]).tolist()
    assert out["pt_raw"].tolist() == np.arange(N_EVENTS)[some].tolist()
    merge_files([path, path], tmp_path / "m.root", recluster="always")
    assert contents(tmp_path / "m.root")["pt"].tolist() == 2 * [-e for e in range(N_EVENTS)]


@pytest.mark.slow
def test_baskets_within_the_tree_are_read_wherever_the_tree_says_that_they_are(
    tmp_path: Path,
) -> None:
    path = write_within_the_tree(tmp_path / "a.root", 20)
    columns = _core.read_columns(str(path), "Events", ["x", "named.fName"])
    assert values_of(columns["x"]) == list(range(20))
    out = contents(skim(tmp_path, path))
    assert out["named/fName"].tolist() == [f"n{e}" for e in range(20) if e % 3 != 0]
    assert out["pt"].tolist() == [e % 3 * [e] for e in range(20) if e % 3 != 0]
    for recluster in ("never", "always"):
        made = tmp_path / f"{recluster}.root"
        merge_files([path, path], made, recluster=recluster, verify=True)
        assert contents(made)["x"].tolist() == 2 * list(range(20))
        assert contents(made)["named/fName"].tolist() == 2 * [f"n{e}" for e in range(20)]
        assert open_with_root([made])[0]["Events"][0] == 40


@pytest.mark.parametrize("n_events", [10, 20_000])
def test_baskets_in_another_file_are_refused_by_the_names_of_both(
    tmp_path: Path, n_events: int
) -> None:
    path = write_in_another_file(tmp_path / "a.root", "other.root", n_events)
    write_job(tmp_path, {"source": {"files": [str(path)]}, "outputs": [{"label": "all"}]})
    ended = forkrun("check", "job.json", cwd=tmp_path)
    assert ended.code == 3
    assert 'the baskets of branch "y" are in another file' in ended.err
    assert "other.root" in ended.err
    with pytest.raises(InputError, match=r'branch "y" are in another file, .*other\.root'):
        merge_files([path, path], tmp_path / "m.root")
