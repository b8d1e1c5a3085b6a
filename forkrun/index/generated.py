"""Sums of weights of generated events, which NanoAOD stores in the tree `Runs` of each file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from forkrun.index.read import found_by_workers

COLUMNS = ("genEventSumw", "genEventSumw_")
"""Alternative names, by version of NanoAOD."""
StoredSums = Mapping[str, Sequence[tuple[str, float]]]
"""Result of `sums_of_weights`, by file."""
WEIGHT = "genWeight"
"""Weight of each event, in the tree of events."""
_SAME = 1e-5
"""Tolerance: Runs adds values that are rounded to 24 bits in the events."""


def sums_of_weights(files: Iterable[str]) -> StoredSums:
    """Sums for each file, by the file of origin of its rows: (name, sum), with "" for itself. Omits
    files without such a tree. Read in helper processes. Raises InputError."""
    requests: list[dict[str, Any]] = [
        {"path": file, "tree": "Runs", "sum_of": COLUMNS} for file in dict.fromkeys(files) if file
    ]
    sums: dict[str, list[tuple[str, float]]] = {}
    for request, found in found_by_workers(requests, "sums", "the tree Runs: "):
        if found is not None:
            sums[request["path"]] = [(origin, float(value)) for origin, value in found]
    return sums


class Share(NamedTuple):
    """Part of a file that is read: `n_read` of `n_counted` events; `of_weights`: fraction of the
    sum of weights, if Runs covers exactly the events of the file."""

    n_read: int
    n_counted: int
    of_weights: float | None = None


class WantedWeights(NamedTuple):
    """Entries [first, last) of a file that are read."""

    path: str
    tree: str
    n_entries: int
    pieces: Sequence[tuple[int, int]]


def shares_of_weights(wanted: Iterable[WantedWeights], sums: StoredSums) -> dict[str, float]:
    """Fraction of each file's sum of weights in the entries read. Omits files whose events have
    another sum than Runs, being a skim, or have no weights. Read in helper processes. Raises
    InputError."""
    requests: list[dict[str, Any]] = [
        {**each._asdict(), "weights": WEIGHT, "pieces": [list(p) for p in each.pieces]}
        for each in wanted
    ]
    shares = {}
    for request, (read, total, magnitude) in found_by_workers(requests, "weights"):
        told = math.fsum(value for _, value in sums[request["path"]])
        if total and abs(total - told) <= _SAME * magnitude:
            shares[request["path"]] = read / total
    return shares


def total_of(sums: StoredSums, shares: Mapping[str, Share] | None = None) -> float:
    """Total of `sums_of_weights` over files, scaled to the events read (no shares: all are): sums
    carried to several files count once. Files without events count like the average of the
    others."""
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
