"""A format in Python reads the table of events that each file has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forkrun.formats.events import EventSource
from forkrun.formats.plain import Plain
from forkrun.formats.reader import Reader

TABLES = {("a", "year16"): 100, ("b", "year17"): 200}


def read(path: str, tree: str, names: Sequence[str], first: int, last: int) -> dict[str, Plain]:
    return {name: np.arange(first, last) + TABLES[path, tree] for name in names}


def test_columns_and_ids_are_those_of_the_table_of_each_file() -> None:
    source = EventSource(
        files=["a", "b"], tree="year*", ids=("run", "lumi", "event"),
        columns=[("x", "int64"), ("y", "int64")], clusters=[[0, 3], [0, 3]],
        identities=[], fills={"y": (7.0, "")}, friends=(), friend_columns={},
        trees=["year16", "year17"],
    )  # fmt: skip
    reader = Reader(read, source, lambda path, tree: ["x", "y"] if tree == "year17" else ["x"])
    ranges = [(0, 1, 3), (1, 0, 2)]
    assert reader.read(ranges, "x").tolist() == [101, 102, 200, 201]
    assert reader.read(ranges, "y").tolist() == [7, 7, 200, 201]
    assert [ids.tolist() for ids in reader.read_ids(ranges)] == [[101, 102, 200, 201]] * 3
