"""Reading columns: all of an RNTuple against ROOT's bulk reads, 14 of them and members of objects
into Python against uproot with its keys known and RDataFrame's loop; and what two threads gain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import uproot

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from compile import compile_program  # noqa: E402
from read_each import each_once  # noqa: E402
from reading import COLUMNS  # noqa: E402
from timing import Cost, Result, measure, timed  # noqa: E402

from forkrun import _core, merge_files  # noqa: E402

OBJECTS = {
    "EDM4hep": ("p8_ee_WW_ecm240_edm4hep.root", "events", 200, [
        "Particle.momentum.x:d", "Particle.momentum.y:d", "Particle.momentum.z:d", "Particle.PDG:i",
        "ReconstructedParticles.energy:f", "ReconstructedParticles.momentum.x:f",
        "ReconstructedParticles.momentum.y:f", "ReconstructedParticles.momentum.z:f",
    ]),
    "Delphes": ("delphes.root", "Delphes", 40, [
        "Jet.PT:f", "Jet.Eta:f", "Jet.Phi:f", "Jet.Mass:f", "Track.PT:f", "Track.Eta:f",
        "Particle.PT:f", "Particle.PID:i",
    ]),
}  # fmt: skip
"""By what wrote it: a file, its tree, how often it is joined with itself, and columns with their
types."""


def run(ntuple: Path, folder: Path, programs: Path, repeats: int) -> list[Result]:
    """All of it but objects. `ntuple`: real NanoAOD."""
    return [
        _all_columns(ntuple, programs, repeats),
        _columns_into_python(ntuple, max(repeats, 5)),
        *_two_threads(ntuple, folder, repeats),
    ]


def run_objects(folder: Path, programs: Path, repeats: int) -> list[Result]:
    """Members of objects in trees, where there are files with them."""
    data = Path(os.environ.get("FORKRUN_TEST_DATA", "../shared/data")) / "objects"
    results = []
    for kind, (name, tree, n_times, columns) in OBJECTS.items():
        if not (data / name).exists():
            print(f"SKIPPED: {kind}, for lack of {data / name}", flush=True)
            continue
        file = folder / f"{kind}-{n_times}.root"
        if not file.exists():
            with warnings.catch_warnings(action="ignore"):  # the same file again and again
                merge_files([data / name] * n_times, file)
        results.append(_objects(kind, file, tree, columns, programs, max(repeats, 5)))
    return results


def _all_columns(file: Path, programs: Path, repeats: int) -> Result:
    """Each in a new process, which reads all twice: the second time counts, so that neither
    interpreters nor the first use of memory do."""
    program = compile_program("output/read_bulk", programs)
    peaks: list[float] = []

    def ours() -> Cost:
        *costs, peak_mb = _lines_of([sys.executable, HERE / "read_each.py", file])
        peaks.append(float(peak_mb))
        return _second(costs)

    ways = {
        "forkrun": ours,
        "ROOT's ReadBulk of leaves": lambda: _second(_lines_of([program, file, "Events", 2])),
    }
    costs = measure(ways, repeats)
    notes = {"columns": len(each_once(str(file))), "peak of a process [MB]": max(peaks)}
    return Result("(e) all columns of an RNTuple", "ROOT's ReadBulk of leaves", costs, notes)


def _columns_into_python(path: Path, repeats: int) -> Result:
    """Both have the file open, and know what is in it."""
    with uproot.open(path, array_cache=None) as file:
        theirs, ours = file["Events"], _core.OpenTree(str(path), "Events")
        theirs.keys()
        ways = {
            "forkrun, columns to NumPy": lambda: timed(lambda: ours.read(COLUMNS)),
            "forkrun, opened anew": lambda: timed(
                lambda: _core.read_columns(str(path), "Events", COLUMNS)
            ),
            "uproot, keys known": lambda: timed(lambda: theirs.arrays(COLUMNS)),
        }
        costs = measure(ways, repeats)
    return Result("(f) 14 columns of an RNTuple into Python", "uproot, keys known", costs)


def _objects(
    kind: str, file: Path, tree: str, columns: list[str], programs: Path, repeats: int
) -> Result:
    program = compile_program("output/sum_columns", programs)
    names = [column.rpartition(":")[0] for column in columns]
    sums: list[list[float]] = []

    def rdataframe() -> Cost:
        costs = _lines_of([program, file, tree, 2, *columns])
        sums.append([float(line) for line in costs[2:]])
        return _second(costs)

    with uproot.open(file, array_cache=None) as opened:
        branches = [opened[tree][name] for name in names]
        ours = _core.OpenTree(str(file), tree)
        ways: dict[str, Callable[[], Cost]] = {
            "forkrun, columns to NumPy": lambda: timed(lambda: ours.read(names)),
            "uproot, keys known": lambda: timed(lambda: [branch.array() for branch in branches]),
            "RDataFrame, loop alone": rdataframe,
        }
        costs = measure(ways, repeats)
    read = ours.read(names)
    np.testing.assert_allclose(sums[-1], [read[name][-1].sum(dtype=float) for name in names])
    return Result(f"(g) 8 columns of objects, {kind}", "uproot, keys known", costs)


def _two_threads(file: Path, folder: Path, repeats: int) -> list[Result]:
    """Loops and merges of one child with two threads and with one."""
    with uproot.open(file) as opened:
        half = float(np.median(opened["Events"]["MET_pt"].array(library="np")))
    columns = json.dumps(each_once(str(file)))
    results = []
    for what, job, setting, phase in (
        ("reading all columns: loop", "read_job.toml", f"reads.params.columns={columns}",
         "processing_s"),
        ("half of the events into an RNTuple: merge", "job.toml", f"cut.params.least={half!r}",
         "merge_s"),
    ):  # fmt: skip
        command = [
            sys.executable, "-m", "forkrun", "run", HERE / job, file, "-o", folder / "run",
            "--quiet", "--force", "--children", "1", "--set", f"modules.{setting}", "--threads",
        ]  # fmt: skip
        ways = {
            "2 threads": partial(_phase_of, [*command, 2], folder / "run", phase),
            "1 thread": partial(_phase_of, [*command, 1], folder / "run", phase),
        }
        results.append(Result(f"(h) {what}", "1 thread", measure(ways, repeats)))
    return results


def _phase_of(command: Sequence[object], run_dir: Path, phase: str) -> Cost:
    _lines_of(command)
    report = json.loads((run_dir / "report.json").read_text())
    return Cost({**report["phases"], **report["totals"]}[phase], None)


def _lines_of(command: Sequence[object]) -> list[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


def _second(lines: Sequence[str]) -> Cost:
    wall_s, cpu_s = map(float, lines[1].split())
    return Cost(wall_s, cpu_s)
