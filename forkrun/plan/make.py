"""From the index to the units of work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forkrun.base.lumis import Integers, Keys, lumi_keys
from forkrun.config import Distribution, JobConfig, MergeOrder
from forkrun.index import FileIndex, LumiRanges
from forkrun.plan.distribute import by_lumi, by_turns
from forkrun.plan.guided import LEAST, UnitSizes, cut_for_all
from forkrun.plan.lumi_mask import LumiMask
from forkrun.plan.model import Plan
from forkrun.plan.pieces import Pieces
from forkrun.plan.select import Selected, Selection, select


def make_plan(config: JobConfig, index: Sequence[FileIndex], mask: LumiMask | None = None) -> Plan:
    """The plan of a job. Pure: the same arguments give the same plan."""
    return plan_selected(config, select_events(config, LumiRanges.of(index), mask), index)


def select_events(config: JobConfig, ranges: LumiRanges, mask: LumiMask | None = None) -> Selected:
    """What a job is to process, however it is shared."""
    return select(ranges, Selection(mask, config.source.skip_events, config.source.max_events))


def plan_selected(config: JobConfig, selected: Selected, index: Sequence[FileIndex]) -> Plan:
    """The plan for events that `select_events` has found."""
    ranks, n_lumis = lumi_ranks(selected.lumi_key, config.merge.order)
    pieces = _distribute(config, selected, ranks, index)
    piece_ranks = _ranks_of(pieces, selected, ranks)
    return Plan(
        distribution=config.forking.distribution.value,
        children=config.forking.children,
        n_events=selected.n_events,
        n_lumis=n_lumis,
        files=tuple(file.path for file in index),
        units=pieces.units(piece_ranks),
        digest=selected.digest,
        identities=tuple(file.identity for file in index),
    )


def lumi_ranks(lumi_key: Keys, order: MergeOrder) -> tuple[Integers, int]:
    """(n_ranges,) place of each range's lumi among all lumis, and their number: as they first
    appear in the input, or by (run, lumi)."""
    keys, first, lumi = np.unique(lumi_key, return_index=True, return_inverse=True)
    if order is MergeOrder.LUMI:
        return lumi.astype(np.int64), len(keys)
    rank = np.empty(len(keys), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(keys))
    return rank[lumi], len(keys)


def _distribute(
    config: JobConfig, selected: Selected, ranks: Integers, index: Sequence[FileIndex]
) -> Pieces:
    forking, n_events = config.forking, selected.n_events
    children = max(forking.children, 1)
    match forking.distribution:
        case Distribution.GUIDED:
            least, most = forking.min_unit_events or LEAST, forking.max_unit_events
            sizes = UnitSizes(n_events, least, most)
            return cut_for_all(selected, ranks, sizes, [file.clusters for file in index])
        case Distribution.LUMI:
            return by_lumi(selected, children)
        case Distribution.ROUND_ROBIN:
            return by_turns(selected, children, forking.events_per_turn)
        case Distribution.CONTIGUOUS:
            return by_turns(selected, children, max(1, -(-n_events // children)))


def _ranks_of(pieces: Pieces, selected: Selected, ranks: Integers) -> Integers:
    """(n_pieces,) place of each piece's lumi."""
    keys, first = np.unique(selected.lumi_key, return_index=True)
    places = np.searchsorted(keys, lumi_keys(pieces.run, pieces.lumi))
    result: Integers = ranks[first][places]
    return result
