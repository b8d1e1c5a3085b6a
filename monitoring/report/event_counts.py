"""Numbers of events planned, read and written, and their verification by digests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, convert

from forkrun.base.destinations import Destination, destinations_in
from forkrun.monitoring.records import RunRecords, Written
from forkrun.monitoring.report.datasets import lumis_of_plan, n_lumis
from forkrun.rundir.results import summed_counts

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
