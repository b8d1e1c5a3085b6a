"""A memory measurement for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from forkrun.base.quantities import megabytes, percent
from forkrun.studies.measure.memory import MemoryMeasurement


def print_memory(measurement: MemoryMeasurement, console: Console) -> None:
    """Memory per process, totals, saving."""
    console.print(_processes(measurement))
    console.print(_totals(measurement))
    for line in conclusions(measurement):
        console.print(line)


def _processes(measurement: MemoryMeasurement) -> Table:
    table = Table(title=f"{measurement.name}: memory of a process", title_justify="left")
    table.add_column("")
    for column in ("private (USS)", "shared", "RSS", "anonymous", "its PSS"):
        table.add_column(column, justify="right")
    forked, separate = measurement.forked, measurement.separate
    rows = (
        ("parent", forked.parent),
        (f"one of {forked.n_children} children", forked.children),
        ("separate, before its events", separate.start),
        ("separate, at most", separate.most),
    )
    for name, memory in rows:
        sizes = (
            memory.private_bytes, memory.shared_bytes, memory.rss_bytes, memory.anonymous_bytes,
            memory.pss_anonymous_bytes,
        )  # fmt: skip
        table.add_row(name, *map(megabytes, sizes))
    return table


def _totals(measurement: MemoryMeasurement) -> Table:
    n, mix = measurement.forked.n_children, measurement.separate.mix
    table = Table(title=f"memory of all {n}", title_justify="left")
    table.add_column("")
    for column in ("together", "saving"):
        table.add_column(column, justify="right")
    separate = measurement.separate_bytes
    table.add_row(f"{n} separate processes: {_how(measurement)}", megabytes(separate), "")
    ideal = (
        f"ideal: {megabytes(mix.shared_bytes)} shared, {megabytes(mix.private_bytes)} private each"
    )
    table.add_row(ideal, megabytes(mix.forked_bytes(n)), percent(measurement.ideal_saving, 2))
    forked = f"parent and {n} children: PSS of anonymous memory + files once"
    table.add_row(forked, megabytes(measurement.forked_bytes), percent(measurement.saving, 2))
    return table


def _how(measurement: MemoryMeasurement) -> str:
    separate, n = measurement.separate, measurement.forked.n_children
    if separate.n_processes >= n:
        return f"{n} × anonymous + files once"
    return f"{n} × anonymous + files once, measured with {separate.n_processes}"


def conclusions(measurement: MemoryMeasurement) -> list[str]:
    """Conclusions of the measurement, in words."""
    forked = measurement.forked
    reached, possible = measurement.saving, measurement.ideal_saving
    points = 100 * (possible - reached)
    least, most = megabytes(forked.min_private_bytes), megabytes(forked.max_private_bytes)
    lines = [
        f"saving {percent(reached, 2)} of {percent(possible, 2)} possible:"
        f" {abs(points):.2f} points {'below' if points >= 0 else 'above'} the ideal",
        f"private memory of a child: {least} to {most};"
        f" {megabytes(measurement.unshared_bytes)} more than it needs"
        " (forkrun measure unshared says which)",
    ]
    if measurement.reference is not None:
        mix = measurement.reference
        conditions, private = megabytes(mix.shared_bytes), megabytes(mix.private_bytes)
        allowed = percent(mix.ideal_saving(forked.n_children), 2)
        lines.append(
            f"reference case: {conditions} of conditions and {private} private alone would allow"
            f" {allowed}"
        )
    return lines
