"""Cost of each column: reading, unzipping and decoding, one column at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter

from msgspec import Struct

from forkrun import _core
from forkrun.formats.registry import format_named
from forkrun.studies.columns.opened import Blocks, OpenedFile

PARTS = ("read_s", "unzip_s", "decode_s")
_DEEPER = 0.7
"""A longer common prefix replaces a group if its columns have this share of the group's cost."""


class ColumnCost(Struct, frozen=True):
    """One column, all of its blocks. `decode_s`: the rest; `n_unzipped`: baskets or pages."""

    read_s: float
    unzip_s: float
    decode_s: float
    n_unzipped: int
    read_bytes: int

    @property
    def time_s(self) -> float:
        return self.read_s + self.unzip_s + self.decode_s


def column_costs(file: OpenedFile, blocks: Blocks) -> dict[str, ColumnCost]:
    """Costs of each column, read by this thread alone from a file that is opened once."""
    opened = format_named(file.index.format).opened(file.index.path, file.tree)
    return {name: _cost(opened.read, name, blocks) for name, _ in file.columns}


def _cost(read: Callable[..., object], name: str, blocks: Blocks) -> ColumnCost:
    before, begin_s = _core.byte_costs(), time.perf_counter()
    for first, last in blocks:
        read([name], first, last)
    time_s, after = time.perf_counter() - begin_s, _core.byte_costs()
    (n_reads, n_bytes, read_s), (n_unzipped, _, unzip_s) = (
        tuple(a - b for a, b in zip(after[kind], before[kind], strict=True))
        for kind in ("read", "unzip")
    )
    del n_reads
    decode_s = max(time_s - read_s - unzip_s, 0.0)
    return ColumnCost(read_s, unzip_s, decode_s, int(n_unzipped), int(n_bytes))


def what_is_slow(costs: Mapping[str, float]) -> tuple[str, float]:
    """Pattern of the most expensive columns' names, and their share of the total cost: the most
    expensive collection, or fewer of its columns if they make up nearly all of its cost."""
    names = _dearest(costs, [*costs], lambda name: name.partition("_")[0])
    while len(names) > 1:
        n_common = len(_common_start(names))
        within = _dearest(costs, names, itemgetter(slice(n_common + 1)))
        if _sum(costs, within) < _DEEPER * _sum(costs, names):
            break
        names = within
    whole = _sum(costs, costs)
    share = _sum(costs, names) / whole if whole else 0.0
    return (names[0] if len(names) == 1 else f"{_common_start(names)}*"), share


def _dearest(
    costs: Mapping[str, float], names: Sequence[str], group_of: Callable[[str], str]
) -> list[str]:
    """Names of the most expensive group."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(group_of(name), []).append(name)
    return max(groups.values(), key=lambda group: _sum(costs, group))


def _sum(costs: Mapping[str, float], names: Iterable[str]) -> float:
    return sum(costs[name] for name in names)


def _common_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((at for at, (a, b) in pairs if a != b), len(first))]


def total(costs: Iterable[ColumnCost], part: str) -> float:
    """Sum of one part over columns."""
    return float(sum(getattr(cost, part) for cost in costs))
