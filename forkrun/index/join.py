"""Search for the partners of entries in a friend, in a helper process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun._core import KeyIndex
from forkrun.formats import format_of
from forkrun.index.partners import NONE, SEVERAL

_READ_AT_ONCE = 1 << 22
Keys = list[npt.NDArray[np.uint64]]


def find_partners(request: dict[str, Any]) -> dict[str, Any]:
    """`files`: the columns of the `Partners` of each input file, as bytes."""
    by = request["by"]
    index = KeyIndex(len(by))
    ends = []
    for path, tree, n_entries, _ in request["friends"]:
        for _, keys in _read(path, tree, n_entries, list(by.values())):
            index.add(keys)
        ends.append(len(index))
    found = []
    for path, tree, n_entries, _ in request["inputs"]:
        parts = [
            _partners(index, keys, begin, ends, takes_first=request["takes_first"])
            for begin, keys in _read(path, tree, n_entries, list(by))
        ]
        columns = zip(*parts, strict=True) if parts else [[np.empty(0, np.int64)]] * 4
        found.append([np.concatenate(column).tobytes() for column in columns])
    return {"files": found}


def _read(path: str, tree: str, n_entries: int, names: Sequence[str]) -> Iterator[tuple[int, Keys]]:
    """First entry and keys of each part; negative numbers have the bits of ROOT's branches with
    another sign."""
    if not n_entries:
        return
    opened = format_of(path).opened(path, tree)
    for begin in range(0, n_entries, _READ_AT_ONCE):
        columns = opened.read(names, begin, min(begin + _READ_AT_ONCE, n_entries))
        values = [np.asarray(columns[name]) for name in names]
        yield begin, [each.astype(np.int64).view(np.uint64) for each in values]


def _partners(
    index: KeyIndex, keys: Keys, begin: int, ends: Sequence[int], *, takes_first: bool
) -> tuple[npt.NDArray[Any], ...]:
    """First entry, number of the friend's file, entry there and repeat flag of each sequence, which
    never crosses a file of the friend."""
    first, entry, repeats = index.partners(keys, takes_first)
    n = len(keys[0])
    last = np.append(first[1:], n)
    in_a_row = (entry >= 0) & (repeats == 0)
    file = np.searchsorted(ends, entry, side="right")
    last_file = np.searchsorted(ends, entry + (last - first) - 1, side="right")
    crosses = np.flatnonzero(in_a_row & (last_file > file))
    for place in crosses[::-1].tolist():
        inner = np.asarray(ends[file[place] : last_file[place]])
        inner = np.unique(inner[inner > entry[place]])
        first = np.insert(first, place + 1, first[place] + inner - entry[place])
        entry = np.insert(entry, place + 1, inner)
        repeats = np.insert(repeats, place + 1, 0)
    file = np.searchsorted(ends, entry, side="right")
    begins = np.concatenate(([0], ends))[:-1] if len(ends) else np.zeros(1, np.int64)
    has_some = entry >= 0
    within = np.where(has_some, entry - begins[np.where(has_some, file, 0)], 0)
    numbers = np.where(has_some, file, np.where(entry == NONE, NONE, SEVERAL))
    return first + begin, numbers.astype(np.int32), within.astype(np.int64), repeats
