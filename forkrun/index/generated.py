"""Sums of the weights of generated events, which NanoAOD has in the tree `Runs` of each file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from forkrun.errors import InputError
from forkrun.index.read import ask_workers

COLUMNS = ("genEventSumw", "genEventSumw_")
"""One of these, of NanoAOD's versions."""
StoredSums = Mapping[str, Sequence[tuple[str, float]]]
"""By file, what `sums_of_weights` gives."""
WEIGHT = "genWeight"
"""The weight of each event, in the tree of events."""
_SAME = 1e-5
"""Runs adds what was rounded to 24 bits in the events."""


def sums_of_weights(files: Iterable[str]) -> StoredSums:
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


class Share(NamedTuple):
    """How much of a file is read: `n_read` of `n_counted` events; `of_weights`: the same of the sum
    of weights, where Runs is of the very events of the file."""

    n_read: int
    n_counted: int
    of_weights: float | None = None


class WantedWeights(NamedTuple):
    """The entries [first, last) of a file that are read."""

    path: str
    tree: str
    n_entries: int
    pieces: Sequence[tuple[int, int]]


def shares_of_weights(wanted: Iterable[WantedWeights], sums: StoredSums) -> dict[str, float]:
    """By file, how much of the sum of its weights the entries that are read have. Without those
    whose events do not have the sum that Runs tells, as they are a skim, or have no weights. Read
    in helper processes. Raises InputError."""
    requests: list[dict[str, Any]] = [
        {**each._asdict(), "weights": WEIGHT, "pieces": [list(p) for p in each.pieces]}
        for each in wanted
    ]
    shares = {}
    for request, answer in ask_workers(requests):
        if "error" in answer:
            raise InputError(f"{request['path']}: {answer['error']}")
        read, total, magnitude = answer["weights"]
        told = math.fsum(value for _, value in sums[request["path"]])
        if total and abs(total - told) <= _SAME * magnitude:
            shares[request["path"]] = read / total
    return shares


def total_of(sums: StoredSums, shares: Mapping[str, Share] | None = None) -> float:
    """Sum over files of what `sums_of_weights` gives, as far as their events are read (no
    shares: all are): what was carried to several of them counts once. Files without events count as
    the others do on average."""
    values: dict[str, float] = {}
    held: dict[str, list[Share]] = {}
    for file, of_origins in sums.items():
        for origin, value in of_origins:
            values.setdefault(origin or file, value)
            held.setdefault(origin or file, []).append(shares[file] if shares else Share(1, 1))
    others = _share(list((shares or {}).values()), 1.0)
    return math.fsum(value * _share(held[origin], others) for origin, value in values.items())


def _share(shares: Sequence[Share], if_empty: float) -> float:
    if len(shares) == 1 and shares[0].of_weights is not None:
        return shares[0].of_weights
    n_counted = sum(each.n_counted for each in shares)
    return sum(each.n_read for each in shares) / n_counted if n_counted else if_empty
