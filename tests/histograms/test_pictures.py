"""Pictures of histograms: few bins and digits, flow bins left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from forkrun import _core
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import HistogramSums, Storage
from forkrun.histograms.root_file import picture, write_pictures

_X = HistogramAxis(AxisKind.REGULAR, "x", (4, 0.0, 2.0))
_Y = HistogramAxis(AxisKind.CATEGORY, "y", ("a", "b"), underflow=False, overflow=False)


def sums(storage: Storage, values: list[list[float]], *axes: HistogramAxis) -> HistogramSums:
    """`values`: of each sum, flow bins included, the first axis fastest."""
    exact = _core.ExactSums(len(values), len(values[0]))
    exact.add(np.arange(len(values[0])), np.array(values))
    return HistogramSums("title", axes, storage, exact)


def test_bins_are_those_of_the_axis_and_flow_counts_in_the_entries() -> None:
    drawn = picture(sums(Storage.COUNTS, [[9, 1, 2, 3, 4, 5]], _X))
    assert drawn["values"] == [1, 2, 3, 4]
    assert drawn["entries"] == 24
    assert drawn["axes"] == [{"title": "x", "edges": [0, 0.5, 1, 1.5, 2], "labels": []}]


def test_of_a_profile_the_means_are_drawn() -> None:
    drawn = picture(sums(Storage.MEANS, [[0, 2, 0, 4, 1, 0], [0, 3, 0, 2, 7, 0], [0] * 6], _X))
    assert drawn["values"] == [1.5, 0, 0.5, 7]
    assert drawn["is_profile"]


def test_two_axes_are_rows_of_the_second() -> None:
    drawn = picture(sums(Storage.COUNTS, [[0, 1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 0]], _X, _Y))
    assert drawn["values"] == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert drawn["axes"][1]["labels"] == ["a", "b"]


def test_fine_bins_are_joined_and_nothing_is_lost() -> None:
    fine = HistogramAxis(AxisKind.REGULAR, "", (1001, 0.0, 1001.0))
    drawn = picture(sums(Storage.COUNTS, [[0.0, *range(1001), 0.0]], fine))
    assert len(drawn["values"]) == len(drawn["axes"][0]["edges"]) - 1 <= 200
    assert sum(drawn["values"]) == sum(range(1001))
    assert drawn["axes"][0]["edges"][-1] == 1001


def test_more_axes_and_too_many_are_left_out(tmp_path: Path) -> None:
    one = sums(Storage.COUNTS, [[0, 1, 2, 3, 4, 0]], _X)
    three = sums(Storage.COUNTS, [[1.0] * 216], _X, _X, _X)
    many = [("m", f"h{n}", one) for n in range(500)]
    write_pictures(tmp_path / "p.json", [("m", "xyz", three), *many])
    written = json.loads((tmp_path / "p.json").read_text())
    assert [each["name"] for each in written] == [f"m/h{n}" for n in range(400)]
