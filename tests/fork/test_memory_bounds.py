"""What processes that read files of unknown origin may take of memory."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from forkrun.fork.limits import MOST_HEAP_BYTES, limit_growth, limit_heap
from tests.support.forks import in_processes


def bound_after(limit: Callable[[], None]) -> tuple[int, int]:
    """Limit of the heap, and the heap, in a process of its own."""
    read_end, write_end = os.pipe()

    def answer_after(_: int) -> None:
        limit()
        heap = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        os.write(write_end, f"{soft} {heap}".encode())

    in_processes(1, answer_after)
    answer = os.read(read_end, 100).split()
    return int(answer[0]), int(answer[1])


def file_of(folder: Path, n_bytes: int) -> str:
    file = folder / f"{n_bytes}"
    file.touch()
    os.truncate(file, n_bytes)
    return str(file)


def test_a_helper_may_take_32_times_the_size_of_its_files(tmp_path: Path) -> None:
    small, large = (file_of(tmp_path, n << 20) for n in (1, 10))
    bound, heap = bound_after(lambda: limit_heap([small, large], 1000))
    assert bound - heap == pytest.approx(1000 + 352 * (1 << 20), abs=1 << 20)


def test_a_helper_may_take_4_gigabytes_at_most(tmp_path: Path) -> None:
    huge = file_of(tmp_path, 10 << 30)
    for file in (huge, "root://server//f.root"):
        bound, heap = bound_after(lambda file=file: limit_heap([file], 1000))  # type: ignore[misc]
        assert bound - heap == pytest.approx(MOST_HEAP_BYTES, abs=1 << 20)


def test_a_merging_process_is_bounded_by_what_it_has_and_by_its_files(tmp_path: Path) -> None:
    small, large = (file_of(tmp_path, n << 20) for n in (3, 1000))
    bound, heap = bound_after(lambda: limit_growth([small], 2))
    more, _ = bound_after(lambda: limit_growth([small, large], 2))
    assert 2 << 30 < bound < (3 << 30) + 4 * heap
    assert abs((more - bound) - 32 * (997 << 20)) < 1 << 20
