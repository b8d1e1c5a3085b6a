"""Which lumis were processed: what a job leaves for those who keep account of data. All of it
follows from the ledgers, not from what was meant."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forkrun.index import FileIndex
from forkrun.merge import Commit, read_ledgers
from forkrun.plan import LumiMask
from forkrun.run_directory import RunDirectory, write_json

Lumi = tuple[int, int]
"""Run and lumi."""


@dataclass(frozen=True)
class Books:
    """Disjoint sets; together all lumis of the input that the mask accepts. `processed`: every
    event that the input has of them; `failed`: events of them were left out, because they kill
    whoever processes them; `not_finished`: the rest."""

    processed: frozenset[Lumi]
    failed: frozenset[Lumi]
    not_finished: frozenset[Lumi]


def balance(in_input: Mapping[Lumi, int], commits: Iterable[Commit]) -> Books:
    """`in_input`: events by lumi of the input within the mask. Pure."""
    n_read: Counter[Lumi] = Counter()
    failed: set[Lumi] = set()
    for commit in commits:
        n_read[commit.run, commit.lumi] += commit.n_events
        if commit.skipped:
            failed.add((commit.run, commit.lumi))
    processed = {lumi for lumi, n in in_input.items() if n_read[lumi] == n} - failed
    rest = in_input.keys() - processed - failed
    return Books(frozenset(processed), frozenset(failed), frozenset(rest))


def count_lumis(index: Sequence[FileIndex], mask: LumiMask | None) -> dict[Lumi, int]:
    """Events by lumi of the input within the mask, in order of the input."""
    counts: dict[Lumi, int] = {}
    for file in index:
        for r in file.ranges:
            if mask is None or mask.accepts(r.run, r.lumi):
                counts[r.run, r.lumi] = counts.get((r.run, r.lumi), 0) + r.last - r.first
    return counts


def lumis_to_json(counts: Mapping[Lumi, int]) -> dict[str, Any]:
    """As columns."""
    runs, lumis = zip(*counts, strict=True) if counts else ((), ())
    return {"run": runs, "lumi": lumis, "n_events": list(counts.values())}


def golden_json(lumis: Iterable[Lumi]) -> dict[str, list[list[int]]]:
    """{"run": [[first lumi, last lumi], …], …}, both included, sorted."""
    runs: dict[int, list[list[int]]] = {}
    for run, lumi in sorted(lumis):
        ranges = runs.setdefault(run, [])
        if ranges and lumi == ranges[-1][1] + 1:
            ranges[-1][1] = lumi
        else:
            ranges.append([lumi, lumi])
    return {str(run): ranges for run, ranges in runs.items()}


def write_books(folder: RunDirectory) -> None:
    """processedLumis.json, failedLumis.json and notFinishedLumis.json of a run directory."""
    columns = json.loads(folder.input_lumis.read_bytes())
    lumis = zip(columns["run"], columns["lumi"], strict=True)
    in_input = dict(zip(lumis, columns["n_events"], strict=True))
    books = balance(in_input, read_ledgers(folder.ledger))
    write_json(folder.path / "processedLumis.json", golden_json(books.processed), indent=None)
    write_json(folder.path / "failedLumis.json", golden_json(books.failed), indent=None)
    write_json(folder.path / "notFinishedLumis.json", golden_json(books.not_finished), indent=None)
