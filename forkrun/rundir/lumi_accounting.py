"""Which lumis were processed: what a job leaves for those who keep account of data. All of it
follows from the ledgers, not from what was meant."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from forkrun.index import LumiRanges
from forkrun.index.ranges import Integers
from forkrun.plan import LumiMask, within
from forkrun.rundir.directory import RunDirectory, write_json
from forkrun.rundir.ledger import Commit, read_ledgers

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


@dataclass(frozen=True, eq=False)
class LumiCounts:
    """Events by lumi, as columns: a million lumis in some tens of megabytes. `run`, `lumi`,
    `n_events` : (n_lumis,)."""

    run: Integers
    lumi: Integers
    n_events: Integers

    def to_json(self) -> dict[str, list[int]]:
        """Still as columns."""
        return {name: column.tolist() for name, column in vars(self).items()}


def count_lumis(ranges: LumiRanges, mask: LumiMask | None) -> LumiCounts:
    """Of the input within the mask, in order of the input."""
    good = within(mask, ranges)
    _, first, lumi = np.unique(good.lumi_key, return_index=True, return_inverse=True)
    n_events = np.zeros(len(first), dtype=np.int64)
    np.add.at(n_events, lumi, good.n_events)
    order = np.argsort(first)
    first = first[order]
    return LumiCounts(good.run[first], good.lumi[first], n_events[order])


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
