"""Lumi accounting: the lumis processed, from the ledgers and not from the plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.destinations import datasets_in
from forkrun.base.durable import read_json, write_json
from forkrun.base.lumis import (
    Integers,
    Keys,
    LumiCounts,
    distinct,
    lumi_keys,
    number_keys,
    runs_and_lumis,
)
from forkrun.base.regular_file import read_regular
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.nodes import read_commits


class LumiAccounting(Struct, frozen=True, eq=False):
    """Disjoint sets of lumis, together all input accepted by the mask. `processed`: every event in
    the input was processed; `failed`: some events were left out because they crash the child;
    `not_finished`: the rest."""

    processed: Keys
    failed: Keys
    not_finished: Keys


class EventsOfUnits(Protocol):
    """`run`, `lumi`, `n_events` : (n,) of the units of a plan."""

    @property
    def run(self) -> Integers: ...
    @property
    def lumi(self) -> Integers: ...
    @property
    def n_events(self) -> Integers: ...


def account(
    in_input: LumiCounts, commits: Iterable[Commit], units: EventsOfUnits | None = None
) -> LumiAccounting:
    """Accounts for all lumis. `in_input`: lumis of the input within the mask, each once; `units`:
    of the plan, for commits of several units. Pure."""
    keys = lumi_keys(in_input.run, in_input.lumi)
    order = np.argsort(keys)
    keys, n_wanted = keys[order], in_input.n_events[order]
    read, n_events, failed = _committed(commits, units)
    firsts, number = number_keys(read)
    n_of_lumi = np.zeros(len(firsts), dtype=np.int64)
    np.add.at(n_of_lumi, number, n_events)
    places = np.searchsorted(keys, read[firsts])
    is_known = np.append(keys, 0)[places] == read[firsts]
    n_read = np.zeros(len(keys) + 1, dtype=np.int64)
    n_read[places[is_known]] = n_of_lumi[is_known]
    has_failed = np.isin(keys, failed)
    is_processed = (n_read[:-1] == n_wanted) & ~has_failed
    return LumiAccounting(keys[is_processed], failed, keys[~is_processed & ~has_failed])


def _committed(
    commits: Iterable[Commit], units: EventsOfUnits | None
) -> tuple[Keys, Integers, Keys]:
    """Lumis and numbers of events of all committed units, and lumis with events left out."""
    single: list[tuple[int, int, int]] = []
    failed: set[tuple[int, int]] = set()
    keys, n_events = [], []
    for commit in commits:
        if commit.n_units > 1 and units is not None:
            keys.append(lumi_keys(units.run[commit.places], units.lumi[commit.places]))
            n_events.append(units.n_events[commit.places])
        else:
            single.append((commit.run, commit.lumi, commit.n_events))
        if commit.skipped:
            failed.add((commit.run, commit.lumi))
    run, lumi, n = np.array(single, dtype=np.int64).reshape(-1, 3).T
    of_failed = np.array(sorted(failed), dtype=np.int64).reshape(-1, 2).T
    return (
        np.concatenate([lumi_keys(run, lumi), *keys]),
        np.concatenate([n, *n_events]),
        lumi_keys(*of_failed),
    )


def golden_json(lumis: Keys) -> dict[str, list[list[int]]]:
    """Sorted, inclusive ranges: {"run": [[first lumi, last lumi], …], …}."""
    run, lumi = runs_and_lumis(distinct(lumis))
    joined = (run[1:] == run[:-1]) & (lumi[1:] == lumi[:-1] + np.uint64(1))
    begins = np.flatnonzero(np.concatenate([np.ones(min(len(run), 1), np.bool_), ~joined]))
    ends = np.append(begins, len(run))[1:] - 1
    runs: dict[str, list[list[int]]] = {}
    columns = (run[begins].tolist(), lumi[begins].tolist(), lumi[ends].tolist())
    for number, first, last in zip(*columns, strict=True):
        runs.setdefault(str(number), []).append([first, last])
    return runs


def write_lumi_accounting(
    folder: RunDirectory,
    units: EventsOfUnits,
    commits: Sequence[Commit] | None = None,
    in_input: LumiCounts | None = None,
) -> None:
    """Writes processedLumis.json, failedLumis.json and notFinishedLumis.json of a run directory;
    with several datasets, a folder of each name with one file per dataset. `units`: of the job's
    plan; `commits`, and lumis `in_input`: if known."""
    if in_input is None:
        in_input = LumiCounts.of(json.loads(read_regular(folder.input_lumis)))
    commits = read_commits(folder) if commits is None else commits
    datasets = datasets_in(read_json(folder.config))
    if not datasets:
        _write(folder, account(in_input, commits, units))
    for number, (name, _) in datasets.items():
        of_dataset = [commit for commit in commits if commit.dataset == number]
        own = in_input.where(in_input.dataset == number)
        _write(folder, account(own, of_dataset, units), name)


def _write(folder: RunDirectory, accounting: LumiAccounting, dataset: str = "") -> None:
    for kind, lumis in asdict(accounting).items():
        write_json(folder.lumis(kind, dataset), golden_json(lumis), indent=None)
