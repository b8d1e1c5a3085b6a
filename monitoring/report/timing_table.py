"""Times of modules and of input columns for people."""

from __future__ import annotations

from textwrap import wrap

from forkrun.base.quantities import count, duration, percent, size
from forkrun.monitoring.report.tables import format_table
from forkrun.monitoring.timing.model import ColumnCost, InputCosts, ModuleTiming, Timing

MAX_MODULES = 12
MAX_STALLS = 5
MAX_COLUMNS = 12
_HEAD = ("module", "calls", "mean", "p95", "longest", "total", "CPU", "share")
_COLUMNS_HEAD = ("column", "reads", "bytes", "reading", "unzipping", "decoding", "time", "share")


def format_timing(timing: Timing, n_events_read: int) -> str:
    """The modules that took most, and which waited for which; ends with a newline.
    `n_events_read`: of the whole job."""
    total_s = sum(module.total_s for module in timing.modules)
    modules = sorted(timing.modules, key=lambda module: -module.total_s)
    rows = [_HEAD, *(_row(module, total_s) for module in modules[:MAX_MODULES] if module.count)]
    lines = ["Modules", *format_table(rows, left={0})]
    if len(modules) > MAX_MODULES:
        lines.append(f"  … and {len(modules) - MAX_MODULES} more in timing.json")
    lines += [f"  {text}" for text in timing_remarks(timing, n_events_read)]
    return "\n".join([*lines, *_stalls(timing)]) + "\n"


def timing_remarks(timing: Timing, n_events_read: int) -> list[str]:
    """What is to be known of the times: of how many events they are, and what is outside."""
    outside = timing.overhead_s_per_event
    remarks = []
    if timing.n_events < n_events_read:
        remarks.append(
            f"Times are those of {count(timing.n_events)} of {count(n_events_read)} events: a"
            " process that is killed leaves none"
        )
    if outside is not None:
        remarks.append(f"CPU outside of modules: {duration(outside)} per event")
    return remarks


def _row(module: ModuleTiming, total_s: float) -> tuple[str, ...]:
    times = (module.mean_s, module.p95_s, module.max_s, module.total_s, module.cpu_s)
    share = module.total_s / total_s if total_s else 0.0
    return (
        module.label,
        f"{module.count:,}",
        *(duration(time_s) for time_s in times),
        f"{100 * share:.1f} %",
    )


def _stalls(timing: Timing) -> list[str]:
    worst = [stall for stall in timing.stalls if stall.total_s > 0][:MAX_STALLS]
    return [
        f"  {stall.module} waited {duration(stall.total_s)} for inputs, {stall.waited_for} last"
        f" ({stall.count:,} times)"
        for stall in worst
    ]


def input_lines(costs: InputCosts | None, width: int) -> list[str]:
    """Columns that took most, and what they have in common; none where nothing was measured.
    `width`: of lines of text."""
    if costs is None or not (costs.columns or costs.common):
        return []
    common = (costs.common,) if costs.common else ()
    by_time = sorted([*costs.columns, *common], key=lambda cost: -cost.total_s)
    total_s = sum(cost.total_s for cost in by_time)
    rows = [_COLUMNS_HEAD, *(_column(cost, total_s) for cost in by_time[:MAX_COLUMNS])]
    lines = ["Input", *format_table(rows, left={0})]
    if len(by_time) > MAX_COLUMNS:
        lines.append(f"  … {len(by_time) - MAX_COLUMNS} more in report.json")
    unused = f"  read by nobody, though modules name them: {', '.join(costs.not_read)}"
    return [*lines, *(wrap(unused, width, subsequent_indent="  ") if costs.not_read else [])]


def _column(cost: ColumnCost, total_s: float) -> tuple[str, ...]:
    times = (cost.read_s, cost.unpack_s, cost.decode_s, cost.total_s)
    return (
        cost.column or "(common)",
        count(cost.read_calls),
        size(cost.read_bytes),
        *map(duration, times),
        percent(cost.total_s / total_s if total_s else None),
    )
