"""Golden JSON: which lumis are good for physics."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forkrun.errors import ConfigError


@dataclass(frozen=True)
class LumiMask:
    """`ranges`: run → sorted, disjoint [first lumi, last lumi], both included."""

    ranges: Mapping[int, tuple[tuple[int, int], ...]]

    @classmethod
    def of(cls, runs: Mapping[int, Sequence[Sequence[int]]]) -> LumiMask:
        """Ranges in any order, overlapping or not."""
        return cls({run: _disjoint(ranges) for run, ranges in runs.items()})

    def accepts(self, run: int, lumi: int) -> bool:
        """Whether the lumi is in one of the ranges of its run."""
        ranges = self.ranges.get(run, ())
        place = bisect_right(ranges, (lumi, 1 << 64)) - 1
        return place >= 0 and lumi <= ranges[place][1]


def _disjoint(ranges: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    for first, last in sorted((r[0], r[1]) for r in ranges):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return tuple(out)


def read_lumi_mask(file: str) -> LumiMask:
    """Of a file {"run": [[first, last], …], …}. Raises ConfigError naming the first wrong entry."""
    try:
        data = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"source.lumi_mask: cannot read {file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"source.lumi_mask: {file} is not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise ConfigError(f'source.lumi_mask: {file}: write {{"run": [[first, last], …], …}}')
    for run, ranges in data.items():
        _check(file, run, ranges)
    return LumiMask.of({int(run): ranges for run, ranges in data.items()})


def _check(file: str, run: str, ranges: object) -> None:
    if not run.isdecimal():
        raise ConfigError(f'source.lumi_mask: {file}: "{run}" is not a run number')
    for pair in ranges if isinstance(ranges, list) else [ranges]:
        if not _is_range(pair):
            raise ConfigError(
                f"source.lumi_mask: {file}: run {run}: {pair!r} is not a range [first, last]"
            )


def _is_range(pair: Any) -> bool:
    """Two integers in order; true and false are none."""
    integers = isinstance(pair, list) and len(pair) == 2 and all(type(v) is int for v in pair)
    return integers and bool(pair[0] <= pair[1])
