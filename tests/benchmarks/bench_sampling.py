"""Part of `make bench-memory`: what sampling memory costs, and how long it stops a child.

A child that writes to pages, or maps and unmaps memory, while nothing reads its memory, while its
`smaps_rollup` is read in a loop, and while its page table is read piece by piece; then the
sampler's own cost for 1 to 256 children, and how much slower these compute while it samples, in
turns with times without. On a busy machine the longest times are those of the machine: compare them
with those of "none"."""

from __future__ import annotations

import argparse
import json
import mmap
import os
import signal
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

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
    words = "of the sampler (1 8 64 256)"
    parser.add_argument("--children", type=int, nargs="+", default=[1, 8, 64, 256], help=words)
    parser.add_argument("--json", type=Path, default=Path("build/bench/sampling.json"))
    args = parser.parse_args()
    stops = [
        measure_stops(megabytes, work, reader, args.seconds)
        for megabytes in args.megabytes
        for work in ("faults", "maps")
        for reader in READERS
    ]
    print_stops(stops)
    costs = [
        measure_cost(megabytes, n_children, 12 * args.seconds)
        for megabytes in args.megabytes
        for n_children in args.children
    ]
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
    """Cost of the sampler as a job has it, with children that share this memory and compute; and
    what they compute in turns of a tenth of this time with and without it."""
    memory = written_memory(megabytes)
    counts = mmap.mmap(-1, 8 * n_children)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sampler = Sampler(folder)
        processes = [
            Process(partial(compute, counts, n), folder / "log") for n in range(n_children)
        ]
        pids = fork_processes(processes)
        for child, pid in enumerate(pids):
            sampler.add_child(child, pid)
        rates: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(10):
            rates[turn % 2 == 0].append(rate_of(counts, sampler, seconds / 10, turn % 2 == 0))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        sampler.close()
        cost = json.loads((folder / "monitoring" / "sampler.json").read_text())
    memory.close()
    slower = [1 - on / off for on, off in zip(rates[True], rates[False], strict=True)]
    of_machine = cost["cpu_s"] / (seconds / 2 * len(os.sched_getaffinity(0)))
    return {
        "megabytes": megabytes,
        "n_children": n_children,
        "of_machine": of_machine,
        "slower": median(slower),
        **cost,
    }


def rate_of(counts: mmap.mmap, sampler: Sampler, seconds: float, is_sampled: bool) -> float:
    """Steps per second of all children."""
    begin, begin_s = sum(memoryview(counts).cast("Q")), time.time()
    while time.time() < begin_s + seconds:
        if is_sampled:
            sampler.tick(time.time())
        time.sleep(0.1)
    return (sum(memoryview(counts).cast("Q")) - begin) / (time.time() - begin_s)


def compute(counts: mmap.mmap, child: int) -> int:
    """What a child does: it counts its steps, and takes memory and gives it back in each."""
    mine = memoryview(counts).cast("Q")
    while True:
        with mmap.mmap(-1, 64 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as small:
            small[0] = 1
        sum(range(2000))
        mine[child] += 1


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
    heads = ("MB", "children", "samples", "CPU s", "of machine", "slower", "longest stop ms")
    print("\nthe sampler, of children that compute; at most 1 % of the machine and 0.5 % slower")
    print("".join(f"{head:>{2 + max(len(head), 6)}}" for head in heads))
    for cost in costs:
        value = {key: float(str(figure)) for key, figure in cost.items()}
        cells = (
            f"{value['megabytes']:.0f}", f"{value['n_children']:.0f}", f"{value['n_samples']:.0f}",
            f"{value['cpu_s']:.3f}", f"{100 * value['of_machine']:.2f} %",
            f"{100 * value['slower']:.2f} %", f"{1e3 * value['longest_stop_s']:.2f}",
        )  # fmt: skip
        print("".join(f"{c:>{2 + max(len(h), 6)}}" for c, h in zip(cells, heads, strict=True)))


if __name__ == "__main__":
    main()
