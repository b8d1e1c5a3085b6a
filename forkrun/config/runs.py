"""Ranges of runs, as source.runs names them: "362001-362100,362200"."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_MOST = (1 << 32) - 1
_RANGE = re.compile(r"\s*(\d+)\s*(?:[-–]\s*(\d+)\s*)?", re.ASCII)
_FORM = 'write runs, and ranges with both ends included: "362001-362100,362200"'


def parse_runs(text: str) -> tuple[tuple[int, int], ...]:
    """First and last run of each range, both included, rising and apart from each other. Raises
    ValueError, which names the wrong part."""
    ranges = sorted(_range(part) for part in text.split(","))
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and first <= joined[-1][1] + 1:
            first, last = joined[-1][0], max(joined.pop()[1], last)
        joined.append((first, last))
    return tuple(joined)


def _range(part: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(part)
    if match is None:
        what = f'"{part.strip()}" is not a run' if part.strip() else "a part is empty"
        raise ValueError(f"{what}; {_FORM}")
    first, last = int(match[1]), int(match[2] or match[1])
    if first > last:
        raise ValueError(f'"{part.strip()}" ends before it begins; {_FORM}')
    if last > _MOST:
        raise ValueError(f'"{part.strip()}": runs are numbers up to {_MOST:,}')
    return first, last


def _checked(text: str) -> str:
    parse_runs(text)
    return text


Runs = Annotated[str, AfterValidator(_checked)]
