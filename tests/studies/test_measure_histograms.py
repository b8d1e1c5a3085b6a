"""`forkrun measure histograms`: times of fills, by ways and threads."""

from __future__ import annotations

import pytest

from forkrun import _core
from forkrun.errors import JobError
from forkrun.studies.frame.repeats import Repeated, Row
from forkrun.studies.histograms import (
    BINS,
    HISTOGRAMS,
    buffered_from,
    make_fills,
    measure_histograms,
    name_of,
)


def test_every_way_fills_on_every_number_of_threads() -> None:
    study = measure_histograms(2000, [1, 3], 1, quiet=True)
    names = [f"{way}, {n}" for n in ("1 thread", "3 threads")
             for way in ("copies", "lock", "buffer", "forkrun")]  # fmt: skip
    names += [f"{name}: {who}" for name in HISTOGRAMS for who in ("hist", "forkrun")]
    assert [row.name for row in study.rows.values()] == names
    assert all(value.value > 0 for row in study.rows.values() for value in row.values.values())
    assert {f.published.line for f in study.figures} <= {"P5.4"}
    assert study.plot is not None
    assert [curve.name for curve in study.plot.curves] == ["copies", "lock", "buffer", "forkrun"]
    assert [point[0] for curve in study.plot.curves for point in curve.points] == [1, 3] * 4


def test_a_buffer_is_better_from_the_number_on_after_which_it_always_is() -> None:
    def rows(lock: list[float], buffer: list[float]) -> dict[str, Row]:
        times = {"lock": lock, "buffer": buffer}
        key = BINS[-1].key
        return {
            name_of(way, n): Row(name_of(way, n), {key: Repeated((of_way[i],))})
            for way, of_way in times.items()
            for i, n in enumerate((1, 2, 4))
        }

    assert buffered_from(rows([3, 3, 3], [1, 1, 1]), (1, 2, 4)) == 1
    assert buffered_from(rows([3, 3, 3], [1, 4, 1]), (1, 2, 4)) == 4
    assert buffered_from(rows([3, 3, 3], [1, 1, 3]), (1, 2, 4)) is None


def test_columns_fill_what_hist_fills() -> None:
    fills = make_fills("profile, 100 bins", 10, 4, is_weighted=True, kind="f4")
    assert [*fills.options] == ["weight", "sample"]
    assert fills.time(booked=True)["columns"] > 0
    assert fills.time(booked=False)["columns"] > 0


def test_a_way_that_is_none_is_refused() -> None:
    with pytest.raises(JobError, match="way"):
        _core.FillEntries(1).time_fills(
            way="atomic", n_axes=1, n_bins=1, is_weighted=False, threads=1
        )
