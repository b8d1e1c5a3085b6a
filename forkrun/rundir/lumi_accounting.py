"""Lumi accounting: which lumis were processed. All of it follows from the ledgers, not from the
plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from forkrun.base.dataclass import dataclass
from forkrun.base.durable import write_json
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.nodes import read_commits

Lumi = tuple[int, int]
"""Run and lumi."""
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LumiAccounting:
    """Disjoint sets; together all lumis of the input that the mask accepts. `processed`: every
    event that the input has of them; `failed`: events of them were left out, because they crash
    the child; `not_finished`: the rest."""

    processed: frozenset[Lumi]
    failed: frozenset[Lumi]
    not_finished: frozenset[Lumi]


class PlannedUnits(Protocol):
    """`run`, `lumi`, `n_events` : (n_units,) of the units of a plan."""

    @property
    def run(self) -> Integers: ...
    @property
    def lumi(self) -> Integers: ...
    @property
    def n_events(self) -> Integers: ...


def account(
    in_input: Mapping[Lumi, int], commits: Iterable[Commit], units: PlannedUnits | None = None
) -> LumiAccounting:
    """`in_input`: events by lumi of the input within the mask; `units`: of the plan, for commits of
    several. Pure."""
    n_read: Counter[Lumi] = Counter()
    failed: set[Lumi] = set()
    for commit in commits:
        if commit.n_units > 1 and units is not None:
            columns = (units.run, units.lumi, units.n_events)
            for run, lumi, n in zip(*(c[commit.places].tolist() for c in columns), strict=True):
                n_read[run, lumi] += n
        else:
            n_read[commit.run, commit.lumi] += commit.n_events
        if commit.skipped:
            failed.add((commit.run, commit.lumi))
    processed = {lumi for lumi, n in in_input.items() if n_read[lumi] == n} - failed
    rest = in_input.keys() - processed - failed
    return LumiAccounting(frozenset(processed), frozenset(failed), frozenset(rest))


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


def write_lumi_accounting(
    folder: RunDirectory, units: PlannedUnits, commits: Iterable[Commit] | None = None
) -> None:
    """Writes processedLumis.json, failedLumis.json and notFinishedLumis.json of a run directory.
    `units`: of the job's plan; `commits`: if they were read already."""
    columns = json.loads(folder.input_lumis.read_bytes())
    lumis = zip(columns["run"], columns["lumi"], strict=True)
    in_input = dict(zip(lumis, columns["n_events"], strict=True))
    accounting = account(in_input, read_commits(folder) if commits is None else commits, units)
    write_json(folder.processed_lumis, golden_json(accounting.processed), indent=None)
    write_json(folder.failed_lumis, golden_json(accounting.failed), indent=None)
    write_json(folder.not_finished_lumis, golden_json(accounting.not_finished), indent=None)
