"""Runs a replay file in forked children and measures it."""

from __future__ import annotations

import json
import os
import platform
import resource
import tempfile
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from forkrun import _core
from forkrun.base.progress import make_progress
from forkrun.errors import JobError, StoppedError
from forkrun.fork.forking import Process
from forkrun.fork.once_crew import OnceCrew
from forkrun.fork.supervisor import Supervisor
from forkrun.monitoring.host import cpu_name
from forkrun.studies.replay.model import ReplayJob, ReplayModule, ReplaySettings, mode_of


class ReplayResult(Struct, frozen=True):
    """Result of a replay. `wall_s` : from the first child's first event to the last child's last;
    `cpu_s` : of all children in that time. `checksum` : independent of executor, number of threads
    and children, and block size. `steps_per_s` : of fixed work, measured at start-up; 0 without
    fixed work."""

    settings: ReplaySettings
    n_modules: int
    n_events: int
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    checksum: str
    steps_per_s: float

    @property
    def events_per_s(self) -> float:
        """Events per second of wall time."""
        return self.n_events / self.wall_s if self.wall_s else 0.0

    def line(self) -> str:
        """The result as a line in the toy framework's form."""
        children = self.settings.n_children
        threads, in_flight = self.settings.n_threads or 1, self.settings.events_in_flight or 1
        return (
            f"# threads:{threads * children} # simultaneous events:{in_flight * children}"
            f" total # events:{self.n_events} cpu time:{self.cpu_s:.6g} real time:{self.wall_s:.6g}"
            f" events/sec:{self.events_per_s:.6g}"
        )

    def to_json(self) -> dict[str, Any]:
        """The whole result, with the machine."""
        return {
            **to_builtins(self),
            "events_per_s": self.events_per_s,
            "machine": {
                "cpu": cpu_name(),
                "n_cores": len(os.sched_getaffinity(0)),
                "system": platform.platform(),
            },
        }


def run_replay(job: ReplayJob, settings: ReplaySettings, quiet: bool = True) -> ReplayResult:
    """Processes the events of a replay file in contiguous parts in `settings.n_children` forked
    children. Raises ConfigError and JobError."""
    settings = settings.completed(job)
    modules = [_describe(module, settings) for module in job.modules]
    core = _core.Replay(modules, [(path.name, list(path.filters)) for path in job.paths])
    modes = {settings.mode or mode_of(module.work) for module in job.modules}
    steps_per_s = _core.measure_steps_per_s() if "fixedwork" in modes else 0.0
    with tempfile.TemporaryDirectory(prefix="forkrun-replay-") as folder:
        parts = _run_children(core, settings, steps_per_s, Path(folder), quiet)
    return ReplayResult(
        settings=settings,
        n_modules=len(job.modules),
        n_events=settings.n_events or 0,
        wall_s=max(part["end_s"] for part in parts) - min(part["start_s"] for part in parts),
        cpu_s=sum(part["cpu_s"] for part in parts),
        peak_rss_bytes=sum(part["peak_rss_bytes"] for part in parts),
        checksum=f"{sum(part['checksum'] for part in parts) % 2**64:016x}",
        steps_per_s=steps_per_s,
    )


def _describe(module: ReplayModule, settings: ReplaySettings) -> _core.ReplayModule:
    return _core.ReplayModule(
        label=module.label,
        kind=module.kind.value,
        concurrency=module.concurrency.value,
        work=settings.mode or mode_of(module.work),
        get=settings.get or ("blocking" if module.blocking_get else "prefetch"),
        event_times_s=module.event_times_s * settings.time_scale,
        consumes=[f"{label}/{product}" for label, product in module.consumes],
        produces=[f"{module.label}/{product}" for product in module.produces],
    )


def _run_children(
    core: _core.Replay, settings: ReplaySettings, steps_per_s: float, folder: Path, quiet: bool
) -> list[dict[str, Any]]:
    n_events, n_children = settings.n_events or 0, settings.n_children
    board = _core.StatusBoard(n_children)

    def process_of(child: int) -> Process:
        def body() -> int:
            first = n_events * child // n_children
            last = n_events * (child + 1) // n_children
            part = _process(core, settings, steps_per_s, board, child, first, last)
            (folder / f"{child}.json").write_text(json.dumps(part), encoding="utf-8")
            return 0

        return Process(body, folder / f"{child}.log")

    progress = make_progress(n_events, "events", quiet)
    crew = OnceCrew(range(n_children), lambda: progress.update(_n_done(board)))
    Supervisor(process_of, crew).run()
    progress.close()
    if crew.signal_number:
        raise StoppedError("replay: stopped", crew.signal_number)
    if crew.failed:
        child, code = crew.failed
        log = (folder / f"{child}.log").read_text(encoding="utf-8", errors="replace").strip()
        raise JobError(f"replay: child {child} ended with {code}:\n{log}")
    return [json.loads((folder / f"{i}.json").read_bytes()) for i in range(n_children)]


def _n_done(board: _core.StatusBoard) -> int:
    return sum(board.read(child).n_events_done for child in range(len(board)))


def _process(
    core: _core.Replay,
    settings: ReplaySettings,
    steps_per_s: float,
    board: _core.StatusBoard,
    child: int,
    first: int,
    last: int,
) -> dict[str, Any]:
    result = core.run(
        executor=settings.executor,
        threads=settings.n_threads or 1,
        events_in_flight=settings.events_in_flight or 1,
        block_size=settings.block_size,
        always_tasks=settings.always_tasks,
        first_event=first,
        n_events=last - first,
        steps_per_s=steps_per_s,
        board=board,
        child=child,
    )
    return {
        "checksum": result.checksum,
        "start_s": result.start_s,
        "end_s": result.end_s,
        "cpu_s": result.cpu_s,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
