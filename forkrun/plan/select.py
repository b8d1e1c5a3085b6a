"""Selected entries of the input, by the mask first (golden JSON: which lumis are good for physics),
then by count, pieces of them that become units, and numbers of events: of each file, of those that
a job reads, and of each lumi."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun._core import EventDigest
from forkrun.base.lumis import Integers, Keys, LumiCounts, dataset_lumi_keys, lumi_keys, number_keys
from forkrun.base.user_text import parse_json, short
from forkrun.errors import ConfigError
from forkrun.index.model import Flags, LumiRanges
from forkrun.plan.model import Units

_MOST = (1 << 32) - 1
"""The largest number of a run or lumi."""
_MOST_DIGITS = 20
_MOST_PROBLEMS = 10


class LumiMask(Struct, frozen=True):
    """`ranges`: run → sorted [first lumi, last lumi], both included, with gaps between them; None:
    all lumis. `runs`: sorted [first run, last run] of those that it accepts; None: all. `files`:
    numbers of the files for which it holds; None: all."""

    ranges: Mapping[int, tuple[tuple[int, int], ...]] | None
    runs: tuple[tuple[int, int], ...] | None = None
    files: tuple[int, ...] | None = None

    @classmethod
    def of(cls, runs: Mapping[int, Sequence[Sequence[int]]]) -> LumiMask:
        """Ranges in any order, overlapping or not."""
        return cls({run: _disjoint(ranges) for run, ranges in runs.items()})

    def accepts(self, run: npt.ArrayLike, lumi: npt.ArrayLike) -> Flags:
        """Whether each lumi is of one of the runs and in one of the ranges of its run, of any
        shape."""
        accepted = np.ones(np.broadcast(run, lumi).shape, dtype=np.bool_)
        if self.ranges is not None:
            accepted &= _is_within(_key(run, lumi), *_borders(self.ranges))
        if self.runs is not None:
            firsts, lasts = np.array([(0, 0), *self.runs], dtype=np.uint64).T
            accepted &= _is_within(np.asarray(run, dtype=np.uint64), firsts[1:], lasts)
        return accepted

    def has_runs(self, run: Integers) -> Flags:
        """Whether the mask has anything of each run."""
        listed = np.isin(run, list(self.ranges)) if self.ranges is not None else run >= 0
        return listed & replace(self, ranges=None).accepts(run, 0)


def _is_within(key: Keys, firsts: Keys, lasts: Keys) -> Flags:
    """Whether keys are in one of the ranges, both ends included, which rise; a 0 precedes the last
    ends."""
    place = np.searchsorted(firsts, key, side="right")
    return np.asarray((place > 0) & (key <= lasts[place]))


def _borders(of_runs: Mapping[int, tuple[tuple[int, int], ...]]) -> tuple[Keys, Keys]:
    """First and last keys of all ranges that can hold a lumi, rising; a 0 precedes the last."""
    rows = [
        (run, max(first, 0), min(last, _MOST))
        for run, ranges in sorted(of_runs.items())
        for first, last in ranges
        if run <= _MOST and first <= _MOST and last >= 0
    ]
    runs, firsts, lasts = np.array([(0, 0, 0), *rows], dtype=np.uint64).T
    return _key(runs, firsts)[1:], _key(runs, lasts)


def within(mask: LumiMask | None, ranges: LumiRanges) -> LumiRanges:
    """Ranges that the mask accepts; all if there is none."""
    if not mask:
        return ranges
    good = mask.accepts(ranges.run, ranges.lumi)
    if mask.files is not None:
        good |= ~np.isin(ranges.file, mask.files)
    return ranges.where(good)


def _key(run: npt.ArrayLike, lumi: npt.ArrayLike) -> Keys:
    """Run and lumi in one number, in the order of (run, lumi)."""
    return (np.asarray(run, dtype=np.uint64) << np.uint64(32)) | np.asarray(lumi, dtype=np.uint64)


def _disjoint(ranges: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    for first, last in sorted((r[0], r[1]) for r in ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return tuple(out)


def read_lumi_mask(file: str) -> LumiMask:
    """Reads {"run": [[first, last], …], …}. Raises ConfigError naming wrong entries."""
    try:
        data = parse_json(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"source.lumi_mask: cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        what = f"{file}: byte {error.start:,} is not valid UTF-8"
        raise ConfigError(f"source.lumi_mask: {what}") from None
    except ValueError as error:
        raise ConfigError(f"source.lumi_mask: {file} is not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise ConfigError(f'source.lumi_mask: {file}: write {{"run": [[first, last], …], …}}')
    problems = [text for run, ranges in data.items() for text in _problems(run, ranges)]
    problems += _named_twice(data)
    if problems:
        lines = [f"source.lumi_mask: {file}: {text}" for text in problems[:_MOST_PROBLEMS]]
        more = len(problems) - len(lines)
        raise ConfigError([*lines, *([f"source.lumi_mask: {file}: and {more} more"] * (more > 0))])
    return LumiMask.of({int(run): ranges for run, ranges in data.items()})


def _problems(run: str, ranges: object) -> Iterator[str]:
    if not _is_number(run):
        yield f"{short(run)} is not a run number"
    else:
        for pair in ranges if isinstance(ranges, list) else [ranges]:
            if not _is_range(pair):
                yield f"run {run}: {short(pair)} is not a range [first, last]"


def _named_twice(runs: Iterable[str]) -> Iterator[str]:
    """Runs of several keys, such as "1" and "001"."""
    first: dict[int, str] = {}
    for run in filter(_is_number, runs):
        before = first.setdefault(int(run), run)
        if before != run:
            yield f'run {int(run)} is listed twice, as "{before}" and "{run}"; join their ranges'


def _is_number(run: str) -> bool:
    return run.isascii() and run.isdecimal() and len(run) <= _MOST_DIGITS


def _is_range(pair: Any) -> bool:
    """Two integers in order; true and false are none."""
    integers = isinstance(pair, list) and len(pair) == 2 and all(type(v) is int for v in pair)
    return integers and bool(pair[0] <= pair[1])


class Selection(Struct, frozen=True):
    """Selection that a job asks for."""

    mask: LumiMask | None = None
    skip_events: int = 0
    max_events: int | None = None


class Selected(Struct, frozen=True):
    """Selected events: ranges of entries in input order, each of one lumi, as columns of equal
    length. `digest`: of their events; None if the index does not know it."""

    run: Integers
    lumi: Integers
    file: Integers
    first: Integers
    last: Integers
    digest: str | None

    @property
    def n_events(self) -> int:
        """Number of events in all ranges."""
        return int((self.last - self.first).sum())

    @property
    def lumi_key(self) -> Keys:
        """Run and lumi in one number, in the order of (run, lumi)."""
        return lumi_keys(self.run, self.lumi)


def select(ranges: LumiRanges, selection: Selection) -> Selected:
    """Pure."""
    ranges = within(selection.mask, ranges)
    if not selection.skip_events and selection.max_events is None:
        return _selected(ranges, ranges.first, ranges.last)
    n_events = ranges.n_events
    begin = np.cumsum(n_events) - n_events  # in the row of all events that the mask accepts
    total = int(n_events.sum())
    skipped = min(selection.skip_events, total)
    end = total if selection.max_events is None else min(skipped + selection.max_events, total)
    first = ranges.first + np.clip(skipped - begin, 0, n_events)
    last = ranges.first + np.clip(end - begin, 0, n_events)
    left = first < last
    return _selected(ranges.where(left), first[left], last[left])


def _selected(ranges: LumiRanges, first: Integers, last: Integers) -> Selected:
    """Entries [first, last) of these ranges."""
    is_whole = np.array_equal(first, ranges.first) and np.array_equal(last, ranges.last)
    digest = _hex(int(ranges.n_events.sum()), ranges.digest_of_all()) if is_whole else None
    return Selected(ranges.run, ranges.lumi, ranges.file, first, last, digest)


def _hex(count: int, digest: int) -> str:
    return EventDigest(count, f"{digest:032x}").hex


class Pieces(Struct, frozen=True):
    """Entries [first, last) of ranges of a selection, as columns in input order. `source`: the
    place of the range. Pieces of one rank with the same `child` and `part` are one unit."""

    child: Integers
    part: Integers
    source: Integers
    first: Integers
    last: Integers

    def units(self, selected: Selected, rank_of: Integers) -> Units:
        """Units in order of ranks, then of children, then of parts. If there is no piece at all,
        one empty unit, so that outputs have branches. `rank_of` : (n_ranges of the selection,)."""
        if not len(self.source):
            zero = np.zeros(1, dtype=np.int64)
            none = np.zeros(0, dtype=np.int64)
            return Units(zero, zero, zero, np.zeros(2, dtype=np.int64), none, none, none)
        child, part, source, first, last = self._in_order(rank_of)
        rank, file = rank_of[source], selected.file[source]
        begins_unit = changes(rank) | changes(child) | changes(part)
        begins_range = begins_unit | changes(file)
        begins_range[1:] |= last[:-1] != first[1:]
        firsts = np.flatnonzero(begins_range)
        lasts = np.append(firsts[1:], len(source)) - 1
        unit_firsts = np.flatnonzero(begins_unit)
        first_range = np.append(np.cumsum(begins_range)[unit_firsts] - 1, len(firsts))
        return Units(
            child=child[unit_firsts],
            run=selected.run[source[unit_firsts]],
            lumi=selected.lumi[source[unit_firsts]],
            first_range=first_range,
            file=file[firsts],
            first=first[firsts],
            last=last[lasts],
        )

    def _in_order(self, rank_of: Integers) -> Iterator[Integers]:
        """Columns in the order of units."""
        keys = (self.part, self.child, rank_of[self.source])
        order = slice(None) if _are_in_order(keys) else np.lexsort(keys)
        columns = (self.child, self.part, self.source, self.first, self.last)
        return (column[order] for column in columns)


def _are_in_order(keys: Sequence[Integers]) -> bool:
    """Whether rows rise by the last key, where that is the same by the one before it, and so on."""
    is_less = np.zeros(max(len(keys[0]) - 1, 0), dtype=np.bool_)
    for key in keys:
        is_less = (key[1:] < key[:-1]) | ((key[1:] == key[:-1]) & is_less)
    return not is_less.any()


def changes(column: npt.NDArray[Any]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) whether a value differs from the one before; true for the first."""
    differs = np.ones(len(column), dtype=np.bool_)
    differs[1:] = column[1:] != column[:-1]
    return differs


class EventCounts(Struct, frozen=True, eq=False):
    """(n_files,) each. `counted`: all but those without a partner in a friend, which are left out
    as by a filter; `left`: without those that are there before; `read`: of these what skip_events
    and max_events leave. A lumi mask holds for data, for which nobody asks."""

    counted: Integers
    left: Integers
    read: Integers

    @classmethod
    def of(cls, n_files: int, counted: LumiRanges, left: LumiRanges, units: Units) -> EventCounts:
        """Counts of a plan."""
        return cls(*(_by_file(ranges, n_files) for ranges in (counted, left, units)))


def _by_file(ranges: LumiRanges | Units, n_files: int) -> Integers:
    n_events = np.zeros(n_files, dtype=np.int64)
    np.add.at(n_events, ranges.file, ranges.last - ranges.first)
    return n_events


def count_lumis(
    ranges: LumiRanges, mask: LumiMask | None, datasets: Sequence[int] = ()
) -> LumiCounts:
    """Events of each lumi of each dataset within the mask, in order of the input. `datasets` :
    (n_files,) number of that of each file; none: they are one."""
    good = within(mask, ranges)
    of_file = np.array(datasets, dtype=np.int64)
    of_range = of_file[good.file] if datasets else np.zeros_like(good.run)
    first, lumi = number_keys(dataset_lumi_keys(good.lumi_key, of_range))
    n_events = np.zeros(len(first), dtype=np.int64)
    np.add.at(n_events, lumi, good.n_events)
    return LumiCounts(good.run[first], good.lumi[first], n_events, of_range[first])
