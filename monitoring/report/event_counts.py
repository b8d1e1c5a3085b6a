"""Numbers of events planned, read and written, of the whole job and of each dataset, and their
verification by digests; which run computed each result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, convert

from forkrun.base.destinations import DatasetApart, Destination, datasets_in, destinations_in
from forkrun.base.lumis import Integers, Keys, lumi_keys, number_keys
from forkrun.base.quantities import plural
from forkrun.monitoring.records import RunRecords, Written
from forkrun.rundir.ledger import Commit
from forkrun.rundir.results import Origin, origins_of, summed_counts


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


DIGEST_MODULUS = 1 << 128


class OutputCounts(Struct, frozen=True):
    """One output, or its part of one dataset (`label`: LABEL/DATASET): events committed by the
    units, and those in the merged file (None: not merged)."""

    label: str
    n_events_written: int
    digest_written: str
    n_bytes_written: int
    n_events_merged: int | None
    digest_merged: str | None
    n_bytes_merged: int | None
    agree: bool | None
    written_anew: tuple[str, ...] = ()
    """Branches of objects whose entries could not be copied as bytes: rewritten by ROOT."""
    compression: str = "auto"
    """Configured compression."""
    n_events_read: int = 0
    """Events that could be selected: those of its dataset, if it has one."""


class LeftOut(Struct, frozen=True):
    """An event that crashes the child. `event`: RUN:LUMI:EVENT. To try it again, alone: `forkrun
    run RUNDIR/config.json --only RUN:LUMI:EVENT --children 0`."""

    event: str
    file: str
    entry: int
    cause: str


class EventCounts(Struct, frozen=True):
    """Counts and digests of a job. None: unknown, since the job ended before. `n_events_dropped`:
    not planned, as duplicates in the input; `n_events_without_partner`: not planned, as a friend
    has no entry for them. `digests_agree`: between planned and read events; None while units are
    missing."""

    n_events_planned: int | None
    n_events_read: int
    n_events_left_out: int
    left_out: tuple[LeftOut, ...]
    n_events_dropped: int
    n_events_without_partner: int
    n_units_planned: int | None
    n_units_committed: int
    n_lumis_planned: int | None
    n_lumis_committed: int
    n_files: int | None
    digest_planned: str | None
    digest_read: str
    digests_agree: bool | None
    outputs: tuple[OutputCounts, ...]
    not_finite: dict[str, int]
    """By histogram (MODULE/NAME) filled with them: infinite or NaN values in its sums."""
    nan_fills: dict[str, int]
    """By histogram (MODULE/NAME), number of NaN values filled, into the overflow."""

    @property
    def is_partial(self) -> bool:
        """Units are missing: read events cannot equal planned ones."""
        return _is_partial(self.n_units_committed, self.n_units_planned)

    @property
    def complete(self) -> bool:
        """Every planned event was read, and merged outputs equal written ones."""
        return (
            self.n_events_read + self.n_events_left_out == self.n_events_planned
            and self.digests_agree is not False
            and all(output.agree is not False for output in self.outputs)
        )


def count_events(records: RunRecords) -> EventCounts:
    """Adds up the ledgers and compares them with the plan and the merge."""
    plan, ledger = records.plan, records.commits
    n_read = sum(line.n_events for line in ledger)
    n_units = sum(line.n_units for line in ledger)
    digest = add_digests(line.digest for line in ledger)
    left_out = [
        LeftOut(f"{unit.run}:{unit.lumi}:{event.event}", event.file, event.entry, event.cause)
        for unit in ledger
        for event in unit.skipped
    ]
    covered = add_digests([digest, *(line.skipped_digest for line in ledger)])
    planned, n_planned = plan.get("digest"), plan.get("n_events")
    return EventCounts(
        n_events_planned=n_planned,
        n_events_read=n_read,
        n_events_left_out=len(left_out),
        left_out=tuple(left_out),
        n_events_dropped=plan.get("n_dropped", 0),
        n_events_without_partner=plan.get("n_without_partner", 0),
        n_units_planned=plan.get("n_units"),
        n_units_committed=n_units,
        n_lumis_planned=plan.get("n_lumis"),
        n_lumis_committed=n_lumis(lumis_of_plan(plan), ledger),
        n_files=len(plan["files"]) if plan else None,
        digest_planned=planned,
        digest_read=digest,
        digests_agree=(
            None
            if planned is None or _is_partial(n_units, plan.get("n_units"))
            else (planned, n_planned) == (covered, n_read + len(left_out))
        ),
        outputs=tuple(_output(records, each) for each in _destinations(records)),
        not_finite=_not_finite(records),
        nan_fills=records.earlier.nan_fills(
            summed_counts(commit.nan_fills for commit in records.ledger)
        ),
    )


def _is_partial(n_committed: int, n_planned: int | None) -> bool:
    return n_planned is not None and n_committed < n_planned


def add_digests(digests: Iterable[str]) -> str:
    """Digest of the union of disjoint sets of events: the sum modulo 2**128, as 32 hex digits."""
    return f"{sum(int(digest, 16) for digest in digests) % DIGEST_MODULUS:032x}"


def _destinations(records: RunRecords) -> list[Destination]:
    """Outputs in the configuration's order, then those known only from a ledger."""
    configured = destinations_in(records.config)
    known = {each.label for each in configured}
    labels = dict.fromkeys(label for line in records.ledger for label in line.outputs)
    written = filter(records.earlier.has_output, labels)
    return configured + [Destination(label, label) for label in written if label not in known]


def _output(records: RunRecords, destination: Destination) -> OutputCounts:
    label = destination.label
    lines = [line for line in records.commits if destination.has(line.dataset)]
    parts = [part for number, part in records.written(label) if destination.has(number)]
    n_events = sum(part.n_events for part in parts)
    digest = add_digests(part.digest for part in parts if part.digest)
    merged = _merged(records).get(destination.name)
    return OutputCounts(
        label=destination.name,
        n_events_written=n_events,
        digest_written=digest,
        n_bytes_written=sum(part.n_bytes for part in parts),
        n_events_merged=merged.n_events if merged else None,
        digest_merged=merged.digest if merged else None,
        n_bytes_merged=merged.n_bytes if merged else None,
        agree=_agree(merged, n_events, digest) if merged else None,
        written_anew=merged.written_anew if merged else (),
        compression=_compression(records, label),
        n_events_read=sum(line.n_events for line in lines),
    )


def _compression(records: RunRecords, label: str) -> str:
    outputs = records.config.get("outputs", [])
    output: dict[str, Any] = next((each for each in outputs if each["label"] == label), {})
    return "zstd" if output.get("format") == "parquet" else output.get("compression") or "auto"


def _agree(merged: Written, n_events: int, digest: str) -> bool:
    """Whether counts and digests agree; a file without event ids has no digest: then only its
    number of events counts."""
    return merged.n_events == n_events and merged.digest in (None, digest)


def _not_finite(records: RunRecords) -> dict[str, int]:
    end = records.last("merge_end")
    found = end.details.get("not_finite") if end else None
    return dict(found) if isinstance(found, Mapping) else {}


def _merged(records: RunRecords) -> Mapping[str, Written]:
    """Results of each output in "merge_end"."""
    end = records.last("merge_end")
    outputs = end.details.get("outputs") if end else None
    if not isinstance(outputs, Mapping):
        return {}
    return {label: convert(output, Written) for label, output in outputs.items()}


class ResultOrigins(Struct, frozen=True):
    """A histogram, output or cutflow. `runs`: the runs that processed its events; the last one is
    the present run, unless the result `is_kept`. `digests_agree`: whether these events are those
    that the whole job has read, each once; None: unknown."""

    name: str
    is_kept: bool
    runs: tuple[Origin, ...]
    digests_agree: bool | None


def summarize_results(records: RunRecords, events: EventCounts) -> tuple[ResultOrigins, ...]:
    """The results of a job that keeps stored ones; empty if nothing is stored or requested."""
    earlier = records.earlier
    covered = _digests(records.commits)
    found = []
    for result in earlier.run.results:
        is_kept = earlier.run.keeps(*result.key)
        parts, own = earlier.parts_of(result), () if is_kept else records.ledger
        digest = add_digests([*(part.events for part in parts), *_digests(own)])
        is_unknown = events.is_partial or (is_kept and not parts)
        runs = (*origins_of(parts), *_of_this_run(own))
        agree = None if is_unknown else digest == add_digests(covered)
        found.append(ResultOrigins(result.name, is_kept, runs, agree))
    return tuple(found)


def _digests(commits: Sequence[Commit]) -> list[str]:
    return [digest for c in commits for digest in (c.digest, c.skipped_digest)]


def _of_this_run(commits: Sequence[Commit]) -> list[Origin]:
    n_events = Counter[str]()
    for commit in commits:
        n_events[commit.build] += commit.n_events
    end_s = max((commit.end_s for commit in commits), default=0.0)
    return [Origin(end_s, build, n) for build, n in n_events.items()]
