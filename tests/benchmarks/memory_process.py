"""One measurement of bench_memory.py: prepares, forks, measures, prints JSON."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forkrun.fork.single_thread import limit_library_threads

limit_library_threads()

import memory_conditions  # noqa: E402

from forkrun import _core  # noqa: E402
from forkrun.config.model import MemoryConfig  # noqa: E402
from forkrun.fork.forking import Process, fork_processes  # noqa: E402
from forkrun.fork.memory import prepare_memory  # noqa: E402

MILLION = 1_000_000


def reading(freeze: bool, immortal: bool, passes: int) -> dict[str, Any]:
    """After `passes` over a million tuples of a float and a text."""
    values = [(float(i), f"k{i}") for i in range(MILLION)]
    prepare(values, freeze=freeze, immortal=immortal)

    def work() -> object:
        return [sum(gain * (hash(name) > 0) for gain, name in values) for _ in range(passes)]

    return {"private_mb": private_mb(work), "python": sys.version.split()[0]}


def holes(kept: float, fill_holes: bool) -> dict[str, Any]:
    """A child makes 50,000 tuples where the parent had a million and freed all but some."""
    period = round(1 / (1 - kept)) if kept else 1
    few = kept < 0.5
    values = [(float(i), f"k{i}") for i in range(MILLION)]
    values = [v for i, v in enumerate(values) if (not few) and i % period]
    prepare(values, fill_holes=fill_holes)
    return {"private_mb": private_mb(lambda: [(float(i), f"k{i}") for i in range(50_000)])}


def fork(what: str, gigabytes: float, huge_pages: str) -> dict[str, Any]:
    """Shortest of several forks, and what it took to get there. `huge_pages`: "no", "joined" (when
    everything is loaded) or "first" (from the first use of the memory on)."""
    if huge_pages == "first":
        _core.use_huge_arenas()
    load_s = time.perf_counter()
    values = getattr(memory_conditions, what)(gigabytes)
    start_s = time.perf_counter()
    prepared = prepare(values)
    middle_s = time.perf_counter()
    joined = _core.join_pages() if huge_pages == "joined" else 0
    end_s = time.perf_counter()
    return {
        "fork_ms": round(min(fork_time_s() for _ in range(10)) * 1e3, 2),
        "load_s": round(start_s - load_s, 3),
        "prepare_s": round(middle_s - start_s, 3),
        "join_s": round(end_s - middle_s, 3),
        "joined_mb": round(joined / 1e6),
        "objects": prepared.n_objects,
    }


def fork_time_s() -> float:
    """Time to fork a child that ends at once [s]."""
    start_s = time.perf_counter()
    (pid,) = fork_processes([Process(lambda: 0, Path(os.devnull))])
    end_s = time.perf_counter()
    os.waitpid(pid, 0)
    return end_s - start_s


def prepare(values: object, **settings: bool) -> Any:
    """As the parent of a job does, with some of it switched off."""
    return prepare_memory(MemoryConfig(**({"huge_pages": False} | settings)), [values], 1)


def private_mb(work: Callable[[], object]) -> float:
    """What `work` makes private in a child, while what it returns is held."""
    with tempfile.NamedTemporaryFile("w+") as answer:

        def body() -> int:
            before_mb = written_mb()
            held = work()
            answer.write(str(written_mb() - before_mb))
            answer.flush()
            del held
            return 0

        (pid,) = fork_processes([Process(body, Path(os.devnull))])
        os.waitpid(pid, 0)
        return round(float(Path(answer.name).read_text()), 2)


def written_mb() -> float:
    """Private memory but for pages of libraries that no other process happens to map."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(li.split()[1]) * 1024e-6 for li in lines if li.startswith("Private_Dirty:"))


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
