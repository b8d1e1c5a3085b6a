"""What scheduling costs and how far it scales: every figure of docs/performance.md, in one run.

python tests/benchmarks/bench_core.py [--data FOLDER] [--only NAME …] [--long]"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from schedules import measure as measure_menus

from forkrun.studies.estimate.graph import graph_of_replay
from forkrun.studies.estimate.simulate import simulate
from forkrun.studies.frame.study import print_study
from forkrun.studies.replay.model import Concurrency, ReplayJob, ReplaySettings
from forkrun.studies.replay.read import read_replay
from forkrun.studies.replay.run import ReplayResult, run_replay
from forkrun.studies.scheduling import Sizes, idle_cpu, measure_scheduling, of_concurrency, ratios
from forkrun.studies.workload.generate import synthetic_job

HIGH_PILEUP = "reco_hipileup_5_2_0_busywait_perfectIO.config.gz"
MINIMUM_BIAS = "reco_minbias_sleeping_betweenmodules.config.gz"
LONG = Sizes(
    n_without_work=200_000, busy_scale=0.005, n_alone=4, alone_scale=0.2, n_in_flight=200,
    in_flight_scale=0.1,
)  # fmt: skip
BARS = {
    "no work: tasks, one thread": 0.15,
    "no work: an idle thread": 0.97,
    "no work: two threads, two events": 1.9,
    "busy: two threads, two events": 1.96,
    "busy: coroutines": 0.9,
    "busy: all modules unsafe": 0.97,
    "one sleeping: of the critical path": 0.99,
    "ten sleeping: 15 threads": 0.976,
    "ten sleeping: 20 threads": 0.998,
}
"""What is wanted of the study's ratios."""


@dataclass(frozen=True)
class Figure:
    """A measured value and the least (or, if `is_most`, the most) that is wanted."""

    name: str
    value: float
    bar: float
    is_most: bool = False

    def line(self) -> str:
        good = self.value <= self.bar if self.is_most else self.value >= self.bar
        sign = "<=" if self.is_most else ">="
        return (
            f"{'ok  ' if good else 'MISS'}  {self.value:10.4g}  {sign} {self.bar:<8g}  {self.name}"
        )


class Bench:
    """The two graphs that all is measured with: public ones, or synthetic ones like them."""

    def __init__(self, data: Path | None) -> None:
        self.high_pileup = _job(data, HIGH_PILEUP, "hipileup")
        self.minimum_bias = _job(data, MINIMUM_BIAS, "minbias")

    def run(self, job: ReplayJob | None = None, **settings: Any) -> ReplayResult:
        """Events per second of one way to run a job."""
        result = run_replay(job or self.high_pileup, ReplaySettings(**settings))
        print(f"      {result.line()}", flush=True)
        return result

    def simulated_s(self, n_events: int, n_threads: int, in_flight: int, scale: float) -> float:
        """Wall time of the list-scheduling simulation of the high-pile-up job."""
        graph = graph_of_replay(self.high_pileup)
        return simulate(graph, n_events, n_threads, in_flight).makespan_s * scale

    def scheduling(self) -> Iterator[Figure]:
        """`forkrun measure scheduling`, with more events."""
        study = measure_scheduling(self.high_pileup, LONG, 1)
        print_study(study)
        found = ratios(study.rows)
        for name, bar in BARS.items():
            yield Figure(name, found[name].value, bar)
        rate = study.rows["no work: serial"]["rate"]
        yield Figure("no work: serial [k events/s]", rate / 1e3, 7)
        cpu_s = 100 * idle_cpu(study.rows)
        yield Figure("one event, 8 threads: CPU s in 100 s", cpu_s, 3, is_most=True)

    def many_events(self) -> Iterator[Figure]:
        ratios = []
        for n, n_events, scale in ((1, 10, 0.02), (100, 400, 0.1), (2000, 2000, 1.0)):
            found = self.run(
                mode="sleep", n_events=n_events, time_scale=scale, n_threads=n, events_in_flight=n
            )
            ratios.append(self.simulated_s(n_events, n, n, scale) / found.wall_s)
        yield Figure("sleeping, 100 events in flight / ideal", ratios[1] / ratios[0], 0.95)
        yield Figure("sleeping, 2000 events in flight / ideal", ratios[2] / ratios[0], 0.95)
        memory_mb = found.peak_rss_bytes / 1e6
        yield Figure("sleeping, 2000 events in flight: MB", memory_mb, 400, is_most=True)

    def one_at_a_time(self) -> Iterator[Figure]:
        job = of_concurrency(self.minimum_bias, Concurrency.ONE)
        scale, n_events = 0.1, 1000
        found = self.run(
            job,
            mode="sleep",
            n_events=n_events,
            time_scale=scale,
            n_threads=70,
            events_in_flight=70,
        )
        slowest_s = max(float(module.event_times_s.mean()) for module in job.modules) * scale
        yield Figure("all one: rate / limit of slowest", found.events_per_s * slowest_s, 0.95)

    def waiting(self) -> Iterator[Figure]:
        expected = self.run(executor="serial", mode="none", n_events=200).checksum
        n_same = 0
        for n_threads in (1, 2, 4, 16):
            found = self.run(
                mode="none", n_events=200, get="blocking", n_threads=n_threads, events_in_flight=8
            )
            n_same += found.checksum == expected
        yield Figure("all modules wait on the stack: same results of 4", n_same, 4)

    def async_many(self) -> Iterator[Figure]:
        n, scale = 20_000, 3.0
        found = self.run(
            mode="async", n_events=n, time_scale=scale, n_threads=2, events_in_flight=n
        )
        # All at once: as long as the longest of the events, whose times come again and again.
        n_kinds = graph_of_replay(self.high_pileup).n_events
        ideal_s = self.simulated_s(n_kinds, n, n_kinds, scale)
        yield Figure("async, 20,000 events in flight / ideal", ideal_s / found.wall_s, 0.95)


def _job(data: Path | None, name: str, preset: str) -> ReplayJob:
    if data is not None and (data / name).exists():
        return read_replay(data / name)
    print(f"{name} is not there: a synthetic one like it is used")
    return synthetic_job(preset)


def empty_modules(binary: Path) -> Iterator[Figure]:
    """From the C++ benchmark: events per second by block size and way."""
    out = subprocess.run([binary, "--json"], check=True, capture_output=True, text=True).stdout
    found = {(row["block_size"], row["name"]): row["events_per_s"] for row in json.loads(out)}
    for (block_size, name), rate in found.items():
        print(f"      block size {block_size}: {name}: {rate / 1e6:.1f} M events/s")
    loop, serial, one = (found[1, name] for name in ("loop", "serial", "tbb 1 thread 1 block"))
    two_one, two_two = found[1, "tbb 2 threads 1 block"], found[1, "tbb 2 threads 2 blocks"]
    yield Figure("empty modules: serial / loop by hand", serial / loop, 0.8)
    yield Figure("empty modules: tbb / serial", one / serial, 0.5)
    yield Figure("empty modules: 2 threads, 1 event / 1 thread", two_one / one, 0.97)
    yield Figure("empty modules: 2 threads, 2 events / 1 thread", two_two / one, 0.4)
    yield Figure(
        "blocks of 100: serial / loop by hand", found[100, "serial"] / found[100, "loop"], 0.95
    )
    many = found[100, "tbb 1 thread 1 block"] / found[100, "loop"]
    yield Figure("blocks of 100: tbb / loop by hand", many, 0.95)


def small_lumis(binary: Path) -> Iterator[Figure]:
    """From the C++ benchmark: how busy four threads are with lumis of one to three blocks."""
    out = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    rows = json.loads(out)
    found = {
        (row["concurrent_blocks"], row["concurrent_lumis"]): row["utilization"] for row in rows
    }
    for (blocks, lumis), utilization in found.items():
        print(f"      {blocks} blocks, {lumis} lumis at a time: utilization {utilization:.3f}")
    yield Figure("small lumis: 4 at a time / 1 at a time", found[4, 4] / found[4, 1], 2)
    yield Figure("small lumis: 4 at a time, 8 blocks: utilization", found[8, 4], 0.9)


def schedules() -> Iterator[Figure]:
    """Trigger menus, from the configuration to the compiled schedule."""
    few, many = measure_menus(((100, 20, "distinct"), (700, 20, "distinct")))
    yield Figure("menus: time per path, 700 / 100", many.path_us / few.path_us, 1.5, is_most=True)
    yield Figure("menus: 700 paths of 20 filters [s]", many.time_s, 1, is_most=True)
    yield Figure("menus: 700 paths of 20 filters [MB]", many.memory_mb, 100, is_most=True)


def main() -> int:
    """Prints every figure as soon as it is there, then all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, help="bench_core, next to bench_units")
    parser.add_argument("--data", type=Path, help="folder of the public replay files")
    parser.add_argument("--only", nargs="*", help="names of parts")
    parser.add_argument("--long", action="store_true", help="20,000 events in flight: 5 minutes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bench = Bench(options.data)
    parts: dict[str, Callable[[], Iterator[Figure]]] = {
        "empty": lambda: empty_modules(options.binary) if options.binary else iter(()),
        "small_lumis": lambda: (
            small_lumis(options.binary.with_name("bench_units")) if options.binary else iter(())
        ),
        "schedules": schedules,
        "scheduling": bench.scheduling,
        "one_at_a_time": bench.one_at_a_time,
        "waiting": bench.waiting,
        "many_events": bench.many_events,
        **({"async_many": bench.async_many} if options.long else {}),
    }
    figures = []
    for name, part in parts.items():
        if not options.only or name in options.only:
            for figure in part():
                figures.append(figure)
                print(figure.line(), flush=True)
    print("\n" + "\n".join(figure.line() for figure in figures))
    if options.json:
        rows = [
            {"name": f.name, "value": float(np.float64(f.value)), "bar": f.bar} for f in figures
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
