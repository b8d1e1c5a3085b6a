"""Part of `make bench-memory`: what sampling memory costs, and how long it stops a child.

A child that writes to pages, or maps and unmaps memory, while nothing reads its memory, while its
`smaps_rollup` is read in a loop, and while its page table is read piece by piece; then the
sampler's own cost for 1 to 256 children, and how much more CPU time these take for the same while
it samples, in turns with times without. On a busy machine the longest times are those of the
machine: compare them with those of "none"."""

from __future__ import annotations

import argparse
import json
import mmap
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from command_line import write_figures

from forkrun import _core
from forkrun.fork.forking import Process, fork_processes
from forkrun.monitoring.host import describe_host
from forkrun.monitoring.sampler import Sampler

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
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (2)")
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
    few, *more = args.megabytes
    sizes = [*((few, n) for n in args.children), *((megabytes, 8) for megabytes in more)]
    print_heads()
    costs = [measure_cost(*size, 8 * args.seconds) for size in sizes]
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
    """Cost of the sampler as a job has it, with children that share this memory and compute, after
    the first readings; and CPU time of their steps in turns of a sixteenth of this time with and
    without it."""
    memory = written_memory(megabytes)
    with tempfile.TemporaryDirectory() as name, closing(mmap.mmap(-1, 16 * n_children)) as shared:
        folder, used = Path(name), memoryview(shared).cast("d")
        sampler = Sampler(folder)
        processes = [Process(partial(compute, used, n), folder / "log") for n in range(n_children)]
        pids = fork_processes(processes)
        for child, pid in enumerate(pids):
            sampler.add_child(child, pid)
        step_s(used, sampler, seconds / 8)
        first_s, begin_s = sampler.cost_s, time.time()
        steps = [step_s(used, None if n % 2 else sampler, seconds / 16) for n in range(14)]
        part = (sampler.cost_s - first_s) / (time.time() - begin_s)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        sampler.close()
        cost = json.loads((folder / "monitoring" / "sampler.json").read_text())
        used.release()
    memory.close()
    result = {
        "megabytes": megabytes,
        "n_children": n_children,
        "first_s": first_s,
        "of_machine": part / len(os.sched_getaffinity(0)),
        "slower": sum(steps[0::2]) / sum(steps[1::2]) - 1,
        "differ": max(steps[1::2]) / min(steps[1::2]) - 1,
        **cost,
    }
    print_cost(result)
    return result


def step_s(used: memoryview[float], sampler: Sampler | None, seconds: float) -> float:
    """CPU time of a step of the children, for so long and until 100 of their readings are new."""
    before, end_s = used.tolist(), time.time() + seconds
    while time.time() < end_s or sum(used.tolist()[0::2]) < sum(before[0::2]) + 100:
        if sampler:
            sampler.tick(time.time())
        time.sleep(0.1)
    now = used.tolist()
    n_steps, cpu_s = (sum(now[k::2]) - sum(before[k::2]) for k in (0, 1))
    return cpu_s / n_steps


def compute(used: memoryview[float], child: int) -> int:
    """What a child does: it takes memory and gives it back in each step, and notes steps and CPU
    time: the clock would show what else the machine does. More children than CPUs wait: they would
    leave the parent no time."""
    if child >= len(os.sched_getaffinity(0)):
        signal.pause()
    n_steps = 0
    while True:
        for _ in range(20):
            with mmap.mmap(-1, 64 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as small:
                small[0] = 1
            sum(range(2000))
        n_steps += 20
        used[2 * child], used[2 * child + 1] = n_steps, time.process_time()


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


HEADS = (
    "MB", "children", "samples", "at first s", "of machine", "slower", "turns differ",
    "longest stop ms",
)  # fmt: skip


def print_heads() -> None:
    """Of the costs of the sampler."""
    print("\nthe sampler, of children that compute; at most 1 % of the machine and 0.5 % slower")
    print("".join(f"{head:>{2 + max(len(head), 6)}}" for head in HEADS), flush=True)


def print_cost(cost: dict[str, object]) -> None:
    """As soon as it is measured."""
    value = {key: float(str(figure)) for key, figure in cost.items()}
    cells = (
        f"{value['megabytes']:.0f}", f"{value['n_children']:.0f}", f"{value['n_samples']:.0f}",
        f"{value['first_s']:.3f}", f"{100 * value['of_machine']:.2f} %",
        f"{100 * value['slower']:.2f} %", f"{100 * value['differ']:.1f} %",
        f"{1e3 * value['longest_stop_s']:.2f}",
    )  # fmt: skip
    row = (f"{c:>{2 + max(len(h), 6)}}" for c, h in zip(cells, HEADS, strict=True))
    print("".join(row), flush=True)


if __name__ == "__main__":
    main()
