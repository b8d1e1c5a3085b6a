"""`forkrun measure columns`: cost of each column, and speed of threads relative to the limit set by
columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.quantities import duration, percent, plural
from forkrun.formats.registry import format_named
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.passes import (
    Blocks,
    OpenedFile,
    Pass,
    alternate,
    halves,
    read_apart,
    read_together,
)
from forkrun.studies.frame.repeats import Repeated, Row, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study, published

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
    (_, n_bytes, read_s), (n_unzipped, _, unzip_s) = (
        tuple(a - b for a, b in zip(after[kind], before[kind], strict=True))
        for kind in ("read", "unzip")
    )
    decode_s = max(time_s - read_s - unzip_s, 0.0)
    return ColumnCost(read_s, unzip_s, decode_s, int(n_unzipped), int(n_bytes))


def most_expensive(costs: Mapping[str, float]) -> tuple[str, float]:
    """Pattern of the most expensive columns' names, and their share of the total cost: the most
    expensive collection, or fewer of its columns if they make up nearly all of its cost."""
    names = _most_expensive_group(costs, [*costs], lambda name: name.partition("_")[0])
    while len(names) > 1:
        n_common = len(_common_start(names))
        within = _most_expensive_group(costs, names, itemgetter(slice(n_common + 1)))
        if _sum(costs, within) < _DEEPER * _sum(costs, names):
            break
        names = within
    whole = _sum(costs, costs)
    share = _sum(costs, names) / whole if whole else 0.0
    return (names[0] if len(names) == 1 else f"{_common_start(names)}*"), share


def _most_expensive_group(
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


ONE, COLUMNS_ = "one thread", "columns of a block in parallel"
TOGETHER, ALTERNATE, HALVES = "blocks in parallel", "even and odd blocks", "halves of the file"
EACH = "each column by itself"
COLUMNS = (
    Column("time_s", "time", "time"),
    Column("speedup", "×", "ratio"),
    Column("of_best", "of the best", "share"),
    Column("times", "unzipped ×", "ratio"),
    Column("read_s", "read", "time"),
    Column("unzip_s", "unzip", "time"),
    Column("decode_s", "decode", "time"),
    Column("share", "of all", "share"),
)
_MOST_ROWS = 12
_SHORT_S = 0.05


def measure_columns(
    path: str, tree: str, names: Sequence[str], n_threads: int, n_repeats: int, *, quiet: bool
) -> Study:
    """Measures these columns for all events of the file. Raises InputError."""
    file = OpenedFile.of(path, tree, names)
    blocks = file.blocks()
    costs: list[dict[str, ColumnCost]] = []
    passes: dict[str, list[Pass]] = {}

    def each() -> Mapping[str, float]:
        costs.append(column_costs(file, blocks))
        parts = {part: total(costs[-1].values(), part) for part in PARTS}
        return {"time_s": sum(parts.values()), **parts}

    def once(name: str, read: partial[Pass]) -> Mapping[str, float]:
        passes.setdefault(name, []).append(read())
        return {"time_s": passes[name][-1].time_s}

    ways = {
        ONE: partial(read_together, file, 1, 1),
        COLUMNS_: partial(read_together, file, n_threads, 1),
        TOGETHER: partial(read_together, file, n_threads, n_threads),
        ALTERNATE: partial(read_apart, file, alternate(blocks, n_threads)),
        HALVES: partial(read_apart, file, halves(file, blocks, n_threads)),
    }
    rows, load = measure_ways(
        {EACH: each, **{name: partial(once, name, read) for name, read in ways.items()}},
        n_repeats, quiet=quiet,
    )  # fmt: skip
    best_s = [_best_s(one, n_threads) for one in passes[ONE]]
    shown = {name: _with_ratios(rows[name], passes, best_s) for name in ways}
    mean = {
        name: replace(
            first, **{part: median(getattr(each[name], part) for each in costs) for part in PARTS}
        )
        for name, first in costs[0].items()
    }
    remarks = _remarks(file, blocks, n_threads, passes[ONE], best_s)
    return Study(
        "columns", Path(path).name, COLUMNS,
        {**shown, EACH: rows[EACH], **{row.name: row for row in _column_rows(mean)}}, load,
        _conclusions(shown, mean), remarks, _figures(shown, mean, passes[ONE], best_s),
        _plot(shown, Path(path).name, n_threads),
    )  # fmt: skip


def _best_s(one: Pass, n_threads: int) -> float:
    """Best possible wall time of parallel columns: the slowest column, or an equal share per
    thread; the time of one thread outside columns is added unchanged."""
    columns = one.columns_s.values()
    outside_s = max(one.time_s - sum(columns), 0.0)
    return outside_s + max(max(columns, default=0.0), sum(columns) / n_threads)


def _with_ratios(row: Row, passes: Mapping[str, list[Pass]], best_s: Sequence[float]) -> Row:
    """Adds ratios to one thread, repeat by repeat."""
    (one_s, one_bytes), (own_s, own_bytes) = (_repeated(passes[n]) for n in (ONE, row.name))
    row = row.plus(speedup=one_s.over(own_s), times=own_bytes.over(one_bytes))
    if row.name == COLUMNS_:
        return row.plus(of_best=Repeated(tuple(best_s)).over(own_s))
    return row


def _repeated(passes: Sequence[Pass]) -> tuple[Repeated, Repeated]:
    """Times, and bytes read (at least 1)."""
    n_bytes = tuple(float(each.read_bytes or 1) for each in passes)
    return Repeated(tuple(each.time_s for each in passes)), Repeated(n_bytes)


def _column_rows(costs: Mapping[str, ColumnCost]) -> list[Row]:
    """The slowest columns, and the sum of all others."""
    whole_s = sum(cost.time_s for cost in costs.values()) or 1.0
    order = sorted(costs, key=lambda name: -costs[name].time_s)
    n_shown = _MOST_ROWS if len(order) > _MOST_ROWS + 1 else len(order)
    groups = {name: [costs[name]] for name in order[:n_shown]}
    if order[n_shown:]:
        rest = [costs[name] for name in order[n_shown:]]
        groups[plural(len(rest), "other column")] = rest
    return [
        Row(
            name,
            {
                **{part: Repeated((total(of, part),)) for part in PARTS},
                "time_s": Repeated((total(of, "time_s"),)),
                "share": Repeated((total(of, "time_s") / whole_s,)),
            },
        )
        for name, of in groups.items()
    ]


def _remarks(
    file: OpenedFile, blocks: Blocks, n_threads: int, one: Sequence[Pass], best_s: Sequence[float]
) -> list[str]:
    remarks = [
        f"{plural(file.index.n_entries, 'event')} in {plural(len(blocks), 'block')},"
        f" {plural(len(file.columns), 'column')}, {plural(n_threads, 'thread')};"
        f" best of columns in parallel: {duration(median(best_s))}; unzipped ×: what was read and"
        " unzipped, over what one thread needs"
    ]
    if median(each.time_s for each in one) < _SHORT_S:
        remarks.append("one thread reads this file in less than 50 ms: a larger file says more")
    if len(blocks) < n_threads:
        remarks.append("fewer blocks than threads: blocks in parallel say nothing of this file")
    return remarks


def _conclusions(rows: Mapping[str, Row], costs: Mapping[str, ColumnCost]) -> list[str]:
    lines = [
        f"columns of a block in parallel reach {percent(rows[COLUMNS_]['of_best'])} of the best",
        f"blocks in parallel: {rows[TOGETHER]['speedup']:.2f} ×; halves of the file, each by a"
        f" thread of its own: {rows[HALVES]['speedup']:.2f} ×",
    ]
    for part, word in (("unzip_s", "unzipping"), ("decode_s", "decoding"), ("read_s", "reading")):
        name, share = most_expensive({n: getattr(cost, part) for n, cost in costs.items()})
        lines.append(f"{name} {'are' if '*' in name else 'is'} {percent(share, 0)} of {word}")
    return lines


def _figures(
    rows: Mapping[str, Row],
    costs: Mapping[str, ColumnCost],
    one: Sequence[Pass],
    best_s: Sequence[float],
) -> list[Figure]:
    whole_s = total(costs.values(), "time_s") or 1.0
    values = [
        ("P3.1", "single-threaded", median(each.time_s for each in one)),
        ("P3.1", "slowest column", median(max(p.columns_s.values()) for p in one)),
        ("P3.1", "best possible", median(best_s)),
        ("P3.3", "columns in parallel, queue: speed-up", rows[COLUMNS_]["speedup"]),
        ("P3.3", "columns in parallel, queue: share of the best", rows[COLUMNS_]["of_best"]),
        ("P3.4", "two files, even and odd: speed-up", rows[ALTERNATE]["speedup"]),
        ("P3.6", "shared cache without waiting: speed-up", rows[TOGETHER]["speedup"]),
        ("P3.7", "share of unzipping", total(costs.values(), "unzip_s") / whole_s),
        ("P3.7", "share of decoding", total(costs.values(), "decode_s") / whole_s),
        ("P3.7", "unzipped, two files over single-threaded", rows[ALTERNATE]["times"]),
        ("P3.7", "unzipped, shared cache over single-threaded", rows[TOGETHER]["times"]),
        ("P3.8", "halves of the file: speed-up", rows[HALVES]["speedup"]),
    ]
    return [Figure.of(*value) for value in values]


def _plot(rows: Mapping[str, Row], name: str, n_threads: int) -> Plot:
    """Speed-ups of the ways, next to published values."""
    theirs = {
        COLUMNS_: published("P3.3", "columns in parallel, queue: speed-up"),
        TOGETHER: published("P3.6", "shared cache without waiting: speed-up"),
        ALTERNATE: published("P3.4", "two files, even and odd: speed-up"),
        HALVES: published("P3.8", "halves of the file: speed-up"),
    }
    ours = [
        (float(x), rows[way]["speedup"], rows[way].values["speedup"].noise)
        for x, way in enumerate(theirs)
    ]
    points = [(float(x), each.value) for x, each in enumerate(theirs.values())]
    ticks = ["columns", "blocks,\nshared", "even and odd\nblocks", "halves"]
    return Plot(
        "Reading columns with several threads", f"{name}, {plural(n_threads, 'thread')}",
        "what is parallel", "speed-up",
        [Curve("here", ours), Curve("libdispatch, 2 cores", points, theirs=True)],
        ticks=ticks, ideal=float(n_threads),
    )  # fmt: skip
