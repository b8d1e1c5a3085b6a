"""What a trigger menu costs before the fork: seconds and memory that `forkrun check` takes for it,
beyond those for a job of one path.

python tests/benchmarks/schedules.py [PATHS FILTERS distinct|shared]"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MENUS = (
    (100, 20, "distinct"), (700, 20, "distinct"), (2000, 20, "distinct"),
    (100, 20, "shared"), (700, 20, "shared"), (2000, 20, "shared"),
    (1, 14_000, "distinct"),
)  # fmt: skip
N_SHARED = 500


@dataclass(frozen=True)
class MenuCost:
    """What a menu takes beyond a job of one path."""

    n_paths: int
    n_filters: int
    filters: str
    time_s: float
    memory_mb: float

    @property
    def path_us(self) -> float:
        """Time per path."""
        return 1e6 * self.time_s / self.n_paths

    def line(self) -> str:
        """For people."""
        return (
            f"{self.n_paths:6,} paths of {self.n_filters:6,} {self.filters:8} filters:"
            f" {self.time_s:7.3f} s, {self.memory_mb:7.1f} MB, {self.path_us:9.1f} us per path"
        )


def menu(n_paths: int, n_filters: int, filters: str, sample: Path) -> dict[str, Any]:
    """A job whose filters are all different, or (shared) the same 500, of which all paths have the
    first three in common and the others in orders of their own."""
    n_labels = N_SHARED if filters == "shared" else n_paths * n_filters
    labels = [f"filter{i}" for i in range(n_labels)]
    paths = {
        f"path{path}": [labels[i] for i in _numbers(path, n_filters, filters)]
        for path in range(n_paths)
    }
    return {
        "job": {"plugins": ["forkrun_modules"]},
        "source": {"files": [str(sample)]},
        "modules": [{"label": label, "type": "cpp:TwoMuons"} for label in labels],
        "paths": paths,
        "outputs": [{"label": "events", "paths": list(paths), "keep": ["*"]}],
    }


def _numbers(path: int, n_filters: int, filters: str) -> list[int]:
    if filters == "distinct":
        return [path * n_filters + i for i in range(n_filters)]
    rest = [3 + (37 * path + (1 + path % 7) * i) % (N_SHARED - 3) for i in range(n_filters - 3)]
    return [0, 1, 2, *rest]


def measure(menus: tuple[tuple[int, int, str], ...]) -> list[MenuCost]:
    """Each checked three times; the quickest counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample = folder / "sample.root"
        _forkrun("sample", sample, "--events", 1000, "--lumis", 1)
        base_s, base_mb = _check(folder, menu(1, 1, "distinct", sample))
        costs = []
        for asked in menus:
            time_s, memory_mb = _check(folder, menu(*asked, sample))
            costs.append(MenuCost(*asked, time_s - base_s, memory_mb - base_mb))
            print(f"      {costs[-1].line()}", flush=True)
        return costs


def _check(folder: Path, job: dict[str, Any]) -> tuple[float, float]:
    file = folder / "job.json"
    file.write_text(json.dumps(job))
    found = [_forkrun("check", file) for _ in range(3)]
    return min(time_s for time_s, _ in found), min(memory_mb for _, memory_mb in found)


def _forkrun(*arguments: object) -> tuple[float, float]:
    """Seconds, and MB at most."""
    start_s = time.monotonic()
    command = [sys.executable, "-m", "forkrun", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.monotonic() - start_s, usage.ru_maxrss / 1024


def main() -> int:
    """Prints one line a menu."""
    words = sys.argv[1:]
    measure(((int(words[0]), int(words[1]), words[2]),) if words else MENUS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
