"""Makes a plan: from the index to the units of work.

With the distribution "guided", units that any idle child takes are large at first and small towards
the end, so that children finish together. Where units begin and end depends on the input and the
settings, never on the number of children.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.base.lumis import Integers, dataset_lumi_keys, number_keys
from forkrun.config.choices import Distribution, EventOrder
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError
from forkrun.index.model import FileIndex, LumiRanges
from forkrun.plan.model import ANY_CHILD, Plan
from forkrun.plan.select import LumiMask, Pieces, Selected, Selection, changes, select

_RUNS = 128
"""Runs of lumis that each child gets of what is left, at least, where lumis are dealt."""
_MOST_IN_RUN = 8192
"""Events of a run of lumis: what is paid for a stretch is little for them."""


def make_plan(
    config: JobConfig,
    index: Sequence[FileIndex],
    mask: LumiMask | None = None,
    ranges: LumiRanges | None = None,
) -> Plan:
    """The plan of a job. `ranges`: what counts of what the files hold, if it is not all of that.
    Pure: the same arguments give the same plan."""
    ranges = LumiRanges.of(index) if ranges is None else ranges
    return plan_selected(config, select_events(config, ranges, mask), index)


def select_events(config: JobConfig, ranges: LumiRanges, mask: LumiMask | None = None) -> Selected:
    """Work of a job, independent of how it is shared."""
    return select(ranges, Selection(mask, config.source.skip_events, config.source.max_events))


def plan_selected(config: JobConfig, selected: Selected, index: Sequence[FileIndex]) -> Plan:
    """The plan for events that `select_events` has found."""
    order, reason = order_of(config)
    datasets = np.array([file.dataset for file in index] or [0], dtype=np.int64)
    firsts, lumis = lumis_of(selected, datasets)
    ranks = ranks_of(selected, datasets, order, firsts, lumis)
    pieces = _distribute(config, selected, ranks, index)
    return Plan(
        distribution=config.forking.distribution.value,
        children=config.forking.children,
        n_events=selected.n_events,
        n_lumis=len(firsts),
        files=tuple(file.path for file in index),
        units=pieces.units(selected, ranks),
        digest=selected.digest,
        identities=tuple(file.identity for file in index),
        datasets=tuple(file.dataset for file in index) if config.datasets else (),
        trees=tuple(file.tree for file in index) if any(file.tree for file in index) else (),
        order=order.value,
        order_reason=reason,
        n_pieces=int(changes(lumis).sum()),
    )


def order_of(config: JobConfig) -> tuple[EventOrder, str]:
    """Order of a job's events, and why it is not that of the input; as far as it does not depend on
    modules. Raises ConfigError where that of the input was asked for, and something else needs
    whole lumis."""
    asked, needs = config.source.order, _needs_whole_lumis(config)
    if asked is EventOrder.INPUT and needs:
        raise ConfigError(f'source.order: {needs} needs "lumi" or "sorted", not "input"')
    if asked is EventOrder.AUTO:
        return (EventOrder.LUMI, needs) if needs else (EventOrder.INPUT, "")
    return asked, f'source.order = "{asked.value}"'


def _needs_whole_lumis(config: JobConfig) -> str:
    """Setting that needs whole lumis; "" if none does."""
    if config.forking.distribution is Distribution.LUMI:
        return 'forking.distribution = "lumi"'
    return next((f'output "{o.label}", per_lumi' for o in config.outputs if o.per_lumi), "")


def lumis_of(selected: Selected, datasets: Integers) -> tuple[Integers, Integers]:
    """Lumis of each dataset, numbered as they first appear in the input: the first range of each,
    and (n_ranges,) number of each range. `datasets` : (n_files,) number of the dataset of each
    file."""
    return number_keys(dataset_lumi_keys(selected.lumi_key, datasets[selected.file]))


def ranks_of(
    selected: Selected, datasets: Integers, order: EventOrder, firsts: Integers, lumis: Integers
) -> Integers:
    """(n_ranges,) place in the plan of the lumi of each range; in the order of the input, of the
    neighbouring ranges of one lumi. `firsts`, `lumis`: as `lumis_of` gives them."""
    if order is EventOrder.INPUT:
        return np.cumsum(changes(lumis)) - 1
    if order is EventOrder.LUMI:
        return lumis
    ordered = np.lexsort((selected.lumi_key[firsts], datasets[selected.file[firsts]]))
    rank = np.empty_like(ordered)
    rank[ordered] = np.arange(len(ordered))
    return rank[lumis]


def _distribute(
    config: JobConfig, selected: Selected, ranks: Integers, index: Sequence[FileIndex]
) -> Pieces:
    forking, n_events = config.forking, selected.n_events
    children = max(forking.children, 1)
    match forking.distribution:
        case Distribution.GUIDED:
            least, most = forking.min_unit_events or 1, forking.max_unit_events
            sizes = UnitSizes(n_events, least, most)
            return cut_for_all(selected, ranks, sizes, [file.clusters for file in index])
        case Distribution.LUMI:
            return by_lumi(selected, ranks, children)
        case Distribution.ROUND_ROBIN:
            return by_turns(selected, children, forking.events_per_turn)
        case Distribution.CONTIGUOUS:
            return by_turns(selected, children, max(1, -(-n_events // children)))


def by_lumi(selected: Selected, lumi_rank: Integers, children: int) -> Pieces:
    """Whole lumis, small ones in runs of neighbours: the largest first, each to the child with the
    fewest events so far; ties go to what comes first in the plan and the child with the lowest
    number. `lumi_rank` : (n_ranges,)."""
    lumi = np.unique(lumi_rank, return_inverse=True)[1]
    sizes = np.bincount(lumi, weights=selected.last - selected.first).astype(np.int64)
    firsts = _runs(sizes, children)
    run_sizes = np.add.reduceat(sizes, firsts) if len(firsts) else firsts
    child_of = np.repeat(_deal(run_sizes, children), np.diff(firsts, append=len(sizes)))
    child = child_of[lumi]
    source = np.arange(len(child))
    return Pieces(child, np.zeros_like(child), source, selected.first, selected.last)


def _runs(sizes: Integers, children: int) -> Integers:
    """First lumis of runs that are dealt as one: each a small part of what is left, so that the
    last are single lumis. `sizes` : (n_lumis,) events."""
    ends = np.cumsum(sizes)
    firsts, first, n_done = [], 0, 0
    while first < len(sizes):
        firsts.append(first)
        most = min((int(ends[-1]) - n_done) // (_RUNS * children), _MOST_IN_RUN)
        first = max(int(ends.searchsorted(n_done + most, side="right")), first + 1)
        n_done = int(ends[first - 1])
    return np.array(firsts, dtype=np.int64)


def _deal(sizes: Integers, children: int) -> Integers:
    """(n_runs,) child of each."""
    order = np.argsort(-sizes, kind="stable")
    loads = [(0, child) for child in range(children)]
    child_of = np.zeros(len(sizes), dtype=np.int64)
    for run, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        load, child = loads[0]
        child_of[run] = child
        heapq.heapreplace(loads, (load + size, child))
    return child_of


def by_turns(selected: Selected, children: int, per_turn: int) -> Pieces:
    """`per_turn` consecutive events of the sequence to child 0, the next to child 1, and so on."""
    n_events = selected.n_events
    begins = np.concatenate(([0], np.cumsum(selected.last - selected.first)))[:-1]
    firsts = np.union1d(begins, np.arange(0, n_events, per_turn))
    lasts = np.append(firsts, n_events)[1:]
    source = np.searchsorted(begins, firsts, side="right") - 1
    shift = selected.first[source] - begins[source]
    child = firsts // per_turn % children
    return Pieces(child, np.zeros_like(child), source, firsts + shift, lasts + shift)


_CHILDREN = 256
"""Children for which borders are fine enough. Fewer take more units at a time."""
_UNITS_LEFT = 12 * _CHILDREN
"""Units of the present size in what is left: so one whose events take ten times as long as the
others takes no longer than all that is left."""
_LAST_PART = 1 / 32
"""Part of a job that may be left while its last units are being processed."""
_SLACK = 1.25
"""Largest size of a unit over the wanted one, if it then ends with its lumi or a cluster."""


class UnitSizes(Struct, frozen=True):
    """How many events a unit should have where so many are left. `n_events`: of the job; `least`:
    of a unit of a lumi that is cut; `most`: of any unit."""

    n_events: int
    least: int = 1
    most: int | None = None

    def whole(self, n_left: Integers) -> Integers:
        """(n,) events up to which a lumi is one unit, where (n,) are left."""
        sizes = np.ceil((n_left + _LAST_PART * self.n_events) / _UNITS_LEFT)
        most: Integers = (_SLACK * np.maximum(sizes, self.least)).astype(np.int64)
        return np.minimum(most, self.limit)

    @property
    def limit(self) -> int:
        """Events that no unit exceeds."""
        return self.most or max(self.n_events, 1)

    def for_core(self) -> _core.UnitSizes:
        """The same for what cuts lumis."""
        return _core.UnitSizes(
            last=_LAST_PART * self.n_events,
            n_units_left=_UNITS_LEFT,
            slack=_SLACK,
            least=self.least,
            limit=self.limit,
        )


Clusters = Sequence[Sequence[int]]
"""First entry of each cluster, by file, in order, then the number of entries."""


def cut_for_all(
    selected: Selected, lumi_rank: Integers, sizes: UnitSizes, clusters: Clusters
) -> Pieces:
    """Whole lumis where they are small; others cut, at clusters where they begin near enough.
    `lumi_rank` : (n_ranges,) place in the plan of the lumi, or of the stretch of the input that is
    of one lumi."""
    order = np.argsort(lumi_rank, kind="stable")
    n_ranges_of = np.bincount(lumi_rank)
    n_events_of = np.zeros(len(n_ranges_of), dtype=np.int64)
    np.add.at(n_events_of, lumi_rank, selected.last - selected.first)
    n_left = sizes.n_events - (np.cumsum(n_events_of) - n_events_of)
    too_large = n_events_of > sizes.whole(n_left)
    is_cut = too_large[lumi_rank[order]]
    places = order[is_cut]
    cut = _core.cut_lumis(
        n_ranges_of[too_large],
        n_left[too_large],
        selected.file[places],
        selected.first[places],
        selected.last[places],
        clusters,
        sizes.for_core(),
    )
    source, part, first, last = cut.T
    whole = order[~is_cut]
    source = np.concatenate((whole, places[source]))
    return Pieces(
        child=np.full(len(source), ANY_CHILD, dtype=np.int64),
        part=np.concatenate((np.zeros(len(whole), dtype=np.int64), part)),
        source=source,
        first=np.concatenate((selected.first[whole], first)),
        last=np.concatenate((selected.last[whole], last)),
    )
