"""The order of the merge, and the proof that each unit is there once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.base.durable import published
from forkrun.errors import VerificationError
from forkrun.merge.planned import Integers, merge_order
from forkrun.rundir.ledger import Commit, OutputPart, read_ledgers


def units(n: int) -> Integers:
    """Events of each unit of a plan."""
    return np.full(n, 10, dtype=np.int64)


def commit(number: int, n_events: int = 10, n_units: int = 1) -> Commit:
    parts = {"events": OutputPart(f"units/{number:06d}/events.root", 3, "0" * 32, 100, 1)}
    none = "0" * 32
    return Commit(
        number, 0, 1234, 1, number, n_events, none, (), none, parts, None,
        1.5, 2.5, 1.0, 0.5, 7, 700, n_units,
    )  # fmt: skip


@given(st.permutations(range(12)))
def test_commits_in_any_order_are_merged_in_plan_order(numbers: list[int]) -> None:
    ordered = merge_order(units(12), [commit(n) for n in numbers])
    assert [c.unit for c in ordered] == list(range(12))


@given(st.sets(st.integers(0, 9)), st.integers(0, 9))
def test_a_unit_missing_or_twice_is_an_error(missing: set[int], twice: int) -> None:
    commits = [commit(n) for n in range(10) if n not in missing] + [commit(twice)]
    with pytest.raises(VerificationError) as caught:
        merge_order(units(10), [*commits, commit(twice)])
    assert f"unit {twice} was committed" in str(caught.value)
    left = missing - {twice}
    assert (f"{len(left)} of 10 units not committed" in str(caught.value)) == bool(left)


def test_units_of_another_plan_and_wrong_counts_are_errors() -> None:
    with pytest.raises(VerificationError, match="unit 1 is not in the plan"):
        merge_order(units(1), [commit(0), commit(1)])
    with pytest.raises(VerificationError, match="unit 0: 9 events read, not 10"):
        merge_order(units(1), [commit(0, n_events=9)])


def test_a_ledger_reads_back_and_an_unfinished_line_is_no_commit(tmp_path: Path) -> None:
    (tmp_path / "child-000.jsonl").write_text(commit(0).to_line() + commit(2).to_line()[:-9])
    (tmp_path / "child-001.jsonl").write_text(commit(1).to_line())
    assert read_ledgers(tmp_path) == [commit(0), commit(1)]


def test_nothing_is_under_the_final_name_until_all_is_written(tmp_path: Path) -> None:
    final = tmp_path / "output" / "events.root"

    def write(fail: bool) -> None:
        with published(final) as temporary:
            temporary.write_text("half")
            assert not final.exists()
            if fail:
                raise VerificationError("differs")
            temporary.write_text("all")

    with pytest.raises(VerificationError):
        write(fail=True)
    assert list((tmp_path / "output").iterdir()) == []
    write(fail=False)
    assert [f.name for f in final.parent.iterdir()] == ["events.root"]
    assert final.read_text() == "all"


def test_a_commit_of_several_units_covers_each_of_them() -> None:
    ordered = merge_order(units(6), [commit(4, 20, 2), commit(0), commit(1, 30, 3)])
    assert [(c.unit, c.n_units) for c in ordered] == [(0, 1), (1, 3), (4, 2)]
    with pytest.raises(VerificationError, match="unit 1: 29 events read, not 30"):
        merge_order(units(6), [commit(0), commit(1, 29, 3), commit(4, 20, 2)])
    with pytest.raises(VerificationError, match="unit 3 was committed 2 times"):
        merge_order(units(6), [commit(0), commit(1, 30, 3), commit(3, 30, 3)])
    with pytest.raises(VerificationError, match="unit 6 is not in the plan"):
        merge_order(units(6), [commit(0), commit(1, 30, 3), commit(4, 30, 3)])


@pytest.mark.parametrize("n_units", [0, -1, 10**18, 1.5, "3"])
def test_a_commit_of_a_senseless_number_of_units_is_damaged(tmp_path: Path, n_units: Any) -> None:
    (tmp_path / "child-000.jsonl").write_text(commit(0, n_units=n_units).to_line())
    damaged: list[str] = []
    assert read_ledgers(tmp_path, damaged) == []
    assert "line 1 is damaged" in damaged[0]
    assert "at `$.n_units`" in damaged[0]
