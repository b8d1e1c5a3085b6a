"""Golden JSON: which lumis are good for physics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.lumis import Integers
from forkrun.base.user_text import parse_json, short
from forkrun.errors import ConfigError
from forkrun.index.model import Flags, LumiRanges

Keys = npt.NDArray[np.uint64]
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
