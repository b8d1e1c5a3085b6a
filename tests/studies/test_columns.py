"""`forkrun measure columns`, and `order`, which reads columns in other orders."""

from __future__ import annotations

from pathlib import Path

import pytest
import uproot

from forkrun.config.source import IdBranches
from forkrun.studies import order
from forkrun.studies.columns import column_costs, measure_columns, most_expensive
from forkrun.studies.frame.passes import OpenedFile, alternate, halves, read_apart, read_together
from forkrun.studies.order import measure_order
from tests.support.files import write_events
from tests.support.jobs import forkrun

NAMES = ("run", "event", "Jet_pt")
IDS = ("run", "luminosityBlock", "event")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_events(tmp_path / "in.root", [(1, lumi, 60) for lumi in (1, 2, 3)])


def stored_bytes(file: Path, *names: str) -> int:
    tree = uproot.open(file)["Events"]
    return sum(int(tree[name].compressed_bytes) for name in names)


def test_each_column_is_read_and_unzipped_once(file: Path) -> None:
    opened = OpenedFile.of(str(file), "Events", NAMES)
    costs = column_costs(opened, opened.blocks(50))
    assert opened.blocks(50) == [(first, first + 30) for first in range(0, 180, 30)]
    assert {name: cost.read_bytes for name, cost in costs.items()} == {
        name: stored_bytes(file, name) for name in NAMES
    }
    assert {name: cost.n_unzipped for name, cost in costs.items()} == dict.fromkeys(NAMES, 3)
    assert all(cost.time_s > 0 for cost in costs.values())


def test_parts_of_a_file_end_with_clusters(file: Path) -> None:
    opened = OpenedFile.of(str(file), "Events", NAMES)
    small = opened.blocks(50)
    assert halves(opened, small, 2) == [small[:2], small[2:]]
    assert alternate(small, 2) == [small[::2], small[1::2]]
    assert {*read_apart(opened, halves(opened, small, 2)).columns_s} >= {*NAMES}


def test_lanes_of_a_child_unzip_no_basket_twice(file: Path) -> None:
    """Where blocks end within baskets; lanes that know nothing of each other do."""
    opened = OpenedFile.of(str(file), "Events", NAMES)
    once = stored_bytes(file, *{*NAMES, *IDS})
    for n_lanes in (2, 4):
        shared = read_together(opened, n_lanes, n_lanes, block_size=7)
        assert (shared.read_calls, shared.read_bytes) == (3 * 4, once)
    alone = read_together(opened, 1, 1)
    twice = read_apart(opened, alternate(opened.blocks(30), 2))
    assert twice.read_bytes == 2 * alone.read_bytes


def test_a_study_of_columns_has_all_published_figures_beside(file: Path) -> None:
    study = measure_columns(str(file), "Events", NAMES, 2, 1, quiet=True)
    by_name = {row.name: row for row in study.rows.values()}
    assert by_name["blocks in parallel"]["times"] == 1
    assert by_name["columns of a block in parallel"]["of_best"] > 0
    assert {*NAMES} <= {*by_name}
    assert sum(by_name[name]["share"] for name in NAMES) == pytest.approx(1)
    assert {figure.published.line for figure in study.figures} == {
        "P3.1", "P3.3", "P3.4", "P3.6", "P3.7", "P3.8"
    }  # fmt: skip


def test_what_is_slow_is_named_by_the_start_of_its_names() -> None:
    costs = {"Jet_btagB": 3.0, "Jet_btagC": 1.5, "Jet_pt": 0.5, "Muon_pt": 4.0, "event": 1.0}
    assert most_expensive(costs) == ("Jet_btag*", 0.45)
    assert most_expensive({"Jet_pt": 1.0, "Jet_eta": 1.0, "event": 1.0}) == ("Jet_*", 2 / 3)
    assert most_expensive({"Jet_pt": 9.0, "Jet_eta": 1.0}) == ("Jet_pt", 0.9)
    assert most_expensive({"event": 0.0}) == ("event", 0.0)


def test_unknown_columns_are_named(file: Path) -> None:
    ended = forkrun("measure", "columns", file, "Muon", cwd=file.parent)
    assert ended.code == 2
    assert 'no branch matches "Muon"' in ended.err


def test_scattered_lumis_are_read_once_for_each_lumi_in_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four children, each left 40 rows in two clusters, in each of which two lumis are."""
    monkeypatch.setattr(order, "_CLUSTER", 20)
    file = write_events(tmp_path / "in.root", [(1, lumi, 40) for lumi in (4, 3, 2, 1)])
    ids = IdBranches("Events", *IDS)
    study = measure_order([str(file)], ids, tmp_path, 1000, 4, 1, quiet=True)
    bytes_of = {row.name: row["bytes"] for row in study.rows.values()}
    columns = [*IDS, "nJet", "Jet_pt"]
    for name, factor in (("together", 1), ("scattered", 2)):
        stored = stored_bytes(tmp_path / f"{name}.root", *columns)
        assert bytes_of[f"lumis {name}: another framework"] == factor * stored
        assert bytes_of[f"lumis {name}: forkrun"] >= stored
    assert bytes_of["lumis scattered: forkrun"] < 1.5 * bytes_of["lumis together: forkrun"]
    assert uproot.open(tmp_path / "scattered.root")["Events"]["event"].array().tolist() == [
        event for child in range(4) for event in [*range(121, 161), *range(81, 121),
        *range(41, 81), *range(1, 41)][child::4]
    ]  # fmt: skip
