"""Text about measured memory, and about memory that became private."""

from __future__ import annotations

from msgspec import to_builtins

from forkrun.base.quantities import megabytes, percent, plural
from forkrun.monitoring.report.memory_detail import MemoryDetail
from forkrun.monitoring.report.parts import text_of
from forkrun.monitoring.report.sections import memory_detail
from forkrun.monitoring.tables import Table
from forkrun.studies.measure.memory import MemoryMeasurement


def print_measured(measured: MemoryMeasurement | MemoryDetail, n_rows: int) -> None:
    """Prints a result. `n_rows`: most rows of a table."""
    if isinstance(measured, MemoryDetail):
        print(text_of(memory_detail(to_builtins(measured), n_rows)))
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
