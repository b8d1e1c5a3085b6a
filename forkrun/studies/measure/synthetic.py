"""Synthetic conditions and a module that reads all of them: the reference case of shared memory."""

from __future__ import annotations

import mmap
import os
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.modules.base import Analyzer
from forkrun.modules.block import EventBlock

MB = 1_000_000
N_CHANNELS = 16
MAX_WAIT_S = 120.0


def arrays(file: str) -> dict[str, npt.NDArray[np.float64]]:
    """Tables of numbers, 1 MB each; their number is `megabytes` of the TOML file `file`."""
    random = np.random.default_rng(1)
    tables = range(_megabytes(file))
    return {f"table_{table}": random.random(MB // 8) for table in tables}


def objects(file: str) -> dict[str, Any]:
    """Calibrations of many chambers in plain Python: dicts, lists, tuples, texts and numbers, until
    this process has grown by `megabytes` of the TOML file `file`."""
    goal = _anonymous_bytes() + _megabytes(file) * MB
    calibrations: dict[str, Any] = {}
    while _anonymous_bytes() < goal:
        for chamber in range(len(calibrations), len(calibrations) + 200):
            calibrations[f"chamber/{chamber}"] = _calibration(chamber)
    return calibrations


def _calibration(chamber: int) -> dict[str, Any]:
    return {
        "name": f"chamber number {chamber}",
        "alignment": (0.001 * chamber, -0.002 * chamber, 0.1 + chamber),
        "gains": [1.0 + 1e-6 * (chamber + channel) for channel in range(N_CHANNELS)],
        "pedestals": [1000 + chamber + channel for channel in range(N_CHANNELS)],
    }


def _megabytes(file: str) -> int:
    return int(tomllib.loads(Path(file).read_text(encoding="utf-8"))["megabytes"])


def _anonymous_bytes() -> int:
    """Anonymous memory of this process: all its pages less file pages."""
    pages = Path("/proc/self/statm").read_text().split()
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")


class ReadConditions(Analyzer):
    """Takes `private_mb` of memory when the job begins, and reads every number and text of every
    condition in every lumi. Then children wait until all `n_children` have read them once, and for
    `pause_s`: so they are sampled together, even if far outnumbering the CPUs."""

    consumes = ()

    def __init__(self, private_mb: int = 0, n_children: int = 1, pause_s: float = 0.0) -> None:
        self.private_mb = private_mb
        self.pause_s = pause_s
        self.have_read = mmap.mmap(-1, max(n_children, 1))  # one byte per child
        self.parent = os.getpid()
        self.child = 0

    def post_fork(self, child: int) -> None:
        self.child = child

    def begin_job(self) -> None:
        self.private = np.ones(self.private_mb * MB // 8)
        self.private.setflags(write=False)

    def begin_lumi(self, run: int, lumi: int) -> None:
        self.sum = sum(read_all(condition) for condition in self.conditions.values())

    def analyze(self, block: EventBlock) -> None:
        self.have_read[self.child] = 1
        end_s = time.monotonic() + MAX_WAIT_S
        is_child = os.getpid() != self.parent
        while is_child and 0 in self.have_read[:] and time.monotonic() < end_s:
            time.sleep(0.05)
        time.sleep(self.pause_s)


def read_all(value: Any) -> float:
    """A sum that needs every number and text in a condition."""
    if isinstance(value, dict):
        return sum(len(key) + read_all(item) for key, item in value.items())
    if isinstance(value, np.ndarray):
        return float(value.sum())
    if isinstance(value, list | tuple):
        return sum(map(read_all, value))
    return float(len(value) if isinstance(value, str) else value)
