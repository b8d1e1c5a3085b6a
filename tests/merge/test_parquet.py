"""Outputs in Parquet hold the rows of the ROOT file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.merge.parquet import write_parquet
from forkrun.parent.result import Result
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job

pq = pytest.importorskip("pyarrow.parquet")

OUTPUT = {"label": "events", "paths": ["skim"], "parquet": True}


def job(folder: Path, **output: Any) -> Path:
    events = write_events(folder / "a.root", [(1, lumi, 40) for lumi in range(1, 5)])
    return write_job(folder, jets_job([events], outputs=[{**OUTPUT, **output}]))


def test_rows_are_those_of_the_root_file_in_its_order(tmp_path: Path) -> None:
    ended = forkrun("run", job(tmp_path), "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    file = tmp_path / "run/output/events.parquet"
    assert str(file) in ended.out
    assert file in Result.read(tmp_path / "run").files
    import uproot

    rows = ak.from_parquet(file)
    with uproot.open(tmp_path / "run/output/events.root") as root:
        tree = root["Events"]
        assert rows.fields == tree.keys()
        for name in rows.fields:
            assert rows[name].tolist() == tree[name].array().tolist()
    events = np.asarray(rows.event)
    assert events.tolist() == [n for n in range(1, 161) if n % 5 == 4 and n % 7]
    schema = pq.read_schema(file)
    assert str(schema.field("Jet_pt").type).startswith("list<")
    assert str(schema.field("event").type) == "uint64"


def test_bytes_are_the_same_for_any_children_and_it_is_made_again_if_it_is_lost(
    tmp_path: Path,
) -> None:
    found = []
    for children in (0, 1, 3):
        options = ("--children", children, "--set", "forking.max_unit_events=10")
        ended = forkrun("run", job(tmp_path), "-o", f"run{children}", *options, cwd=tmp_path)
        assert ended.code == 0, ended.err
        found.append((tmp_path / f"run{children}/output/events.parquet").read_bytes())
    assert found[0] == found[1] == found[2]
    lost = tmp_path / "run3/output/events.parquet"
    lost.unlink()
    ended = forkrun("run", job(tmp_path), "-o", "run3", *options, cwd=tmp_path)
    assert "the run is merged again" in ended.err
    assert lost.read_bytes() == found[0]


def test_many_rows_are_written_in_groups_and_none_as_columns(tmp_path: Path) -> None:
    many = write_events(tmp_path / "many.root", [(1, 1, 3000)])
    write_parquet(many, "Events", tmp_path / "many.parquet")
    file = pq.ParquetFile(tmp_path / "many.parquet")
    assert file.metadata.num_rows == 3000
    assert file.read().column("event").to_pylist() == list(range(1, 3001))
    none = write_events(tmp_path / "none.root", [])
    write_parquet(none, "Events", tmp_path / "none.parquet")
    file = pq.ParquetFile(tmp_path / "none.parquet")
    assert file.metadata.num_rows == 0
    assert "Jet_pt" in file.schema_arrow.names


def test_groups_cover_all_rows_once() -> None:
    from forkrun.merge.parquet import _groups

    groups = list(_groups(10_000, 1 << 30))
    assert [first for first, _ in groups] == list(range(0, 10_000, 1 << 10))
    assert [last for _, last in groups[:-1]] == [first for first, _ in groups[1:]]
    assert groups[-1][1] == 10_000
    assert list(_groups(0, 100)) == [(0, 0)]


def test_files_by_lumi_have_none(tmp_path: Path) -> None:
    ended = forkrun("check", job(tmp_path, per_lumi=True), cwd=tmp_path)
    assert ended.code == 2
    assert 'outputs "events": parquet: there is one file for all lumis' in ended.err
