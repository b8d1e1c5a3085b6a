"""Columns of every kind of leaf: packed numbers, and lists of leaves with arrays, as ROOT reads
them. (uproot reads few of these.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import forkrun
from forkrun import _core
from forkrun.merge import merge_files
from forkrun.modules.columns import as_array
from tests.server.root_program import call_root
from tests.support.leaves_file import COLUMNS, N_EVENTS, read_by_root, text_of, write_leaves

IDS = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")


@pytest.fixture(scope="module")
def leaves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_leaves(tmp_path_factory.mktemp("leaves") / "leaves.root")


@pytest.fixture(scope="module")
def by_root(leaves: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = call_root(read_by_root, str(leaves))
    return found


def columns_of(path: Path) -> dict[str, str]:
    index = _core.index_tree(str(path), "Events", "", "", "")
    found = {name: kind for name, kind, *_ in [*index["branches"], *index["members"]]}
    return {name: kind for name, kind in found.items() if not kind.startswith("other:")}


def read(path: Path, first: int = 0, last: int = N_EVENTS) -> dict[str, list[Any]]:
    """Values as `read_by_root` gives them."""
    columns = _core.read_columns(str(path), "Events", list(COLUMNS), first, last)
    arrays = {name: as_array(column) for name, column in columns.items()}
    texts = ak.Array(arrays.pop("texted.text")).to_list()
    assert texts == [text_of(i) for i in range(first, last)]
    return {
        name: [np.ravel(event).tolist() for event in ak.Array(array).to_list()]
        for name, array in arrays.items()
    }


def test_every_leaf_is_a_column_with_its_type(leaves: Path, tmp_path: Path) -> None:
    assert columns_of(leaves) == COLUMNS
    with_object = write_leaves(tmp_path / "objects.root", 10, has_objects=True)
    assert columns_of(with_object) == COLUMNS | {"object": "string"}
    names = {column.name: column.why_none for column in forkrun.Job(leaves, source=IDS).columns()}
    assert names["track"].startswith('objects, whose members are the columns "track.big"')


@pytest.mark.parametrize(("first", "last"), [(0, N_EVENTS), (69, 141), (5, 5)])
def test_any_range_of_leaves_reads_as_with_root(
    leaves: Path, by_root: dict[str, list[Any]], first: int, last: int
) -> None:
    found = read(leaves, first, last)
    for name in by_root:
        assert repr(found[name]) == repr(
            [[type(mine)(each) for mine, each in zip(event, theirs, strict=True)]
             for event, theirs in zip(found[name], by_root[name][first:last], strict=True)]
        ), name  # fmt: skip


def test_a_job_uses_them_and_keeps_their_bytes(
    leaves: Path, by_root: dict[str, list[Any]], tmp_path: Path
) -> None:
    job = forkrun.Job(leaves, source=IDS)
    job.define("sum", "track.mom + sum(many)")

    @job.producer
    def first(block: forkrun.EventBlock) -> dict[str, Any]:
        return {"corner": block.track.grid[:, 1, 1], "size": block["sized.n"]}

    job.filter("mixed.last % 2 == 1 && narrow[0] < 100")
    job.output("skim", drop=["sum", "corner", "size"])
    job.output("flat", keep=["sum", "corner", "size", "half", "track.n", "many"], format="rntuple")
    result = job.run(1, output=tmp_path / "run", quiet=True, plots=False)
    chosen = range(1, N_EVENTS, 2)
    merged = tmp_path / "merged.root"
    merge_files([result.output("skim"), leaves], merged)
    skim, both = (call_root(read_by_root, str(path)) for path in (result.output("skim"), merged))
    for name in by_root:
        kept = [by_root[name][i] for i in chosen]
        assert skim[name] == kept, name
        assert both[name] == kept + by_root[name], name
    new = _core.read_columns(
        str(result.output("flat")), "Events", ["sum", "corner", "half", "track.n"]
    )
    assert as_array(new["corner"]).tolist() == [by_root["track.grid"][i][3] for i in chosen]
    assert as_array(new["half"]).tolist() == [by_root["half"][i][0] for i in chosen]
    assert as_array(new["track.n"]).tolist() == [by_root["track.n"][i] for i in chosen]
    expected = [np.float32(by_root["track.mom"][i][0]) + sum(by_root["many"][i]) for i in chosen]
    assert np.allclose(as_array(new["sum"]), expected, rtol=1e-6)
