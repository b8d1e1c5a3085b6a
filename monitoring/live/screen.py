"""Live view of a job as text for a terminal of any size, and in a notebook."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Any

from msgspec.structs import asdict
from rich.console import Console, Group, RenderableType
from rich.text import Text

from forkrun.base.arguments import check_path
from forkrun.base.quantities import bar, clock, count, percent, plural, seconds, size
from forkrun.base.user_text import printable
from forkrun.errors import InputError
from forkrun.monitoring.live.state import LiveJob, LiveRun, Worker
from forkrun.monitoring.tables import Column, Table
from forkrun.rundir.directory import RunDirectory

ORDERS = ("name", "events", "memory", "idle")
"""Sort orders of the rows."""
_N_LINES = 6
_OVERHEAD = 9
"""Lines of a screen other than rows and lines of logs."""


def render(
    job: LiveJob, now_s: float, *, width: int, height: int, order: str, first: int, note: str
) -> RenderableType:
    """Draws the screen. `first`: number of the first row; `note`: result of the last key."""
    lines = [_cut(line, width) for line in _last_lines(job)]
    n_rows = max(height - _OVERHEAD - len(lines), 1)
    workers = _sorted(list(job.rows()), order, now_s)
    first = min(first, max(len(workers) - n_rows, 0))
    shown = workers[first : first + n_rows]
    more = len(workers) - len(shown)
    keys = "q quit · s stop after the begun lumis · o order · ↑↓ scroll"
    return Group(
        _title(job, now_s),
        Text(_progress(job, now_s, width), no_wrap=True),
        Text(_memory(job), no_wrap=True),
        _rows(shown, now_s, width),
        Text(f"  {more:,} more" if more > 0 else "", style="dim"),
        *(Text(line, style="dim", no_wrap=True) for line in lines),
        Text(_cut(note or f"{keys} (by {order})", width), style="bold" if note else "dim"),
    )


def _title(job: LiveJob, now_s: float) -> Text:
    run = job.whole
    state = run.outcome or run.phase
    if run.is_gone:
        state = "its run directory is gone"
    elapsed = "" if run.started_s is None else f", {seconds(now_s - run.started_s)} s"
    if run.outcome is not None:
        elapsed = ""
    nodes = f" on {plural(len(job.nodes), 'node')}" if job.nodes else ""
    return Text(f"{run.name}{nodes}: {state}{elapsed}", style="bold", no_wrap=True)


def _progress(job: LiveJob, now_s: float, width: int) -> str:
    planned, done = job.whole.n_planned, job.n_events
    if planned is None:
        return plural(done, "event")
    share = done / planned if planned else 1.0
    left_s = job.left_s(now_s)
    left = f", {clock(left_s)} left" if left_s is not None and job.whole.outcome is None else ""
    rate = "" if job.whole.outcome is not None else f", {count(job.rate(now_s))}/s"
    text = f" {percent(share)} · {count(done)} of {plural(planned, 'event')}{rate}{left}"
    return bar(share, max(min(width - len(text) - 1, 40), 5)) + text


def _memory(job: LiveJob) -> str:
    pss, private = job.memory
    if not pss:
        return ""
    return f"Memory {size(pss)}: {size(max(pss - private, 0))} shared, {size(private)} private"


_COLUMNS = (
    Column("name", ""), Column("n_events", "events", "count"), Column("rate", "per s", "count"),
    Column("n_commits", "commits", "count", 1), Column("cpu_efficiency", "CPU", "share", 1),
    Column("pss", "PSS", "size", 1), Column("private", "private", "size", 1),
    Column("last", "last", "text", 1), Column("what", ""),
)  # fmt: skip


def _rows(workers: list[Worker], now_s: float, width: int) -> Text:
    """Returns a line for each worker below a head: plain text, since a rich table takes 20 times as
    long, and many children are redrawn often while the job needs the CPUs."""
    table = Table("", _COLUMNS, [_row(worker, now_s) for worker in workers])
    head, *lines = table.text(width, "").splitlines()
    text = Text(f"{_cut(head, width)}\n", "bold", no_wrap=True, end="")
    for line, worker in zip(lines, workers, strict=True):
        text.append(_cut(line, width) + "\n", "dim" if worker.is_over else "")
    return text


def _row(worker: Worker, now_s: float) -> dict[str, Any]:
    return {
        **asdict(worker),
        "rate": worker.rate,
        "cpu_efficiency": worker.cpu_efficiency,
        "pss": worker.pss or None,
        "private": worker.private or None,
        "last": f"{seconds(max(now_s - worker.last_s, 0.0))} s ago"
        if worker.last_s and not worker.is_over
        else None,
        "what": printable(worker.what),
    }


def _sorted(workers: list[Worker], order: str, now_s: float) -> list[Worker]:
    keys = {
        "events": lambda worker: -worker.n_events,
        "memory": lambda worker: -worker.pss,
        "idle": lambda worker: (worker.is_over, worker.last_s - now_s),
    }
    return sorted(workers, key=keys[order]) if order in keys else workers


def _last_lines(job: LiveJob) -> list[str]:
    remarks = [f"! {text}" for run in (job.whole, *job.nodes.values()) for text in run.remarks]
    logs = [line for run in job.runs for line in run.lines]
    n_remarks = min(len(remarks), _N_LINES // 2)
    return [*remarks[len(remarks) - n_remarks :], *logs[-(_N_LINES - n_remarks) :]]


def _cut(line: str, width: int) -> str:
    text = printable(line)
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


_WIDTH, _MOST_ROWS = 100, 40
_EVERY_S = 2.0
_AS_HTML = "<pre style='line-height:1.25'>{code}</pre>"


class RunningJob:
    """A job running here, on another machine or on many nodes, seen from its run directory:
    `forkrun.RunningJob("job-run")`. Printed, and as the last line of a notebook's cell, it shows
    the current state of the job, like `forkrun top`; `watch()` keeps showing it."""

    def __init__(self, run_directory: str | Path) -> None:
        """Raises InputError if no job has begun there."""
        call = "RunningJob(…)"
        self.run_directory = check_path(call, "run_directory", run_directory).absolute()
        folder = RunDirectory(self.run_directory)
        if not folder.config.exists():
            raise InputError(f"{folder.path}: no job runs here: it has no {folder.config.name}")
        self._job = LiveJob(LiveRun(self.run_directory))

    @property
    def has_ended(self) -> bool:
        """Whether the job had ended, well or not, at the last look."""
        return self._job.whole.outcome is not None or self._job.whole.is_gone

    def __str__(self) -> str:
        return self._drawn().export_text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<RunningJob in {self.run_directory}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return self._drawn().export_html(inline_styles=True, code_format=_AS_HTML)

    def watch(self) -> None:
        """Shows the job until it has ended, in one place of a notebook; interrupting the cell stops
        the view, not the job."""
        shown = None
        try:
            while True:
                shown = self._show(shown)
                if self.has_ended:
                    return
                time.sleep(_EVERY_S)
        except KeyboardInterrupt:
            return

    def _show(self, handle: Any) -> Any:
        display = getattr(sys.modules.get("IPython.display"), "display", None)
        if display is None:
            print(self, flush=True)
            return None
        if handle is None:
            return display(self, display_id=True)
        handle.update(self)
        return handle

    def _drawn(self) -> Console:
        self._job.look()
        console = Console(record=True, width=_WIDTH, file=io.StringIO(), color_system="standard")
        console.print(
            render(
                self._job, time.time(), width=_WIDTH, height=_MOST_ROWS, order=ORDERS[0], first=0,
                note=" ",
            )
        )  # fmt: skip
        return console
