"""Sums of the weights of generated events, which NanoAOD has in the tree `Runs` of each file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from forkrun.errors import InputError
from forkrun.index.read import ask_workers

COLUMNS = ("genEventSumw", "genEventSumw_")
"""One of these, of NanoAOD's versions."""


def sums_of_weights(files: Iterable[str]) -> Mapping[str, float]:
    """By file; those without such a tree are left out. Read in helper processes. Raises
    InputError."""
    requests: list[dict[str, Any]] = [
        {"path": file, "tree": "Runs", "sum_of": COLUMNS} for file in dict.fromkeys(files) if file
    ]
    sums: dict[str, float] = {}
    for request, answer in ask_workers(requests):
        if "error" in answer:
            raise InputError(f"{request['path']}: the tree Runs: {answer['error']}")
        if answer["sum"] is not None:
            sums[request["path"]] = float(answer["sum"])
    return sums
