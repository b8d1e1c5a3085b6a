"""What a job with several datasets has read and selected of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.base.destinations import DatasetApart, are_mixed, datasets_in
from forkrun.base.lumis import Integers, Keys, lumi_keys, number_keys
from forkrun.monitoring.records import RunRecords
from forkrun.rundir.ledger import Commit


class DatasetCounts(Struct, frozen=True):
    """`n_events_written`: by label of the output; `sum_of_weights`: of all events that were
    generated, None if it is not known, or of data."""

    name: str
    is_data: bool
    n_files: int
    n_events_planned: int
    n_events_read: int
    n_events_left_out: int
    n_lumis_planned: int
    n_lumis_committed: int
    sum_of_weights: float | None
    n_events_written: dict[str, int]


def count_datasets(records: RunRecords) -> tuple[DatasetCounts, ...]:
    """Counts of each dataset that is read, in their order; none of a job without several."""
    return tuple(
        _counts(records, number, dataset) for number, dataset in datasets_in(records.config).items()
    )


def _counts(records: RunRecords, number: int, dataset: DatasetApart) -> DatasetCounts:
    commits = [commit for commit in records.ledger if commit.dataset == number]
    of_file = np.array(records.plan.get("datasets", ()), dtype=np.int64) == number
    keys = lumis_of_plan(records.plan)
    labels = [output["label"] for output in records.config.get("outputs", ())]
    written = [commit.outputs for commit in commits]
    return DatasetCounts(
        name=dataset.name,
        is_data=dataset.is_data,
        n_files=int(of_file.sum()),
        n_events_planned=_n_events(records.plan, of_file),
        n_events_read=sum(commit.n_events for commit in commits),
        n_events_left_out=sum(len(commit.skipped) for commit in commits),
        n_lumis_planned=len(number_keys(keys[_of_units(records.plan, of_file)])[0]),
        n_lumis_committed=n_lumis(keys, commits),
        sum_of_weights=None if dataset.is_data else _sums(records).get(dataset.name),
        n_events_written={
            label: sum(of[label].n_events for of in written if label in of) for label in labels
        },
    )


def _sums(records: RunRecords) -> Mapping[str, float]:
    return records.datasets.get("sums_of_weights") or {}


def _column(plan: Mapping[str, Any], name: str) -> Integers:
    return np.asarray(plan.get("units", {}).get(name, ()), dtype=np.int64)


def _n_events(plan: Mapping[str, Any], of_file: Any) -> int:
    """Events of files : (n_files,) whether a file counts."""
    file, first, last = (_column(plan, name) for name in ("file", "first", "last"))
    return int((last - first)[of_file[file]].sum()) if len(of_file) else 0


def _of_units(plan: Mapping[str, Any], of_file: Any) -> Any:
    """(n_units,) whether a unit is of such files."""
    file, first_range = _column(plan, "file"), _column(plan, "first_range")
    of_units = np.zeros(max(len(first_range) - 1, 0), dtype=np.bool_)
    has_events = first_range[:-1] < first_range[1:]
    of_units[has_events] = of_file[file[first_range[:-1][has_events]]]
    return of_units


def lumis_of_plan(plan: Mapping[str, Any]) -> Keys:
    """(n_units,) run and lumi of each unit in one number."""
    return lumi_keys(_column(plan, "run"), _column(plan, "lumi"))


def n_lumis(keys: Keys, commits: Iterable[Commit]) -> int:
    """Lumis of which units are committed; those of different datasets are never one. `keys`:
    (n_units,) of the plan."""
    of_datasets: dict[int, list[Commit]] = {}
    for commit in commits:
        of_datasets.setdefault(commit.dataset, []).append(commit)
    return sum(_n_of_one(keys, own) for own in of_datasets.values())


def _n_of_one(keys: Keys, commits: Sequence[Commit]) -> int:
    first = np.array([(line.run, line.lumi) for line in commits], dtype=np.int64).reshape(-1, 2)
    of_several = [keys[line.places] for line in commits if line.n_units > 1]
    firsts, _ = number_keys(np.concatenate([lumi_keys(*first.T), *of_several]))
    return len(firsts)


def no_sum_over(records: RunRecords) -> str:
    """Why the cutflows of datasets are not added; "" if they are, or there are not several. Events
    of simulated samples mean nothing together until they are weighed by their cross sections."""
    datasets = datasets_in(records.config).values()
    if are_mixed(datasets):
        return "data and simulation are not added"
    if all(each.is_data for each in datasets) or records.datasets.get("weights_are_normalised"):
        return ""
    return (
        "simulated datasets are not added: monitoring.cutflow_weight names no weight that is made"
        " of lumi_weight"
    )
