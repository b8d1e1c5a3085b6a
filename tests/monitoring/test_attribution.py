"""Pages shared out to what is on them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.monitoring.job_memory import ANONYMOUS, HEAP, STACK, MappedRange, parse_maps
from forkrun.monitoring.report.attribution import PYMALLOC, Objects, Unshared, attribute

PAGE = 4096
NAMES = {"owners": ["condition sf", "module plots"], "types": ["float", "dict"]}
BORDERS = {1: "start", 16: "plots"}
PRIVATE = [("page", "u8"), ("border", "u2")]

MAPS = """\
55d0a1c00000-55d0a1c21000 rw-p 00000000 00:00 0                          [heap]
7f12a0000000-7f12a0100000 rw-p 00000000 00:00 0
7f12b0000000-7f12b0002000 rw-p 00012000 08:01 131 /usr/lib/a folder/libx.so.1 (deleted)
7ffd5a000000-7ffd5a021000 rw-p 00000000 00:00 0                          [stack]
"""


def objects(*parts: tuple[int, int, int, int, bool]) -> Objects:
    columns: list[Any] = list(zip(*parts, strict=True)) if parts else [[]] * 5
    kinds: tuple[Any, ...] = (np.uint64, np.int64, np.int64, np.float64, bool)
    return Objects(*(np.array(c, dtype=k) for c, k in zip(columns, kinds, strict=True)))


def pages(*numbers: int) -> npt.NDArray[np.uint64]:
    return np.array(numbers, dtype=np.uint64)


def child(*found: tuple[int, int]) -> npt.NDArray[np.void]:
    return np.array(list(found), dtype=PRIVATE)


def by_name(rows: list[Unshared]) -> dict[tuple[str, str, str], Unshared]:
    return {(row.owner, row.type, row.where): row for row in rows}


def test_mappings_are_read_with_what_they_are() -> None:
    assert parse_maps(MAPS.splitlines()) == [
        MappedRange(0x55D0A1C00000, 0x55D0A1C21000, HEAP),
        MappedRange(0x7F12A0000000, 0x7F12A0100000, ANONYMOUS),
        MappedRange(0x7F12B0000000, 0x7F12B0002000, "data of libx.so.1"),
        MappedRange(0x7FFD5A000000, 0x7FFD5A021000, "stack"),
    ]


def test_sizes_of_mappings_and_stacks_of_threads_are_those_of_the_kernel() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    lines = Path("/proc/self/smaps").read_text().splitlines()
    stop.set()
    thread.join()
    ranges = parse_maps(lines)
    for name, n_bytes in (
        ("Private", sum(each.private_bytes for each in ranges)),
        ("Shared", sum(each.shared_bytes for each in ranges)),
    ):
        fields = [line.split() for line in lines if line.startswith(f"{name}_")]
        assert n_bytes == sum(1024 * int(field[1]) for field in fields) > 0
    assert sum(each.where == STACK for each in ranges) >= 2


def test_the_rest_of_a_heap_page_belongs_to_nobody() -> None:
    ranges = [MappedRange(0, 10 * PAGE, HEAP)]
    found = by_name(
        attribute(
            pages(3),
            [child((3, 16))],
            ranges,
            objects((3, 0, 1, 1024, False)),
            NAMES,
            BORDERS,
            PAGE,
        )
    )
    assert found["condition sf", "dict", HEAP].private_bytes == 1024
    assert found["", "", HEAP].private_bytes == 3072
    assert found["", "", HEAP].after == {"plots": 3072}


def test_objects_in_a_pymalloc_page_share_all_of_it_and_empty_pages_beside_it_are_its_own() -> None:
    ranges = [MappedRange(0, 100 * PAGE, ANONYMOUS)]
    parts = objects((3, 0, 0, 30, True), (3, 1, 1, 10, True))
    rows = attribute(pages(3, 4), [child((3, 1)), child()], ranges, parts, NAMES, BORDERS, PAGE)
    found = by_name(rows)
    assert found["condition sf", "float", PYMALLOC].at_fork_bytes == 3072
    assert found["condition sf", "float", PYMALLOC].private_bytes == 1536  # in one child of two
    assert found["module plots", "dict", PYMALLOC].after == {"start": 512}
    assert found["", "", PYMALLOC].at_fork_bytes == PAGE
    assert found["", "", PYMALLOC].private_bytes == 0


def test_objects_that_came_after_the_fork_count_for_nothing() -> None:
    rows = attribute(pages(3), [], [], objects((9, 0, 0, 64, True)), NAMES, BORDERS, PAGE)
    assert [(row.owner, row.at_fork_bytes) for row in rows] == [("", PAGE)]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Any, ...]:
    at_fork = sorted(draw(st.sets(st.integers(0, 600), min_size=1, max_size=40)))
    page = st.sampled_from([*at_fork, 601])
    part = st.tuples(
        page, st.integers(0, 1), st.integers(0, 1), st.integers(1, 4096), st.booleans()
    )
    parts = draw(st.lists(part, max_size=60))
    noted = st.dictionaries(st.sampled_from(at_fork), st.sampled_from([1, 16, 99]))
    children = draw(st.lists(noted, min_size=1, max_size=4))
    edges = sorted(draw(st.sets(st.integers(0, 600), max_size=6)))
    kinds = draw(st.lists(st.sampled_from([HEAP, ANONYMOUS, "stack"]), min_size=7, max_size=7))
    ranges = [
        MappedRange(a * PAGE, b * PAGE, kind)
        for a, b, kind in zip([0, *edges], [*edges, 700], kinds, strict=False)
    ]
    return at_fork, parts, children, ranges


@pytest.mark.slow
@given(worlds(), st.sampled_from([PAGE, 16 * PAGE]))
def test_no_byte_is_lost_and_none_is_counted_twice(world: tuple[Any, ...], page_size: int) -> None:
    at_fork, parts, children, ranges = world
    if page_size != PAGE:  # records of objects are of 4096 bytes, whatever the page
        parts = [(16 * p, *rest) for p, *rest in parts]
    found = [child(*sorted(noted.items())) for noted in children]
    rows = attribute(pages(*at_fork), found, ranges, objects(*parts), NAMES, BORDERS, page_size)
    n_private = sum(len(noted) for noted in children)
    assert sum(row.at_fork_bytes for row in rows) == pytest.approx(len(at_fork) * page_size)
    private = sum(row.private_bytes for row in rows)
    assert private == pytest.approx(n_private * page_size / len(children))
    for row in rows:
        assert row.private_bytes <= row.at_fork_bytes * (1 + 1e-9)
        assert sum(row.after.values()) == pytest.approx(row.private_bytes)
