"""Where outputs are cut into parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forkrun.merge.positions import Cut, Positions, commits_of, cuts
from forkrun.plan.model import Units
from tests.batch.synthetic import commit

Lengths = st.lists(st.integers(1, 9), min_size=1, max_size=30)


def units_of(lengths: list[int], n_files: int) -> Units:
    """Units of two ranges each, if there are so many, of files that take turns."""
    files = np.arange(len(lengths)) % n_files
    last = np.zeros(len(lengths), dtype=np.int64)
    for file in range(n_files):
        last[files == file] = np.cumsum(np.asarray(lengths)[files == file])
    first_range = np.asarray([*range(0, len(lengths), 2), len(lengths)])
    n = len(first_range) - 1
    return Units(
        np.zeros(n, np.int64), np.ones(n, np.int64), np.arange(n), first_range, files,
        last - np.asarray(lengths), last,
    )  # fmt: skip


def every_entry(entries: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    return [(file, entry) for file, first, last in entries for entry in range(first, last)]


@given(lengths=Lengths, n_files=st.integers(1, 3), data=st.data())
def test_parts_have_every_event_once_and_in_order(
    lengths: list[int], n_files: int, data: st.DataObject
) -> None:
    positions = Positions(units_of(lengths, n_files))
    whole = every_entry(positions.entries(0, sum(lengths)))
    assert len(set(whole)) == len(whole) == positions.n_events == sum(lengths)
    files, entries = np.asarray(whole).T
    assert positions.of_entries(files, entries).tolist() == list(range(len(whole)))
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=4).map(sorted))
    parts = [positions.entries(*pair) for pair in pairwise([0, *places, len(whole)])]
    assert [each for part in parts for each in every_entry(part)] == whole


@given(lengths=Lengths, data=st.data())
def test_each_cluster_is_in_the_part_with_the_border_before_it(
    lengths: list[int], data: st.DataObject
) -> None:
    positions, n = Positions(units_of(lengths, 2)), sum(lengths)
    begins = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    borders = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=3))), n]
    whole = every_entry(positions.entries(0, n))
    clusters = [(*whole[begin], 1 + number) for number, begin in enumerate(begins)]
    found = cuts(clusters, positions, borders, n)
    assert [size for cut in found for size in cut.sizes] == [size for _, _, size in clusters]
    for cut, (low, high) in zip(found, pairwise(borders), strict=True):
        own = [begin for begin in begins if low <= begin < high]
        assert len(cut.sizes) == len(own)
        assert not own or cut.begin == own[0]
    assert [cut.end for cut in found[:-1]] == [cut.begin for cut in found[1:]]
    assert found[-1].end == n


def test_the_commits_of_a_part_are_those_that_have_some_of_its_events() -> None:
    positions = Positions(units_of([5, 5, 5, 5, 5, 5], 1))  # units of 10 events
    commits = [commit(unit) for unit in range(3)]
    assert commits_of(Cut(0, 30, (30,)), commits, positions) == range(3)
    assert commits_of(Cut(10, 20, (10,)), commits, positions) == range(1, 2)
    assert commits_of(Cut(9, 21, (12,)), commits, positions) == range(3)
