"""`forkrun measure columns`: speed of threads relative to the limit set by columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from forkrun.base.quantities import duration, percent, plural
from forkrun.monitoring.tables import Column
from forkrun.studies.columns.costs import PARTS, ColumnCost, column_costs, total, what_is_slow
from forkrun.studies.columns.opened import Blocks, OpenedFile
from forkrun.studies.columns.ways import Pass, alternate, halves, read_apart, read_together
from forkrun.studies.frame.published import published
from forkrun.studies.frame.repeats import Repeated, Row, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study

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
    shown = [_with_ratios(row, passes, best_s) for row in rows[1:]]
    mean = {name: _median_cost([each[name] for each in costs]) for name in names}
    remarks = _remarks(file, blocks, n_threads, passes[ONE], best_s)
    return Study(
        "columns", Path(path).name, COLUMNS, [*shown, rows[0], *_column_rows(mean)], load,
        _conclusions(shown, mean), remarks, _figures(shown, mean, passes, best_s),
        _plot(shown, Path(path).name, n_threads),
    )  # fmt: skip


def _best_s(one: Pass, n_threads: int) -> float:
    """Best possible wall time of parallel columns: the slowest column, or an equal share per
    thread; the time of one thread outside columns is added unchanged."""
    columns = one.columns_s.values()
    beside_s = max(one.time_s - sum(columns), 0.0)
    return beside_s + max(max(columns, default=0.0), sum(columns) / n_threads)


def _with_ratios(row: Row, passes: Mapping[str, list[Pass]], best_s: Sequence[float]) -> Row:
    """Adds ratios to one thread, repeat by repeat."""
    (one_s, one_bytes), (own_s, own_bytes) = (_repeated(passes[n]) for n in (ONE, row.name))
    values = {**row.values, "speedup": one_s.over(own_s), "times": own_bytes.over(one_bytes)}
    if row.name == COLUMNS_:
        values["of_best"] = Repeated(tuple(best_s)).over(own_s)
    return Row(row.name, values)


def _repeated(passes: Sequence[Pass]) -> tuple[Repeated, Repeated]:
    """Times, and bytes read (at least 1)."""
    n_bytes = tuple(float(each.read_bytes or 1) for each in passes)
    return Repeated(tuple(each.time_s for each in passes)), Repeated(n_bytes)


def _median_cost(costs: Sequence[ColumnCost]) -> ColumnCost:
    read_s, unzip_s, decode_s = (median(getattr(c, part) for c in costs) for part in PARTS)
    return ColumnCost(read_s, unzip_s, decode_s, costs[0].n_unzipped, costs[0].read_bytes)


def _column_rows(costs: Mapping[str, ColumnCost]) -> list[Row]:
    """The slowest columns, and the sum of all others."""
    whole_s = sum(cost.time_s for cost in costs.values()) or 1.0
    order = sorted(costs, key=lambda name: -costs[name].time_s)
    n_shown = _MOST_ROWS if len(order) > _MOST_ROWS + 1 else len(order)
    groups = {name: [costs[name]] for name in order[:n_shown]}
    if order[n_shown:]:
        rest = [costs[name] for name in order[n_shown:]]
        groups[f"{len(rest)} other columns"] = rest
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
        f"{file.index.n_entries:,} events in {plural(len(blocks), 'block')},"
        f" {plural(len(file.columns), 'column')}, {plural(n_threads, 'thread')};"
        f" best of columns in parallel: {duration(median(best_s))}; unzipped ×: what was read and"
        " unzipped, over what one thread needs"
    ]
    if median(each.time_s for each in one) < _SHORT_S:
        remarks.append("one thread reads this file in less than 50 ms: a larger file says more")
    if len(blocks) < n_threads:
        remarks.append("fewer blocks than threads: blocks in parallel say nothing of this file")
    return remarks


def _conclusions(rows: Sequence[Row], costs: Mapping[str, ColumnCost]) -> list[str]:
    by_name = {row.name: row for row in rows}
    lines = [
        f"columns of a block in parallel reach {percent(by_name[COLUMNS_]['of_best'])} of the best",
        f"blocks in parallel: {by_name[TOGETHER]['speedup']:.2f} ×; halves of the file, each by a"
        f" thread of its own: {by_name[HALVES]['speedup']:.2f} ×",
    ]
    for part, word in (("unzip_s", "unzipping"), ("decode_s", "decoding"), ("read_s", "reading")):
        name, share = what_is_slow({n: getattr(cost, part) for n, cost in costs.items()})
        lines.append(f"{name} {'are' if '*' in name else 'is'} {percent(share, 0)} of {word}")
    return lines


def _figures(
    rows: Sequence[Row],
    costs: Mapping[str, ColumnCost],
    passes: Mapping[str, list[Pass]],
    best_s: Sequence[float],
) -> list[Figure]:
    by_name = {row.name: row for row in rows}
    one = passes[ONE]
    whole_s = total(costs.values(), "time_s") or 1.0
    return [
        Figure.of("P3.1", "single-threaded", median(each.time_s for each in one)),
        Figure.of("P3.1", "slowest column", median(max(p.columns_s.values()) for p in one)),
        Figure.of("P3.1", "best possible", median(best_s)),
        Figure.of("P3.3", "columns in parallel, queue: speed-up", by_name[COLUMNS_]["speedup"]),
        Figure.of(
            "P3.3", "columns in parallel, queue: share of the best", by_name[COLUMNS_]["of_best"]
        ),
        Figure.of("P3.4", "two files, even and odd: speed-up", by_name[ALTERNATE]["speedup"]),
        Figure.of("P3.6", "shared cache without waiting: speed-up", by_name[TOGETHER]["speedup"]),
        Figure.of("P3.7", "share of unzipping", total(costs.values(), "unzip_s") / whole_s),
        Figure.of("P3.7", "share of decoding", total(costs.values(), "decode_s") / whole_s),
        Figure.of("P3.7", "unzipped, two files over single-threaded", by_name[ALTERNATE]["times"]),
        Figure.of(
            "P3.7", "unzipped, shared cache over single-threaded", by_name[TOGETHER]["times"]
        ),
        Figure.of("P3.8", "halves of the file: speed-up", by_name[HALVES]["speedup"]),
    ]


def _plot(rows: Sequence[Row], name: str, n_threads: int) -> Plot:
    """Speed-ups of the ways, next to published values."""
    theirs = {
        COLUMNS_: published("P3.3", "columns in parallel, queue: speed-up"),
        TOGETHER: published("P3.6", "shared cache without waiting: speed-up"),
        ALTERNATE: published("P3.4", "two files, even and odd: speed-up"),
        HALVES: published("P3.8", "halves of the file: speed-up"),
    }
    by_name = {row.name: row for row in rows}
    ours = [
        (float(x), by_name[way]["speedup"], by_name[way].values["speedup"].noise)
        for x, way in enumerate(theirs)
    ]
    points = [(float(x), each.value) for x, each in enumerate(theirs.values())]
    ticks = ["columns", "blocks,\nshared", "even and odd\nblocks", "halves"]
    return Plot(
        "Reading columns with several threads", f"{name}, {n_threads} threads", "what is parallel",
        "speed-up", [Curve("here", ours), Curve("libdispatch, 2 cores", points, theirs=True)],
        ticks=ticks, ideal=float(n_threads),
    )  # fmt: skip
