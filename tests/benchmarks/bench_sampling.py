"""Part of `make bench-memory`: what sampling memory costs, and how long it stops a child.

A child that writes to pages, or maps and unmaps memory, while nothing reads its memory, while its
`smaps_rollup` is read in a loop, and while its page table is read piece by piece; then the
sampler's own cost for many children. On a busy machine the longest times are those of the machine:
compare them with those of "none"."""

from __future__ import annotations

import argparse
import json
import mmap
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from command_line import write_figures

from forkrun import _core
from forkrun.fork.forking import Process, fork_processes
from forkrun.monitoring import Sampler
from forkrun.monitoring.host import describe_host

MB = 1_000_000
PAGE = mmap.PAGESIZE
READERS: dict[str, Callable[[int], object]] = {
    "none": lambda pid: time.sleep(0.005),
    "smaps_rollup": lambda pid: Path(f"/proc/{pid}/smaps_rollup").read_bytes(),
    "page table": _core.count_pages,
}


def main() -> None:
    """Prints tables, writes figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement (5)")
    parser.add_argument("--children", type=int, default=32, help="of the sampler (32)")
    parser.add_argument("--json", type=Path, default=Path("build/bench/sampling.json"))
    args = parser.parse_args()
    stops = [
        measure_stops(megabytes, work, reader, args.seconds)
        for megabytes in args.megabytes
        for work in ("faults", "maps")
        for reader in READERS
    ]
    print_stops(stops)
    costs = [measure_cost(m, args.children, 4 * args.seconds) for m in args.megabytes]
    print_costs(costs)
    write_figures(args.json, {"host": describe_host(), "stops": stops, "costs": costs})


def written_memory(megabytes: int) -> mmap.mmap:
    """Private memory with every page written to."""
    size = megabytes * MB // PAGE * PAGE
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, size, PAGE):
        memory[place] = 1
    return memory


def measure_stops(megabytes: int, work: str, reader: str, seconds: float) -> dict[str, object]:
    """Times of a child's single operations [s], while `reader` reads as often as it can."""
    memory = written_memory(megabytes)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "times.json")

        def body() -> int:
            result.write_text(json.dumps(time_operations(memory, work, seconds)))
            return 0

        (pid,) = fork_processes([Process(body, Path(folder, "log"))])
        looks = []
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            start_s = time.perf_counter()
            try:
                READERS[reader](pid)
            except OSError:
                continue  # it has just ended
            looks.append(time.perf_counter() - start_s)
            time.sleep(0.01)
        times = json.loads(result.read_text())
    look_s = sorted(looks)[len(looks) // 2]
    return {"megabytes": megabytes, "work": work, "reader": reader, "look_s": look_s, **times}


def time_operations(memory: mmap.mmap, work: str, seconds: float) -> dict[str, float]:
    """In the child. The first write to a page after the fork is a fault that copies it."""
    times: list[float] = []
    end_s = time.perf_counter() + seconds
    places = iter(range(0, len(memory), PAGE))
    while time.perf_counter() < end_s:
        start_s = time.perf_counter()
        place = next(places, None) if work == "faults" else None
        if place is None:
            with mmap.mmap(-1, 64 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as small:
                small[0] = 1
        else:
            memory[place] = 2
        times.append(time.perf_counter() - start_s)
        if work == "faults":
            time.sleep(seconds * PAGE / len(memory) / 2)
    times.sort()
    worst = {f"p{digits}_s": times[int(len(times) * q)] for digits, q in ((50, 0.5), (999, 0.999))}
    return {**worst, "longest_s": times[-1], "n": len(times)}


def measure_cost(megabytes: int, n_children: int, seconds: float) -> dict[str, object]:
    """Cost of the sampler as a job has it, with children that share this memory."""
    memory = written_memory(megabytes)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sampler = Sampler(folder)
        pids = fork_processes([Process(sleep, folder / "log")] * n_children)
        for child, pid in enumerate(pids):
            sampler.add_child(child, pid)
        end_s = time.time() + seconds
        while time.time() < end_s:
            sampler.tick(time.time())
            time.sleep(0.1)
        sampler.close()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        cost = json.loads((folder / "monitoring" / "sampler.json").read_text())
    memory.close()
    return {"megabytes": megabytes, "n_children": n_children, **cost}


def sleep() -> int:
    """What a child does."""
    while True:
        signal.pause()


def print_stops(stops: list[dict[str, object]]) -> None:
    """Times in microseconds."""
    print("a child's operation, while its memory is sampled [µs]")
    print(
        f"{'MB':>6} {'work':8}{'reader':14}{'a sample':>10}{'p50':>10}{'p99.9':>10}{'longest':>10}"
    )
    for stop in stops:
        times = [1e6 * float(str(stop[k])) for k in ("look_s", "p50_s", "p999_s", "longest_s")]
        words = f"{stop['megabytes']:>6} {stop['work']:8}{stop['reader']:14}"
        print(words + "".join(f"{t:10.1f}" for t in times))


def print_costs(costs: list[dict[str, object]]) -> None:
    """Prints the costs of the sampler."""
    for cost in costs:
        fraction, stop_ms = (
            float(str(cost["cpu_fraction"])),
            1e3 * float(str(cost["longest_stop_s"])),
        )
        print(
            f"sampler: {cost['n_children']} children of {cost['megabytes']} MB,"
            f" {cost['n_samples']} samples in {float(str(cost['elapsed_s'])):.0f} s:"
            f" {100 * fraction:.2f} % of a CPU; no sample longer than {stop_ms:.2f} ms"
        )


if __name__ == "__main__":
    main()
