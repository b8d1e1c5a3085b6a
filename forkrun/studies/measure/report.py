"""Measured memory, and what became private, for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from forkrun.base.quantities import megabytes, percent, plural
from forkrun.studies.measure.memory import MemoryMeasurement
from forkrun.studies.measure.unshared import UnsharedMemory, why

_MOST_ROOTS = 8
NO_OWNER = "(no Python object)"


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


def print_unshared(unshared: UnsharedMemory, n_rows: int, console: Console) -> None:
    """Totals, a table by owner, and one by type and place."""
    sizes = sorted(unshared.by_child_bytes.values()) or [0]
    part = percent(unshared.private_bytes / max(unshared.at_fork_bytes, 1), 2)
    console.print(
        f"At the fork {unshared.n_children} children shared {megabytes(unshared.at_fork_bytes)} of"
        f" anonymous memory with their parent.\n"
        f"{megabytes(unshared.private_bytes)} of it ({part}) became private, on average;"
        f" from {megabytes(sizes[0])} to {megabytes(sizes[-1])}."
    )
    for line in imports_of_children(unshared):
        console.print(line)
    console.print(_owners(unshared))
    console.print(_rows(unshared, n_rows))


def imports_of_children(unshared: UnsharedMemory) -> list[str]:
    """What each child has imported for itself, in words."""
    lines = []
    for label, names in unshared.imports.items():
        who = f'module "{label}"' if label else "no module of the job"
        roots = list(dict.fromkeys(name.partition(".")[0] for name in names))
        some = ", ".join(roots[:_MOST_ROOTS]) + (", …" if len(roots) > _MOST_ROOTS else "")
        lines.append(
            f"{who} imported {plural(len(names), 'Python module')} in each child, after the fork:"
            f" {some}; import them at the top of its file, which the parent reads"
        )
    return lines


def _owners(unshared: UnsharedMemory) -> Table:
    table = Table(title="by owner, per child", title_justify="left")
    table.add_column("owner")
    for column in ("at the fork", "became private", "part"):
        table.add_column(column, justify="right")
    table.add_column("mostly after")
    for owner in unshared.owners:
        part = owner.private_bytes / owner.at_fork_bytes if owner.at_fork_bytes else None
        table.add_row(
            owner.owner or NO_OWNER,
            megabytes(owner.at_fork_bytes),
            megabytes(owner.private_bytes),
            percent(part),
            owner.after or "-",
        )
    return table


def _rows(unshared: UnsharedMemory, n_rows: int) -> Table:
    shown = [row for row in unshared.rows[:n_rows] if row.private_bytes]
    rest = [row for row in unshared.rows[len(shown) :] if row.private_bytes]
    left = f"and {len(rest)} more rows, {megabytes(sum(r.private_bytes for r in rest))}"
    table = Table(
        title="by type and place, per child", title_justify="left", caption=left if rest else None
    )
    for column in ("became private", "of"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("owner", "type", "where", "mostly after", "why, usually"):
        table.add_column(column, overflow="fold")
    for row in shown:
        table.add_row(
            megabytes(row.private_bytes),
            megabytes(row.at_fork_bytes),
            row.owner or NO_OWNER,
            row.type or "-",
            row.where,
            next(iter(row.after), "-"),
            why(row),
        )
    return table
