"""Sums of the weights of generated events, which NanoAOD has in the tree `Runs` of each file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forkrun.errors import InputError
from forkrun.index.read import ask_workers

COLUMNS = ("genEventSumw", "genEventSumw_")
"""One of these, of NanoAOD's versions."""


def sums_of_weights(files: Iterable[str]) -> Mapping[str, Sequence[tuple[str, float]]]:
    """By file, the sums of the files that its rows came from: names of these, "" for itself, and
    numbers. Those without such a tree are left out. Read in helper processes. Raises
    InputError."""
    requests: list[dict[str, Any]] = [
        {"path": file, "tree": "Runs", "sum_of": COLUMNS} for file in dict.fromkeys(files) if file
    ]
    sums: dict[str, list[tuple[str, float]]] = {}
    for request, answer in ask_workers(requests):
        if "error" in answer:
            raise InputError(f"{request['path']}: the tree Runs: {answer['error']}")
        if answer["sums"] is not None:
            sums[request["path"]] = [(origin, float(value)) for origin, value in answer["sums"]]
    return sums


def total_of(files: Iterable[str], sums: Mapping[str, Sequence[tuple[str, float]]]) -> float:
    """Sum over files of what `sums_of_weights` gives: what was carried to several of them counts
    once."""
    by_origin: dict[str, float] = {}
    for file in files:
        for origin, value in sums[file]:
            by_origin.setdefault(origin or file, value)
    return math.fsum(by_origin.values())
