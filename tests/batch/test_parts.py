"""Parts of a plan, and how far nodes are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forkrun.base.lumis import LumiCounts
from forkrun.config.read import default_config
from forkrun.errors import OutputError
from forkrun.index.model import FileIndex, LumiRange, LumiRanges
from forkrun.plan.make import make_plan
from forkrun.plan.model import Plan, Unit
from forkrun.plan.part import Part, node_borders, parts_of
from forkrun.plan.select import count_lumis
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, SkippedEvent, read_ledgers, revoke
from forkrun.rundir.nodes import VERSION, NodeRanges, read_commits, revoke_commits
from forkrun.rundir.progress import read_progress
from tests.batch.synthetic import commit, write_run

Sizes = st.lists(st.lists(st.integers(1, 400), min_size=1, max_size=8), min_size=1, max_size=5)


def planned(files: list[list[int]], most: int = 50) -> tuple[Plan, LumiCounts]:
    """A job over files with lumis of these sizes, in units of at most so many events."""
    index, lumi = [], 0
    for number, sizes in enumerate(files):
        ranges, first = [], 0
        for n_events in sizes:
            ranges.append(LumiRange(1, lumi := lumi + 1, first, first + n_events, "0" * 32))
            first += n_events
        clusters = (0, first)
        index.append(FileIndex(f"{number}.root", str(number), first, clusters, tuple(ranges), ()))
    config = default_config([("forking.max_unit_events", most)])
    return make_plan(config, index), count_lumis(LumiRanges.of(index), None)


@pytest.mark.slow
@given(Sizes, st.integers(1, 12))
def test_parts_are_the_plan(files: list[list[int]], n_nodes: int) -> None:
    plan, lumis = planned(files)
    borders = node_borders(plan.units, n_nodes)
    parts = list(parts_of(plan, lumis, borders))
    assert len(parts) <= n_nodes
    assert sum(part.plan.n_events for part in parts) == plan.n_events
    units = [unit for part in parts for unit in part.plan.units]
    assert [_ranges(unit) for unit in units] == [_ranges(unit) for unit in plan.units]
    for part in parts:
        assert part.plan.n_events > 0
        assert {r.file for unit in part.plan.units for r in unit.ranges} == set(part.own_files)
        read_back = Part.from_json(_as_json(part))
        assert read_back.plan == part.plan
        assert np.array_equal(read_back.input_lumis.n_events, part.input_lumis.n_events)


def _as_json(part: Part) -> dict[str, object]:
    value: dict[str, object] = json.loads(json.dumps(part.to_json()))
    return value


def _ranges(unit: Unit) -> tuple[object, ...]:
    return unit.run, unit.lumi, unit.ranges


def test_nodes_end_with_lumis_where_these_are_near() -> None:
    plan, _ = planned([[100, 100, 95, 105]])
    borders = node_borders(plan.units, 2)
    assert plan.units[borders[1]].lumi == 3
    assert node_borders(plan.units, 1000) == list(range(len(plan.units) + 1))


def test_a_node_says_nothing_of_lumis_that_are_scattered_over_the_whole_input() -> None:
    ranges = [LumiRange(1, 1 + n % 5, n, n + 1, "0" * 32) for n in range(40)]
    index = [FileIndex("a.root", "a", 40, (0, 40), tuple(ranges), ())]
    plan = make_plan(default_config(), index)
    lumis = count_lumis(LumiRanges.of(index), None)
    assert "5 lumis in 40 pieces" in plan.notes_on_order(has_outputs=True)[0]
    parts = list(parts_of(plan, lumis, node_borders(plan.units, 4)))
    assert len(parts) == 4
    assert [part.plan.notes_on_order(has_outputs=True) for part in parts] == [()] * 4


def test_a_job_without_events_is_one_node() -> None:
    plan, lumis = planned([[1]])
    assert node_borders(plan.units, 3) == [0, 1]
    (part,) = parts_of(plan, lumis, [0, 1])
    assert part.plan.n_events == 1


def test_progress_is_what_the_ledgers_hold(tmp_path: Path) -> None:
    write_run(tmp_path, 2, 50)
    folder = RunDirectory(tmp_path)
    node = folder.node(1)
    revoked = read_ledgers(node.ledger)[3]
    revoke(node.ledger, [(revoked, "a test")])
    line = commit(60, n_units=5, n_events=99).to_line()
    with (node.ledger / "child-000.1.jsonl").open("w") as ledger:
        ledger.write(commit(7).to_line() + line + line[:40])
    progress = read_progress(node)
    commits = read_ledgers(node.ledger)
    counted = {c.unit: c for c in commits}
    assert progress.n_units == sum(c.n_units for c in counted.values()) == 53
    assert progress.n_events == sum(c.n_events for c in counted.values()) == 48 * 20 + 99


def test_events_that_were_left_out_and_damaged_lines_are_counted_as_the_ledgers_have_them(
    tmp_path: Path,
) -> None:
    write_run(tmp_path, n_nodes=1, n_units=4)
    node = RunDirectory(tmp_path).node(0)
    left_out = commit(3, n_events=18, skipped=(SkippedEvent(7, "a.root", 7, "segfault"),) * 2)
    damaged = commit(4).to_line().replace('"n_events":20', '"n_events":2x')
    with (node.ledger / "child-003.jsonl").open("a") as ledger:
        ledger.write(left_out.to_line() + damaged + "\n" + "?" * 200_000 + "\n")
    progress = read_progress(node)
    assert (progress.n_units, progress.n_events, progress.n_skipped) == (4, 78, 2)
    assert progress.n_units == sum(c.n_units for c in read_ledgers(node.ledger))


def test_lines_of_ledgers_are_counted_without_reading_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, n_nodes=1, n_units=10)
    node = RunDirectory(tmp_path).node(0)
    monkeypatch.setattr(Commit, "from_line", None)
    assert read_progress(node).n_units == 9


def test_commits_of_nodes_are_those_of_one_run(tmp_path: Path) -> None:
    write_run(tmp_path, 3, 10)
    folder = RunDirectory(tmp_path)
    commits = {c.unit: c for c in read_commits(folder)}
    assert sorted(commits) == [n for n in range(30) if n % 10 != 9]
    assert commits[12].outputs["all"].file == "nodes/0001/units/000002/all.fragment"
    assert {Path(part.file).parent for part in commits[12].parts} == {
        Path("nodes/0001/units/000002")
    }
    revoke_commits(folder, [(commits[12], "a test")])
    assert sorted(commits.keys() - {c.unit for c in read_commits(folder)}) == [12]
    assert read_progress(folder.node(1)).n_units == 8


def test_a_unit_of_another_node_is_no_commit(tmp_path: Path) -> None:
    write_run(tmp_path, 2, 10)
    folder = RunDirectory(tmp_path)
    with (folder.node(0).ledger / "child-000.jsonl").open("a") as ledger:
        ledger.write(commit(10).to_line())
    damaged: list[str] = []
    assert len(read_commits(folder, damaged)) == 18
    assert damaged == ["0000: unit 10 is not one of this node's"]


def test_ranges_that_are_damaged_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path, 2, 10)
    folder = RunDirectory(tmp_path)
    damaged = {"version": VERSION, "first_unit": [5, 0], "n_events": [3]}
    folder.node_ranges.write_text(json.dumps(damaged))
    with pytest.raises(OutputError, match="cannot be read: its numbers are not in order"):
        NodeRanges.read(folder)


@pytest.mark.slow
@given(Sizes, st.integers(1, 12), st.integers(0, 3))
def test_each_file_is_carried_once_and_parts_have_them_in_order(
    files: list[list[int]], n_nodes: int, first_file: int
) -> None:
    """Also a file of which a mask leaves no event; of parts that go on, new files alone."""
    plan, lumis = planned(files)
    without = replace(plan, files=(*plan.files, "masked.root"),
                      identities=(*plan.identities, ("m", 7, 0)))  # fmt: skip
    borders = node_borders(plan.units, n_nodes)
    parts = list(parts_of(without, lumis, borders, first_file=first_file))
    carried = [file.number for part in parts for file in part.carries]
    wanted = list(range(first_file, len(files) + 1)) if first_file < len(files) else []
    assert carried == wanted
    for part in parts:
        read_back = Part.from_json(_as_json(part))
        assert list(read_back.carries) == list(part.carries)
    assert not any(part.carries for part in parts_of(without, lumis, borders))
