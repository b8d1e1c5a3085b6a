"""Intervals of validity: which payload of a condition belongs to which lumi. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.lumis import Keys, number_keys
from forkrun.base.quantities import plural
from forkrun.config.conditions import LAST, LumiId

_SHOWN_RUNS = 5


class Iov(NamedTuple):
    """An interval of validity: from `since` to `until`, (run, lumi) both; both are in it."""

    since: LumiId
    until: LumiId = (LAST, LAST)

    def __str__(self) -> str:
        if self == ALWAYS:
            return "always"
        since, until = _bound(self.since, 0), _bound(self.until, LAST)
        return f"since {since}" + (f" until {until}" if self.until[0] < LAST else "")


ALWAYS = Iov((0, 0))


def _bound(lumi: LumiId, whole: int) -> str:
    return str(lumi[0]) if lumi[1] == whole else f"{lumi[0]}:{lumi[1]}"


def close_intervals(iovs: Sequence[Iov]) -> list[Iov]:
    """Intervals in order; one that has no end of its own ends where the next begins."""
    ordered = sorted(iovs)
    closed = [
        iov._replace(until=_before(after.since)) if iov.until == (LAST, LAST) else iov
        for iov, after in pairwise(ordered)
    ]
    return closed + ordered[-1:]


def _before(lumi: LumiId) -> LumiId:
    return (lumi[0], lumi[1] - 1) if lumi[1] else (lumi[0] - 1, LAST)


def overlaps(iovs: Sequence[Iov]) -> Iterator[tuple[Iov, Iov]]:
    """Pairs that share a lumi. One without an end of its own ends where the next begins."""
    ordered = sorted(iovs)
    longest = None
    for place, iov in enumerate(ordered):
        if place and ordered[place - 1].since == iov.since:
            yield ordered[place - 1], iov
        elif longest and iov.since <= longest.until:
            yield longest, iov
        if iov.until != (LAST, LAST) and (longest is None or iov.until > longest.until):
            longest = iov


def keys_of(lumis: npt.NDArray[np.uint64]) -> Keys:
    """(n,) of (n, 2) runs and lumis: in their order."""
    return (lumis[:, 0] << np.uint64(32)) | lumis[:, 1]


def intervals_at(keys: Keys, iovs: Sequence[Iov]) -> npt.NDArray[np.int64]:
    """(n,) the number of the interval each lumi lies in; -1 - g where it lies in gap g, that is
    before interval g and after g - 1. `iovs` are in order and do not overlap."""
    since = keys_of(np.array([iov.since for iov in iovs], dtype=np.uint64).reshape(-1, 2))
    until = keys_of(np.array([iov.until for iov in iovs], dtype=np.uint64).reshape(-1, 2))
    number = np.searchsorted(since, keys, side="right") - 1
    in_gap = (number < 0) | (keys > until[number])
    return np.where(in_gap, -2 - number, number)


class IovTable(Struct, frozen=True):
    """The IOVs of a plan: the stretches of its lumis, in the order of run and lumi, in which no
    condition changes. They are numbered from 0."""

    of_unit: npt.NDArray[np.int32]
    """(n_units,) number of the IOV that the unit lies in; -1 for a unit without events."""
    intervals: tuple[Mapping[str, int], ...]
    """By IOV, the interval of each condition that holds in it."""
    first_lumis: tuple[LumiId, ...]
    """By IOV, its first lumi in the plan."""

    def of_units(self, lumis: Keys, n_events: npt.NDArray[np.int64]) -> IovTable:
        """The same IOVs for other units with the same lumis: (n_units,) each."""
        firsts = keys_of(np.array(self.first_lumis, dtype=np.uint64).reshape(-1, 2))
        of_unit = np.searchsorted(firsts, lumis, side="right") - 1
        of_unit[n_events == 0] = -1
        return replace(self, of_unit=of_unit.astype(np.int32))


def make_iov_table(
    lumis: Keys,
    n_events: npt.NDArray[np.int64],
    conditions: Mapping[str, Sequence[Iov]],
) -> tuple[IovTable, list[str]]:
    """The table of units with these lumis and numbers of events, (n_units,) each; with what is
    wrong: lumis for which a condition has no payload. Pure."""
    has_events = n_events > 0
    of_units = lumis[has_events]
    firsts, number = number_keys(of_units)
    ordered = np.argsort(of_units[firsts])
    keys = of_units[firsts[ordered]]
    found = {label: intervals_at(keys, iovs) for label, iovs in conditions.items()}
    problems = [
        problem
        for label, iovs in conditions.items()
        for problem in _missing(label, iovs, keys, found[label])
    ]
    changes = np.zeros(len(keys), dtype=bool)
    changes[:1] = True
    for numbers in found.values():
        changes[1:] |= numbers[1:] != numbers[:-1]
    firsts = np.flatnonzero(changes)
    of_lumi = np.empty(len(keys), dtype=np.int32)
    of_lumi[ordered] = np.cumsum(changes) - 1
    of_unit = np.full(len(lumis), -1, dtype=np.int32)
    of_unit[has_events] = of_lumi[number]
    intervals = tuple({label: int(found[label][at]) for label in found} for at in firsts)
    return IovTable(of_unit, intervals, tuple(_lumi(keys[at]) for at in firsts)), problems


def _lumi(key: np.uint64) -> LumiId:
    return int(key) >> 32, int(key) & LAST


def _missing(
    label: str, iovs: Sequence[Iov], keys: Keys, found: npt.NDArray[np.int64]
) -> Iterator[str]:
    for gap in sorted({int(-1 - number) for number in found[found < 0]}):
        lumis = [_lumi(key) for key in keys[found == -1 - gap]]
        yield (
            f'condition "{label}": the job processes {_shown(lumis)}, {_gap(iovs, gap)}; add an'
            " interval, or leave these lumis out with source.lumi_mask"
        )


def _gap(iovs: Sequence[Iov], gap: int) -> str:
    if gap == 0:
        return f"before its first interval ({iovs[0]})"
    if gap == len(iovs):
        return f"after its last interval ({iovs[-1]})"
    return f"in the gap between two of its intervals ({iovs[gap - 1]}; {iovs[gap]})"


def _shown(lumis: Sequence[LumiId]) -> str:
    runs: dict[int, list[int]] = {}
    for run, lumi in lumis:
        runs.setdefault(run, []).append(lumi)
    texts = [f"run {run} ({_lumis(of_run)})" for run, of_run in runs.items()]
    more = len(texts) - _SHOWN_RUNS
    return ", ".join(texts[:_SHOWN_RUNS]) + (f" and {plural(more, 'more run')}" if more > 0 else "")


def _lumis(lumis: Sequence[int]) -> str:
    if len(lumis) == 1:
        return f"lumi {lumis[0]}"
    return f"{plural(len(lumis), 'lumi')} from {lumis[0]} to {lumis[-1]}"
