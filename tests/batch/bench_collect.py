"""What it costs to collect a job of many nodes, against the same commits on few: both run
directories are made of what one node has done.

python tests/batch/bench_collect.py --lumis 4000 --nodes 10 1000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from forkrun.merge.node_outputs import write_node_sums
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import read_ledgers
from forkrun.rundir.nodes import NodeRanges
from tests.support.jobs import environment, forkrun, jets_job, lumi_by_lumi, output_digests
from tests.support.jobs import write_job as write

_EVENTS = 50
"""Of a lumi."""


def prepare(job: Path, run: Path, n_nodes: int) -> RunDirectory:
    """A run directory in which nothing was done."""
    shape = ("--on", "local", "--nodes", n_nodes, "--dry-run", "-q")
    ended = forkrun("submit", job, *shape, "-o", run, cwd=job.parent)
    assert ended.code == 0, ended.err
    return RunDirectory(run)


def divide(done: RunDirectory, folder: RunDirectory) -> None:
    """Gives the commits of a job on one node to the nodes that have their units, which add up
    their histograms and accumulators as nodes do that are done."""
    ranges = NodeRanges.read(folder)
    lines: dict[int, list[str]] = {}
    for commit in sorted(read_ledgers(done.ledger), key=lambda c: c.unit):
        number = ranges.node_of(commit.unit)
        assert commit.units.stop <= ranges.first_unit[number + 1]
        for part in commit.parts:
            place = folder.node(number).path / part.file
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(done.path / part.file, place)
        own = replace(commit, unit=commit.unit - ranges.first_unit[number])
        lines.setdefault(number, []).append(own.to_line())
    for number, own_lines in lines.items():
        ledger = folder.node(number).ledger
        ledger.mkdir(parents=True)
        (ledger / "child-000.jsonl").write_text("".join(own_lines))
        write_node_sums(folder.node(number), read_ledgers(ledger))


def make(folder: Path, n_lumis: int, numbers: list[int]) -> dict[int, Path]:
    """A run directory for each number of nodes."""
    sample = folder / "input.root"
    shape = ("--events", n_lumis * _EVENTS, "--lumis", n_lumis)
    assert forkrun("sample", sample, *shape, cwd=folder).code == 0
    described = lumi_by_lumi(jets_job([sample]))
    described["forking"] = {
        "children": 2, "min_unit_events": _EVENTS, "max_unit_events": _EVENTS
    }  # fmt: skip
    described["merge"] = {"keep_temporary": True}
    job = write(folder, described)
    done = prepare(job, folder / "done", 1)
    command = [sys.executable, "-m", "forkrun", "node", str(done.path), "0", "-q"]
    subprocess.run(command, env=environment(), check=True)
    runs = {n: folder / f"nodes-{n}" for n in numbers}
    for n, run in runs.items():
        divide(done.node(0), prepare(job, run, n))
    return runs


def collect(run: Path) -> tuple[float, float]:
    """Wall time and CPU time of `forkrun collect`, from nothing."""
    shutil.rmtree(run / "output", ignore_errors=True)
    (run / "ledger/merge.json").unlink(missing_ok=True)
    before, begin_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "forkrun", "collect", str(run), "-q"]
    subprocess.run(command, env=environment(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begin_s, cpu_s


def main() -> None:
    """Prints medians of times, and of ratios to the first number of nodes in the same round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lumis", type=int, default=2000)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10, 1000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forkrun-collect-") as place:
        runs = make(Path(place), options.lumis, options.nodes)
        times: dict[int, list[tuple[float, float]]] = {n: [] for n in runs}
        for _ in range(options.rounds):
            for n, run in runs.items():
                times[n].append(collect(run))
        assert len({json.dumps(output_digests(run)) for run in runs.values()}) == 1
    for n, found in times.items():
        wall_s, cpu_s = (median(each) for each in zip(*found, strict=True))
        pairs = list(zip(found, times[options.nodes[0]], strict=True))
        wall, cpu = (median(own[k] / first[k] for own, first in pairs) for k in (0, 1))
        print(f"{n} nodes: {wall_s:.2f} s ({wall:.2f} ×), CPU {cpu_s:.2f} s ({cpu:.2f} ×)")


if __name__ == "__main__":
    main()
