"""Unshared memory for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from forkrun.base.quantities import megabytes, percent
from forkrun.studies.measure.unshared import UnsharedMemory, why

NO_OWNER = "(no Python object)"


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
    console.print(_owners(unshared))
    console.print(_rows(unshared, n_rows))


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
