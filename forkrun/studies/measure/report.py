"""Text about measured memory, and about memory that became private."""

from __future__ import annotations

from collections.abc import Iterator

from forkrun.base.quantities import megabytes, percent, plural
from forkrun.monitoring.report.parts import text_of
from forkrun.monitoring.tables import Table
from forkrun.studies.measure.memory import MemoryMeasurement
from forkrun.studies.measure.unshared import UnsharedMemory, why

_MOST_ROOTS = 8
NO_OWNER = "(no Python object)"


def print_measured(measured: MemoryMeasurement | UnsharedMemory, n_rows: int) -> None:
    """Prints a result. `n_rows`: most rows of a table."""
    if isinstance(measured, UnsharedMemory):
        _print_unshared(measured, n_rows)
    else:
        _print_memory(measured)


def _print_memory(measurement: MemoryMeasurement) -> None:
    """Prints memory per process, totals and saving."""
    print(text_of([_processes(measurement), _totals(measurement)]))
    print("\n" + "\n".join(conclusions(measurement)))


def _processes(measurement: MemoryMeasurement) -> Table:
    forked, separate = measurement.forked, measurement.separate
    processes = {
        "parent": forked.parent,
        f"one of {plural(forked.n_children, 'child')}": forked.children,
        "separate, before its events": separate.start,
        "separate, at most": separate.most,
    }
    names = ("private (USS)", "shared", "RSS", "anonymous", "its PSS")
    rows = [
        (name, memory.private_bytes, memory.shared_bytes, memory.rss_bytes,
         memory.anonymous_bytes, memory.pss_anonymous_bytes)
        for name, memory in processes.items()
    ]  # fmt: skip
    heads = ("", *(f"{name}:megabytes" for name in names))
    return Table.of(f"{measurement.name}: memory of a process", heads, rows)


def _totals(measurement: MemoryMeasurement) -> Table:
    n, mix = measurement.forked.n_children, measurement.separate.mix
    each = f"{megabytes(mix.shared_bytes)} shared, {megabytes(mix.private_bytes)} private each"
    forked = f"parent and {plural(n, 'child')}: PSS of anonymous memory + files once"
    rows = (
        (f"{plural(n, 'separate process')}: {_how(measurement)}", measurement.separate_bytes, ""),
        (f"ideal: {each}", mix.forked_bytes(n), percent(measurement.ideal_saving, 2)),
        (forked, measurement.forked_bytes, percent(measurement.saving, 2)),
    )
    return Table.of(f"memory of all {n}", ("", "together:megabytes", "saving:text"), rows)


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


def _print_unshared(unshared: UnsharedMemory, n_rows: int) -> None:
    """Prints totals, a table by owner, and one by type and place."""
    sizes = sorted(unshared.by_child_bytes.values()) or [0]
    part = percent(unshared.private_bytes / max(unshared.at_fork_bytes, 1), 2)
    print(
        f"At the fork {plural(unshared.n_children, 'child')} shared"
        f" {megabytes(unshared.at_fork_bytes)} of anonymous memory with their parent.\n"
        f"{megabytes(unshared.private_bytes)} of it ({part}) became private, on average;"
        f" from {megabytes(sizes[0])} to {megabytes(sizes[-1])}."
    )
    for line in imports_of_children(unshared):
        print(line)
    print("\n" + text_of([_owners(unshared), *_by_place(unshared, n_rows)]))


def imports_of_children(unshared: UnsharedMemory) -> list[str]:
    """Imports done by each child itself, in words."""
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
    heads = (
        "owner",
        "at the fork:megabytes",
        "became private:megabytes",
        "part:share",
        "mostly after",
    )
    rows = [
        (o.owner or NO_OWNER, o.at_fork_bytes, o.private_bytes,
         o.private_bytes / o.at_fork_bytes if o.at_fork_bytes else None, o.after or None)
        for o in unshared.owners
    ]  # fmt: skip
    return Table.of("by owner, per child", heads, rows)


def _by_place(unshared: UnsharedMemory, n_rows: int) -> Iterator[Table | str]:
    shown = [row for row in unshared.rows[:n_rows] if row.private_bytes]
    rest = [row for row in unshared.rows[len(shown) :] if row.private_bytes]
    sizes = ("became private:megabytes", "of:megabytes")
    heads = (*sizes, "owner", "type", "where", "mostly after", "why, usually")
    rows = [
        (row.private_bytes, row.at_fork_bytes, row.owner or NO_OWNER, row.type or None, row.where,
         next(iter(row.after), None), why(row))
        for row in shown
    ]  # fmt: skip
    yield Table.of("by type and place, per child", heads, rows)
    if rest:
        n_bytes = sum(row.private_bytes for row in rest)
        yield f"and {plural(len(rest), 'more row')}, {megabytes(n_bytes)}"
