"""What a fit chose, and from what."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from forkrun.base.quantities import megabytes, percent
from forkrun.studies.measure.fit import MARGIN, Fit, JobModel, Probe
from forkrun.studies.measure.slot import Slot


def print_fit(slot: Slot, model: JobModel, fit: Fit, console: Console) -> None:
    """Slot, probes, table, choice."""
    console.print(f"slot: {slot.cores.value:g} cores ({slot.cores.source})")
    console.print(f"      {megabytes(slot.memory.value)} ({slot.memory.source})")
    console.print(_probes(model.probes))
    console.print(_choices(fit))
    console.print(_conclusion(fit, slot, model))


def _probes(probes: Sequence[Probe]) -> Table:
    table = Table(title="probes, with one child", title_justify="left")
    for column in ("threads", "events/s", "shared", "private"):
        table.add_column(column, justify="right")
    for p in probes:
        sizes = megabytes(p.shared_bytes), megabytes(p.private_bytes)
        table.add_row(str(p.n_threads), f"{p.events_per_s:,.4g}", *sizes)
    return table


def _choices(fit: Fit) -> Table:
    table = Table(title="children × threads", title_justify="left")
    for column in ("", "children", "threads", "memory needed", "expected events/s", ""):
        table.add_column(column, justify="right")
    for row in fit.rows:
        table.add_row(
            "→" if row == fit.chosen else "",
            str(row.n_children),
            str(row.n_threads),
            megabytes(row.memory_bytes),
            f"{row.events_per_s:,.4g}",
            "" if row.fits else "too much memory",
        )
    return table


def _conclusion(fit: Fit, slot: Slot, model: JobModel) -> str:
    if fit.chosen is None:
        least = min(row.memory_bytes for row in fit.rows)
        return f"nothing fits: the least is {megabytes(least)}; ask for a larger slot"
    chosen = fit.chosen
    return (
        f"--children {chosen.n_children} --threads {chosen.n_threads}\n"
        f"memory has a margin of {percent(MARGIN, 0)}; {percent(model.serial_part)} of a child's"
        " time does not get shorter with more threads;\n"
        "how children slow each other down (memory bandwidth, disks) is not in this estimate"
    )
