"""Which Python objects lie on which pages."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from forkrun import _core
from forkrun.errors import JobError
from forkrun.parent.page_watch import check_page_tables


def sizes(walked: _core.ObjectPages) -> dict[tuple[str, str], int]:
    """Bytes by owner and type."""
    found: dict[tuple[str, str], int] = {}
    for part in walked.parts():
        key = walked.owners[part["owner"]], walked.types[part["type"]]
        found[key] = found.get(key, 0) + int(part["n_bytes"])
    return found


def walk(**roots: Any) -> dict[tuple[str, str], int]:
    walked = _core.ObjectPages()
    for owner, root in roots.items():
        walked.walk(owner, root)
    return sizes(walked)


def test_every_object_of_a_table_is_found_with_its_size() -> None:
    table = {f"chamber {i}": (float(i), [float(i + 0.5)]) for i in range(1000)}
    found = walk(sf=table)
    assert found["sf", "float"] == 2000 * sys.getsizeof(1.0)
    assert found["sf", "tuple"] == 1000 * sys.getsizeof((1, 2))
    assert found["sf", "list"] == sum(sys.getsizeof(row[1]) for row in table.values())
    assert found["sf", "dict"] == sys.getsizeof(table)
    assert found["sf", "str"] == sum(sys.getsizeof(key) for key in table)


def test_arrays_count_with_their_values_and_views_with_those_of_their_base() -> None:
    values = np.ones(100_000)
    found = walk(sf={"whole": values, "part": values[10:20]}, other=values[5:])
    assert found["sf", "array of float64"] == 800_000
    assert ("other", "array of float64") not in found


def test_objects_in_an_array_are_found() -> None:
    values = np.array([1.5, "text", [2.5]], dtype=object)
    found = walk(sf=[values])
    assert found["sf", "float"] == 2 * sys.getsizeof(1.5)
    assert found["sf", "array of object"] == 3 * 8


def test_what_two_hold_counts_for_the_first() -> None:
    shared = [float(i) for i in range(100)]
    found = walk(first=[shared], second=[shared, 0.25])
    assert found["first", "float"] == 100 * sys.getsizeof(1.0)
    assert found["second", "float"] == sys.getsizeof(1.0)


class Calibration:
    """Holds a value and, through its class, all of Python."""

    def __init__(self) -> None:
        self.gain = 1.25
        self.itself = self


def test_attributes_of_instances_are_found_and_classes_are_not_entered() -> None:
    found = walk(sf=Calibration())
    assert found["sf", "float"] == sys.getsizeof(1.25)
    assert ("sf", "type") not in found
    assert sum(found.values()) < 1000


@pytest.mark.long
def test_all_of_python_can_be_walked() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    running = numbers()  # has items, and no count of them
    next(running)
    walked = _core.ObjectPages()
    walked.walk("python", [running, sys.modules], everything=True)
    found = sizes(walked)
    assert found["python", "function"] > 100_000
    assert found["python", "code"] > 100_000
    assert sum(found.values()) < 1 << 30


def test_a_kernel_that_does_not_show_page_tables_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_page_tables()

    def refuse(pid: int = 0) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(_core, "count_pages", refuse)
    with pytest.raises(JobError, match=r"cannot be read here \(Permission denied\)"):
        check_page_tables()


def test_a_kernel_that_calls_every_page_shared_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Nothing:
        anonymous_private = 0

    monkeypatch.setattr(_core, "count_pages", lambda: Nothing())
    with pytest.raises(JobError, match="does not say which pages are private"):
        check_page_tables()
