"""`make bench-recovery`: what a killed child costs beyond the work that it lost, and what a killed
parent does.

The same job without and with deaths, in turn; "undisturbed" shows how much two jobs differ in which
nothing dies. Work that is lost is done by all children, so that it takes its time divided by their
number; what the job takes longer than that is what a death costs. Prints a table and writes all
figures as JSON."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from command_line import parse, write_figures
from recovery_figures import Run, Session

from forkrun.monitoring.host import describe_host
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample

MODULE = Path(__file__).resolve().with_name("recovery_module.py")
SAMPLE = SampleSettings(20_000, n_runs=1, lumis_per_run=40, cluster=160)
Faults = list[dict[str, Any]]


def main() -> None:
    """Rounds of all cases."""
    args = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="forkrun-bench-", dir=args.folder) as name:
        bench = Bench.make(Path(name), args)
        rounds = [one_round(bench, number, args.cases) for number in range(args.rounds)]
    results = {case: [done[case] for done in rounds] for case in args.cases}
    print_results(results, rounds, args.children)
    figures = {"host": describe_host(), "settings": vars(args), "rounds": rounds}
    write_figures(args.json, figures)
    print(f"All figures: {args.json}")


def parse_arguments() -> Any:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30.0, help="of the event loop (30)")
    parser.add_argument("--rounds", type=int, default=3, help="of all cases (3)")
    parser.add_argument("--gb", type=float, default=1.0, help="of conditions (1)")
    return parse(parser, CASES, "recovery.json")


@dataclass(frozen=True)
class Bench:
    """A folder with input and condition."""

    folder: Path
    children: int
    per_event_s: float

    @classmethod
    def make(cls, folder: Path, args: argparse.Namespace) -> Bench:
        """Writes both."""
        write_sample(folder / "sample.root", SAMPLE)
        np.save(folder / "big.npy", np.arange(round(args.gb * 1e9) // 8, dtype=np.float64))
        return cls(folder, args.children, args.seconds * args.children / SAMPLE.n_events)

    def run(self, name: str, faults: Faults | None = None) -> Run:
        """Runs the job, and resumes it as often as its parent dies."""
        calls = self.folder / f"{name}-calls"
        calls.mkdir()
        job = self.folder / f"{name}.json"
        job.write_text(json.dumps(self._job(calls)))
        sessions: list[Session] = []
        code = -9
        while code == -9:
            session, code = self._session(job, faults or [])
            sessions.append(session)
            faults = []
        if code:
            raise SystemExit(f"{name} ended with exit code {code}")
        return Run.read(self.folder / name, calls, sessions)

    def _session(self, job: Path, faults: Faults) -> tuple[Session, int]:
        command = [sys.executable, "-W", "ignore", "-m", "tests.server.fault_injection"]
        command += ["run", str(job)]
        command += ["-o", str(job.with_suffix("")), "-q", "--no-plots"]
        environment = {**os.environ, "FORKRUN_CHAOS": json.dumps(faults)}
        start_s = time.time()
        ended = subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=False)
        return Session(start_s, time.time()), ended.returncode

    def _job(self, calls: Path) -> dict[str, Any]:
        params = {"per_event_s": self.per_event_s, "calls": str(calls)}
        module = {"label": "sleeps", "type": f"python:{MODULE}:Sleeps", "params": params}
        return {
            "source": {"files": [str(self.folder / "sample.root")]},
            "forking": {"children": self.children},
            "conditions": [{"label": "big", "type": "npy", "file": str(self.folder / "big.npy")}],
            "modules": [module],
            "paths": {"all": ["sleeps"]},
            "outputs": [{"label": "events", "paths": ["all"]}],
        }


def kills(units: list[int], fault: str = "SIGKILL") -> Faults:
    """As late as can be: all of each unit is lost."""
    return [{"fault": fault, "at": "before_rename", "unit": unit} for unit in units]


def kill_one(undisturbed: Run, _children: int) -> Faults:
    """In the middle of the job."""
    return kills(undisturbed.units_at(0.5, 1))


def kill_in_turn(undisturbed: Run, children: int) -> Faults:
    """As many deaths as children, spread over the job."""
    fractions = [(number + 1) / (children + 1) for number in range(children)]
    return kills([unit for f in fractions for unit in undisturbed.units_at(f, 1)])


def kill_all(undisturbed: Run, children: int) -> Faults:
    """The units that all children have in flight in the middle of the job."""
    return kills(undisturbed.units_at(0.5, children))


def kill_parent(undisturbed: Run, _children: int) -> Faults:
    """In the middle of the job; its children end with it."""
    return kills(undisturbed.units_at(0.5, 1), "kill_parent")


CASES: dict[str, Callable[[Run, int], Faults]] = {
    "one": kill_one,
    "in_turn": kill_in_turn,
    "all": kill_all,
    "parent": kill_parent,
}


def one_round(bench: Bench, number: int, cases: list[str]) -> dict[str, dict[str, Any]]:
    """Every case between two undisturbed jobs, and compared with the mean of these."""
    before = bench.run(f"{number}-before")
    runs = {
        case: bench.run(f"{number}-{case}", CASES[case](before, bench.children)) for case in cases
    }
    undisturbed = compare_undisturbed(before, bench.run(f"{number}-after"))
    found = {"undisturbed": undisturbed}
    for case, run in runs.items():
        compare = compare_resumed if len(run.sessions) > 1 else compare_killed
        found[case] = compare(run, undisturbed, bench.children)
        print(f"round {number}, {case}: {100 * found[case]['extra']:+.2f} %", flush=True)
    print(f"round {number}, undisturbed: differ by {100 * undisturbed['extra']:+.2f} %", flush=True)
    return found


def compare_undisturbed(before: Run, after: Run) -> dict[str, Any]:
    """Means; `extra`: by which they differ although nothing died."""
    loop_s = (before.event_loop_s + after.event_loop_s) / 2
    return {
        "event_loop_s": loop_s,
        "wall_s": (before.wall_s + after.wall_s) / 2,
        "idle_at_end": (before.idle_at_end + after.idle_at_end) / 2,
        "extra": (after.event_loop_s - before.event_loop_s) / loop_s,
    }


def compare_killed(run: Run, undisturbed: dict[str, Any], children: int) -> dict[str, Any]:
    """`extra`: of the event loop, beyond lost work, over the undisturbed one. `accounted`: the same
    from the times of the deaths alone: from a last event to the next child's first one, and what
    a unit takes longer when it is processed again."""
    deaths, loop_s = run.deaths(), undisturbed["event_loop_s"]
    lost_s = sum(death["lost"] for death in deaths)
    accounted_s = sum(d["first_event"] + d["redone"] - d["lost"] for d in deaths)
    return {
        "event_loop_s": run.event_loop_s,
        "idle_at_end": run.idle_at_end,
        "deaths": deaths,
        "lost_s": lost_s,
        "extra": (run.event_loop_s - loop_s - lost_s / children) / loop_s,
        "accounted": accounted_s / children / loop_s,
    }


def compare_resumed(run: Run, undisturbed: dict[str, Any], children: int) -> dict[str, Any]:
    """`extra`: of the wall time of both parents, beyond lost work; `accounted`: `start_up` of the
    second one."""
    lost_s, wall_s = run.lost_with_parent(), undisturbed["wall_s"]
    start_up = run.start_up(run.sessions[1])
    extra_s = run.wall_s - wall_s - lost_s / children
    return {
        "wall_s": run.wall_s,
        "idle_at_end": run.idle_at_end,
        "lost_s": lost_s,
        "start_up": start_up,
        "extra": extra_s / wall_s,
        "extra_s": extra_s,
        "accounted": start_up["all"] / wall_s,
    }


def print_results(
    results: dict[str, list[dict[str, Any]]],
    rounds: list[dict[str, dict[str, Any]]],
    children: int,
) -> None:
    """Medians of the rounds; extra time with its range."""
    undisturbed = [done["undisturbed"] for done in rounds]
    loop_s = _median(undisturbed, "event_loop_s")
    print(f"\n{children} children, event loop {loop_s:.2f} s undisturbed, {len(rounds)} rounds\n")
    print(f"{'':13}{'deaths':>7}{'lost':>9}{'noticed':>10}{'forked':>10}{'first event':>13}"
          f"{'extra wall time':>28}{'accounted':>11}")  # fmt: skip
    for case, found in {"undisturbed": undisturbed, **results}.items():
        extra = [100 * figures["extra"] for figures in found]
        words = f"{median(extra):+.2f} % ({min(extra):+.2f} to {max(extra):+.2f})"
        print(f"{case:13}{_of_deaths(found)}{words:>28}{_median(found, 'accounted', 100):9.2f} %")
    for figures in results.get("parent", []):
        steps = ", ".join(f"{name} {time_s:.2f}" for name, time_s in figures["start_up"].items())
        print(f"parent: {figures['extra_s']:.2f} s beyond lost work; second start [s]: {steps}")


def _of_deaths(found: list[dict[str, Any]]) -> str:
    deaths = [death for figures in found for death in figures.get("deaths", [])]
    lost = f"{_median(found, 'lost_s'):7.2f} s"
    if not deaths:
        return f"{'':7}{lost}{'':33}"
    times = [1e3 * median(d[name] for d in deaths) for name in ("noticed", "forked", "first_event")]
    n_deaths = len(deaths) / len(found)
    return f"{n_deaths:7.3g}{lost}{times[0]:7.1f} ms{times[1]:7.1f} ms{times[2]:10.1f} ms"


def _median(found: list[dict[str, Any]], name: str, scale: float = 1.0) -> float:
    return scale * median(float(figures.get(name, 0.0)) for figures in found)


if __name__ == "__main__":
    main()
