"""Runs a job with given children, threads and work, and measures the use of cores."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from forkrun.config import JobConfig
from forkrun.config.anchor import is_url
from forkrun.index.files import input_files
from forkrun.studies.frame.job_ways import Ran, run_way
from forkrun.studies.frame.page_cache import cached_share
from forkrun.studies.scaling.points import Point

LABEL = "measured_work"
"""Label of the added module, and name of its path."""
_FIRST_EVENTS = 1000
"""Number of events for measuring the time per event."""
_BLOCK_S = 0.05
"""Work in a block: short enough for threads to take turns, and long enough to keep calls rare."""
_PER_CORE = 4
"""Minimum number of events."""


class Runs:
    """Runs of one job, each of some seconds. `folder`: for their run directories."""

    def __init__(self, config: JobConfig, folder: Path, seconds: float) -> None:
        self._config, self._folder, self._seconds = config, folder, seconds
        self._files = [Path(file) for file in input_files(config.source) if not is_url(file)]
        self._numbers = count()
        self._event_s = self._measure_event()

    def _measure_event(self) -> float:
        """Measures the time per event of the unchanged job in one thread [s]."""
        ran = self._run(Point(1, 1), _FIRST_EVENTS)
        return _processing_s(ran) / ran.n_events

    def __call__(self, point: Point) -> Mapping[str, float]:
        """Runs a point; returns its rates and shares. Raises the job's errors."""
        event_s = self._event_s + 1e-3 * point.work_ms
        n_wanted = point.n_cores * max(_PER_CORE, math.ceil(self._seconds / event_s))
        ran = self._run(point, n_wanted)
        thread_s = _processing_s(ran) * point.threads
        processing_s = [child.processing_s for child in ran.children]
        cpu_s = math.fsum(child.cpu_s for child in ran.children)
        return {
            "rate": ran.n_events / thread_s * point.n_cores,
            "per_core": ran.n_events / thread_s,
            "whole_rate": ran.n_events / ran.loop_s,
            "events": ran.n_events,
            "cpu_s": cpu_s / ran.n_events,
            "busy": cpu_s / thread_s,
            "utilization": math.fsum(processing_s) / max(processing_s) / point.children,
            "read_rate": ran.read_bytes / ran.loop_s,
            "cached": cached_share(self._files) if self._files else 1.0,
            "loop_s": ran.loop_s,
        }

    def _run(self, point: Point, n_events: int) -> Ran:
        most = self._config.source.max_events
        settings = {
            "forking.children": point.children,
            "threads.per_child": point.threads,
            "source.max_events": n_events if most is None else min(n_events, most),
            **self._of_blocks(point),
        }
        texts = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        folder = self._folder / f"way-{next(self._numbers):03d}"
        return run_way(with_work(self._config, point.work_ms), folder, texts)

    def _of_blocks(self, point: Point) -> dict[str, Any]:
        if not point.work_ms or self._config.threads.block_size:
            return {}
        return {"threads.block_size": max(1, round(1e3 * _BLOCK_S / point.work_ms))}


def with_work(config: JobConfig, work_ms: float) -> JobConfig:
    """The job with an additional path that takes the given CPU time per event."""
    if not work_ms:
        return config
    changed = config.model_dump(mode="json")
    changed["job"]["plugins"] = [*dict.fromkeys([*changed["job"]["plugins"], "forkrun_modules"])]
    changed["modules"] += [{"label": LABEL, "type": "cpp:BusyWait", "params": {"ms": work_ms}}]
    changed["paths"][LABEL] = [LABEL]
    return JobConfig.model_validate(changed)


def _processing_s(ran: Ran) -> float:
    """Time of all children, summed over ranges of events from begin to commit."""
    return math.fsum(child.processing_s for child in ran.children)
