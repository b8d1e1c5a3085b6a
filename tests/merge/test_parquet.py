"""Outputs in Parquet hold the rows of the ROOT file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.formats.parquet import PARQUET
from forkrun.formats.plain import row_groups
from forkrun.formats.ttree import TTREE
from forkrun.parent.result import Result
from tests.schedule.test_input_branches import FILL, write_eras
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job

pq = pytest.importorskip("pyarrow.parquet")

OUTPUT = {"label": "events", "paths": ["skim"], "parquet": True}


def report_text(run: Path) -> str:
    return " ".join((run / "report.txt").read_text().split())


def job(folder: Path, **output: Any) -> Path:
    events = write_events(folder / "a.root", [(1, lumi, 40) for lumi in range(1, 5)])
    return write_job(folder, jets_job([events], outputs=[{**OUTPUT, **output}]))


def test_rows_are_those_of_the_root_file_in_its_order(tmp_path: Path) -> None:
    ended = forkrun("run", job(tmp_path), "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    file = tmp_path / "run/output/events.parquet"
    assert str(file) in ended.out
    assert 'outputs "events": parquet = true is an older form' in report_text(tmp_path / "run")
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


@pytest.mark.long
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
    types = {"event": "uint64", "Jet_pt": "float32[]"}
    PARQUET.write(
        str(tmp_path / "many.parquet"), types, [TTREE.read(str(many), "Events", list(types))]
    )
    file = pq.ParquetFile(tmp_path / "many.parquet")
    assert file.metadata.num_rows == 3000
    assert file.read().column("event").to_pylist() == list(range(1, 3001))
    PARQUET.write(str(tmp_path / "none.parquet"), types, [])
    file = pq.ParquetFile(tmp_path / "none.parquet")
    assert file.metadata.num_rows == 0
    assert "Jet_pt" in file.schema_arrow.names


@pytest.mark.parametrize("size", [1, 700, 1024, 5000, 10_000])
def test_groups_cover_all_rows_once_and_do_not_depend_on_parts(size: int) -> None:
    numbers = np.arange(10_000)
    parts = [{"n": numbers[first : first + size]} for first in range(0, len(numbers), size)]
    found = [group["n"] for group in row_groups(parts, 8 * 2000)]
    assert np.concatenate(found).tolist() == numbers.tolist()
    assert {len(group) for group in found[:-1]} == {2048}
    assert list(row_groups([], 8 * 2000)) == []


def test_an_output_may_be_parquet_alone_also_by_lumi(tmp_path: Path) -> None:
    outputs = [
        {"label": "rows", "paths": ["skim"], "format": "parquet", "drop": ["Jet_*"]},
        {"label": "lumis", "paths": ["skim"], "format": "parquet", "per_lumi": True},
        {"label": "events", "paths": ["skim"]},
    ]
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 5)])
    file = write_job(tmp_path, jets_job([events], outputs=outputs))
    ended = forkrun("run", file, "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    made = tmp_path / "run/output"
    assert not (made / "rows.root").exists()
    assert Result.read(tmp_path / "run").outputs["rows"] == made / "rows.parquet"
    assert " zstd agrees" in report_text(tmp_path / "run")
    import uproot

    with uproot.open(made / "events.root") as root:
        expected = root["Events"].arrays()
    rows = ak.from_parquet(made / "rows.parquet")
    assert rows.event.tolist() == expected.event.tolist()
    assert not any(name.startswith("Jet_") for name in rows.fields)
    lumis = json.loads((made / "lumis/files.json").read_bytes())
    parts = [ak.from_parquet(made / "lumis" / each["file"]) for each in lumis]
    assert [each["n_events"] for each in lumis] == [len(part) for part in parts]
    assert ak.concatenate(parts).Jet_pt.tolist() == expected.Jet_pt.tolist()
    again = forkrun("resume", tmp_path / "run", cwd=tmp_path)
    assert again.code == 0, again.err
    assert "already done" in again.err


def test_what_it_cannot_hold_is_said_before_the_first_event(tmp_path: Path) -> None:
    outputs = [
        {"label": "packed", "format": "parquet", "compression": "zlib:5"},
        {"label": "none", "format": "parquet", "keep": ["nothing"]},
    ]
    events = write_events(tmp_path / "a.root", [(1, 1, 40)])
    file = write_job(tmp_path, jets_job([events], outputs=outputs))
    ended = forkrun("check", file, cwd=tmp_path)
    assert ended.code == 2
    assert 'outputs "packed": parquet: its columns are packed by zstd' in ended.err
    assert 'outputs "none": parquet: nothing that is kept is a column' in ended.err


def check_same(run: Path, one: str = "events", other: str = "rows") -> None:
    """The rows of a ROOT file, and of a Parquet file that was made beside it."""
    import uproot

    rows = ak.from_parquet(run / f"output/{other}.parquet")
    with uproot.open(run / f"output/{one}.root") as root:
        tree = root["Events"]
        assert rows.fields == tree.keys()
        for name in rows.fields:
            assert rows[name].tolist() == tree[name].array().tolist(), name


BOTH = [
    {"label": "events", "paths": ["skim"], "decisions": True},
    {"label": "rows", "paths": ["skim"], "decisions": True, "format": "parquet"},
]


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("distribution", ["guided", "contiguous", "round-robin"])
@pytest.mark.parametrize("order", ["auto", "sorted"])
def test_rows_are_the_same_however_events_are_shared_and_ordered(
    tmp_path: Path, distribution: str, order: str
) -> None:
    lumis = [(1, lumi % 3 + 1, 40) for lumi in range(6)]
    files = [write_events(tmp_path / f"{n}.root", lumis, 1000 * n) for n in (2, 1)]
    sharing = {"distribution": distribution, "events_per_turn": 7, "max_unit_events": 11}
    described = jets_job(
        files, outputs=BOTH, forking=sharing, source={"order": order}, merge={"carry": False}
    )
    ended = forkrun(
        "run", write_job(tmp_path, described), "-o", "run", "--children", 3, cwd=tmp_path
    )
    assert ended.code == 0, ended.err
    check_same(tmp_path / "run")


def test_branches_that_files_lack_are_filled(tmp_path: Path) -> None:
    described = {
        "source": {"files": write_eras(tmp_path), "branches": FILL},
        "outputs": [{"label": "events"}, {"label": "rows", "format": "parquet"}],
        "merge": {"carry": False},
    }
    ended = forkrun("run", write_job(tmp_path, described), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    check_same(tmp_path / "run")


def test_files_by_lumi_have_none(tmp_path: Path) -> None:
    ended = forkrun("check", job(tmp_path, per_lumi=True), cwd=tmp_path)
    assert ended.code == 2
    assert 'outputs "events": parquet: there is one file for all lumis' in ended.err
