"""Events read and selected from each dataset of a job with several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.base.destinations import DatasetApart, datasets_in
from forkrun.base.lumis import Integers, Keys, lumi_keys, number_keys
from forkrun.base.quantities import plural
from forkrun.monitoring.records import RunRecords
from forkrun.rundir.ledger import Commit


class DatasetCounts(Struct, frozen=True):
    """`n_events_written`: by label of the output; `sum_of_weights`: of all generated events, None
    if unknown, or for data."""

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


class _Planned(Struct, frozen=True, eq=False):
    """Columns of the plan. `dataset_of_file`, `dataset_of_unit`: numbers, -1 for a unit without
    events; `n_events`: by number of the dataset; `lumis`: (n_units,) run and lumi in one number."""

    dataset_of_file: Integers
    dataset_of_unit: Integers
    n_events: Integers
    lumis: Keys

    @classmethod
    def of(cls, plan: Mapping[str, Any], n_datasets: int) -> _Planned:
        names = ("file", "first", "last", "first_range")
        file, first, last, first_range = (_column(plan, name) for name in names)
        dataset_of_file = np.array(plan.get("datasets", ()), dtype=np.int64)
        dataset_of_range = dataset_of_file[file] if len(dataset_of_file) else np.full_like(file, -1)
        dataset_of_unit = np.full(max(len(first_range) - 1, 0), -1)
        has_events = first_range[:-1] < first_range[1:]
        dataset_of_unit[has_events] = dataset_of_range[first_range[:-1][has_events]]
        n_events = np.zeros(n_datasets, dtype=np.int64)
        is_known = dataset_of_range >= 0
        np.add.at(n_events, dataset_of_range[is_known], (last - first)[is_known])
        return cls(dataset_of_file, dataset_of_unit, n_events, lumis_of_plan(plan))


def count_datasets(records: RunRecords) -> tuple[DatasetCounts, ...]:
    """Counts of each dataset read, in order; empty unless there are several."""
    datasets = datasets_in(records.config)
    if not datasets:
        return ()
    planned = _Planned.of(records.plan, max(datasets) + 1)
    written: dict[str, Counter[int]] = {}
    for output in records.config.get("outputs", ()):
        of_label = written.setdefault(output["label"], Counter())
        for number, part in records.written(output["label"]):
            of_label[number] += part.n_events
    return tuple(_counts(records, planned, written, *each) for each in datasets.items())


def _counts(
    records: RunRecords,
    planned: _Planned,
    written: Mapping[str, Counter[int]],
    number: int,
    dataset: DatasetApart,
) -> DatasetCounts:
    commits = [commit for commit in records.commits if commit.dataset == number]
    sums = records.datasets.get("sums_of_weights") or {}
    return DatasetCounts(
        name=dataset.name,
        is_data=dataset.is_data,
        n_files=int((planned.dataset_of_file == number).sum()),
        n_events_planned=int(planned.n_events[number]),
        n_events_read=sum(commit.n_events for commit in commits),
        n_events_left_out=sum(len(commit.skipped) for commit in commits),
        n_lumis_planned=len(number_keys(planned.lumis[planned.dataset_of_unit == number])[0]),
        n_lumis_committed=n_lumis(planned.lumis, commits),
        sum_of_weights=None if dataset.is_data else sums.get(dataset.name),
        n_events_written={label: n[number] for label, n in written.items()},
    )


def warnings_of_low_yields(records: RunRecords) -> Iterator[str]:
    """Warnings about simulated events left out after weights had been made with the sum of weights
    of all events."""
    if not records.config.get("job", {}).get("luminosity"):
        return
    names = dict(enumerate(records.config.get("datasets") or ()))
    planned = _Planned.of(records.plan, len(names))
    late = any(line.details.get("left_out_late") for line in records.timeline)
    for number, dataset in names.items():
        commits = [commit for commit in records.commits if commit.dataset == number]
        n_lost = sum(len(commit.skipped) for commit in commits)
        n_planned = int(planned.n_events[number])
        if late:
            n_lost += n_planned - sum(commit.n_events for commit in commits)
        if n_lost and not dataset.get("is_data"):
            yield (
                f'"{dataset["name"]}": {n_lost:,} of {plural(n_planned, "event")}'
                f" {'is' if n_lost == 1 else 'are'} left out, which its sum of weights counts: its"
                " yields are too low by their share"
            )


def _column(plan: Mapping[str, Any], name: str) -> Integers:
    return np.asarray(plan.get("units", {}).get(name, ()), dtype=np.int64)


def lumis_of_plan(plan: Mapping[str, Any]) -> Keys:
    """(n_units,) run and lumi of each unit in one number."""
    return lumi_keys(_column(plan, "run"), _column(plan, "lumi"))


def n_lumis(keys: Keys, commits: Iterable[Commit]) -> int:
    """Number of lumis with committed units; those of different datasets are never the same. `keys`:
    (n_units,) of the plan."""
    of_datasets: dict[int, list[Commit]] = {}
    for commit in commits:
        of_datasets.setdefault(commit.dataset, []).append(commit)
    return sum(_count_lumis(keys, own) for own in of_datasets.values())


def _count_lumis(keys: Keys, commits: Sequence[Commit]) -> int:
    first = np.array([(line.run, line.lumi) for line in commits], dtype=np.int64).reshape(-1, 2)
    of_several = [keys[line.places] for line in commits if line.n_units > 1]
    firsts, _ = number_keys(np.concatenate([lumi_keys(*first.T), *of_several]))
    return len(firsts)
