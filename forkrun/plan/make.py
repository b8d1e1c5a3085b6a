"""From the index to the units of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forkrun._core import EventDigest
from forkrun.config import Distribution, JobConfig, MergeOrder
from forkrun.index import FileIndex, LumiRange
from forkrun.plan.distribute import Piece, Selected, by_lumi, by_turns
from forkrun.plan.lumi_mask import LumiMask
from forkrun.plan.model import EntryRange, Plan, Unit, joined


@dataclass(frozen=True)
class Selection:
    """Which events of the input to process: the mask first, then the count."""

    mask: LumiMask | None = None
    skip_events: int = 0
    max_events: int | None = None


def make_plan(config: JobConfig, index: Sequence[FileIndex], mask: LumiMask | None = None) -> Plan:
    """The plan of a job. Pure: the same arguments give the same plan."""
    selection = Selection(mask, config.source.skip_events, config.source.max_events)
    selected, digest = select(index, selection)
    n_events = sum(s.n_events for s in selected)
    pieces = _distribute(config, selected, n_events)
    return Plan(
        distribution=config.forking.distribution.value,
        children=config.forking.children,
        n_events=n_events,
        n_lumis=len({(s.run, s.lumi) for s in selected}),
        files=tuple(file.path for file in index),
        units=_units(pieces, config.merge.order),
        digest=digest,
    )


def select(index: Sequence[FileIndex], selection: Selection) -> tuple[list[Selected], str | None]:
    """The selected ranges in input order, and the digest of their events if the index knows it."""
    selected: list[Selected] = []
    digest, whole = EventDigest(), True
    to_skip, left = selection.skip_events, selection.max_events
    for number, r in _good_ranges(index, selection.mask):
        first = min(r.last, r.first + to_skip)
        last = r.last if left is None else min(r.last, first + left)
        to_skip -= first - r.first
        left = None if left is None else left - (last - first)
        if first == last:
            continue
        selected.append(Selected(r.run, r.lumi, EntryRange(number, first, last)))
        whole = whole and (first, last) == (r.first, r.last)
        digest = digest + EventDigest(r.last - r.first, r.digest)
    return selected, digest.hex if whole else None


def _good_ranges(
    index: Sequence[FileIndex], mask: LumiMask | None
) -> Iterator[tuple[int, LumiRange]]:
    for number, file in enumerate(index):
        for r in file.ranges:
            if mask is None or mask.accepts(r.run, r.lumi):
                yield number, r


def _distribute(config: JobConfig, selected: list[Selected], n_events: int) -> Iterator[Piece]:
    children = max(config.forking.children, 1)
    match config.forking.distribution:
        case Distribution.LUMI:
            return by_lumi(selected, children)
        case Distribution.ROUND_ROBIN:
            return by_turns(selected, children, config.forking.events_per_turn)
        case Distribution.CONTIGUOUS:
            return by_turns(selected, children, max(1, -(-n_events // children)))


def _units(pieces: Iterator[Piece], order: MergeOrder) -> tuple[Unit, ...]:
    """One unit per (lumi, child), in merge order. No event at all gives one empty unit, so that
    outputs exist with their branches."""
    parts: dict[tuple[int, int], dict[int, list[EntryRange]]] = {}
    for p in pieces:
        parts.setdefault((p.run, p.lumi), {}).setdefault(p.child, []).append(p.range)
    lumis = sorted(parts) if order is MergeOrder.LUMI else list(parts)
    keys = [(lumi, child) for lumi in lumis for child in sorted(parts[lumi])]
    units = tuple(
        Unit(number, child, *lumi, joined(parts[lumi][child]))
        for number, (lumi, child) in enumerate(keys)
    )
    return units or (Unit(0, 0, 0, 0, ()),)
