"""Lumi accounting: which lumis were processed. All of it follows from the ledgers, not from the
plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forkrun.base.durable import write_json
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, read_ledgers

Lumi = tuple[int, int]
"""Run and lumi."""


@dataclass(frozen=True)
class LumiAccounting:
    """Disjoint sets; together all lumis of the input that the mask accepts. `processed`: every
    event that the input has of them; `failed`: events of them were left out, because they crash
    the child; `not_finished`: the rest."""

    processed: frozenset[Lumi]
    failed: frozenset[Lumi]
    not_finished: frozenset[Lumi]


@dataclass(frozen=True)
class UnitColumns:
    """(n_units,) of the units of a plan."""

    run: Sequence[int]
    lumi: Sequence[int]
    n_events: Sequence[int]


def _units_of(folder: RunDirectory) -> UnitColumns:
    units = json.loads(folder.plan.read_bytes())["units"]
    sizes = np.subtract(units["last"], units["first"])
    before = np.concatenate(([0], np.cumsum(sizes)))
    return UnitColumns(units["run"], units["lumi"], np.diff(before[units["first_range"]]).tolist())


def account(
    in_input: Mapping[Lumi, int], commits: Iterable[Commit], units: UnitColumns | None = None
) -> LumiAccounting:
    """`in_input`: events by lumi of the input within the mask; `units`: of the plan, for commits of
    several. Pure."""
    n_read: Counter[Lumi] = Counter()
    failed: set[Lumi] = set()
    for commit in commits:
        if commit.n_units > 1 and units is not None:
            for number in commit.units:
                n_read[units.run[number], units.lumi[number]] += units.n_events[number]
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


def write_lumi_accounting(folder: RunDirectory) -> None:
    """Writes processedLumis.json, failedLumis.json and notFinishedLumis.json of a run directory."""
    columns = json.loads(folder.input_lumis.read_bytes())
    lumis = zip(columns["run"], columns["lumi"], strict=True)
    in_input = dict(zip(lumis, columns["n_events"], strict=True))
    commits = read_ledgers(folder.ledger)
    has_stretches = any(commit.n_units > 1 for commit in commits)
    units = _units_of(folder) if has_stretches else None
    accounting = account(in_input, commits, units)
    write_json(folder.processed_lumis, golden_json(accounting.processed), indent=None)
    write_json(folder.failed_lumis, golden_json(accounting.failed), indent=None)
    write_json(folder.not_finished_lumis, golden_json(accounting.not_finished), indent=None)
