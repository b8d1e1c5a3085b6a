"""Columns of integers: as JSON, and each number once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from forkrun.base.durable import write_columns, write_json
from forkrun.base.lumis import distinct


def test_columns_are_written_as_lists_are(tmp_path: Path) -> None:
    numbers = [0, -1, 7, 2**63 - 1, -(2**63)]
    lists = {"name": 'a "quoted" one', "units": {"x": numbers, "none": []}, "n": [1, [numbers]]}
    write_json(tmp_path / "lists.json", lists, indent=None)
    column, none = np.array(numbers), np.array([], dtype=np.int64)
    arrays = {**lists, "units": {"x": column, "none": none}, "n": [1, [column]]}
    write_columns(tmp_path / "arrays.json", arrays)
    assert (tmp_path / "arrays.json").read_bytes() == (tmp_path / "lists.json").read_bytes()
    assert json.loads((tmp_path / "arrays.json").read_text()) == lists


@pytest.mark.parametrize("numbers", [[], [3], [3, 3], [5, 1, 5, 2**64 - 1, 0, 1]])
def test_each_number_once(numbers: list[int]) -> None:
    keys = np.array(numbers, dtype=np.uint64)
    assert distinct(keys).tolist() == sorted(set(numbers))
