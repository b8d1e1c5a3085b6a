"""Ways to share events among children that are fixed before they start. Each takes the
selected ranges in input order and gives the pieces of each child."""

from __future__ import annotations

import heapq

import numpy as np

from forkrun.base.lumis import Integers
from forkrun.plan.pieces import Pieces
from forkrun.plan.select import Selected


def by_lumi(selected: Selected, lumi_rank: Integers, children: int) -> Pieces:
    """Whole lumis: the largest first, each to the child with the fewest events so far; ties go to
    the lumi that comes first and the child with the lowest number. `lumi_rank` : (n_ranges,)."""
    _, first, lumi = np.unique(lumi_rank, return_index=True, return_inverse=True)
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, lumi, selected.last - selected.first)
    child = _deal(sizes, np.lexsort((first, -sizes)), children)[lumi]
    source = np.arange(len(child))
    return Pieces(child, np.zeros_like(child), source, selected.first, selected.last)


def _deal(sizes: Integers, order: Integers, children: int) -> Integers:
    loads = [(0, child) for child in range(children)]
    child_of = np.zeros(len(sizes), dtype=np.int64)
    for lumi, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        load, child = loads[0]
        child_of[lumi] = child
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
