"""Merging many RNTuples against hadd, and reading columns of what came of it against a file of the
same events that was written at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uproot

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import merging  # noqa: E402
from compile import compile_program  # noqa: E402
from reading import COLUMNS  # noqa: E402
from timing import Cost, Result, measure, timed  # noqa: E402

from forkrun import _core, merge_files  # noqa: E402
from forkrun.studies.sample.settings import SampleSettings  # noqa: E402
from forkrun.studies.sample.write import write_sample  # noqa: E402

_N_FILES = 100
_PER_FILE = 500
_SUMMED = [
    f"{column}:f"
    for column in (
        "Electron_pt", "Electron_eta", "Electron_phi", "Jet_pt", "Jet_eta", "Jet_phi", "Jet_mass",
        "Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass", "Tau_pt", "Tau_eta", "Tau_phi",
    )
]  # fmt: skip


def as_rntuple(file: Path) -> Path:
    """The same events in an RNTuple; made if it is not there."""
    ntuple = file.with_suffix(".ntuple.root")
    if not ntuple.exists():
        merge_files(file, ntuple, format="rntuple")
    return ntuple


def run_generated(folder: Path, repeats: int) -> Result:
    """900 columns of generated events."""
    settings = SampleSettings(
        n_events=_PER_FILE * _N_FILES, n_files=_N_FILES, n_branches=900, n_runs=1,
        lumis_per_run=_N_FILES,
    )  # fmt: skip
    parts = [as_rntuple(tree) for tree in write_sample(folder / "many.root", settings)]
    return merging.run("RNTuples of 500 events", parts, folder, repeats)


def run_real(real: Path, folder: Path, programs: Path, repeats: int) -> list[Result]:
    """All columns of real NanoAOD. `real`: the file that is replicated."""
    with uproot.open(real) as file:
        repetitions = -(-_PER_FILE * _N_FILES // file["Events"].num_entries)
    stem, whole = folder / "real-part", folder / "real-whole.root"
    trees = [Path(f"{stem}-{number}.root") for number in range(_N_FILES)]
    for out, options in ((stem, [_N_FILES]), (whole, [])):
        if not (trees[-1] if options else out).exists():
            program = compile_program("output/replicate", programs)
            command = [program, real, out, repetitions, _PER_FILE, *options]
            subprocess.run(list(map(str, command)), check=True)
    parts, at_once = list(map(as_rntuple, trees)), as_rntuple(whole)
    merged = merging.run("RNTuples of 500 real events", parts, folder, repeats)
    return [merged, *_read(folder / "forkrun-merged.root", at_once, programs, max(repeats, 5))]


def _read(merged: Path, at_once: Path, programs: Path, repeats: int) -> list[Result]:
    """Each reader opens the file anew."""
    program = compile_program("output/sum_columns", programs)

    def with_forkrun(path: Path) -> Cost:
        return timed(lambda: _core.read_columns(str(path), "Events", COLUMNS))

    def with_uproot(path: Path) -> Cost:
        def read() -> None:
            with uproot.open(path, array_cache=None) as file:
                file["Events"].arrays(COLUMNS)

        return timed(read)

    def with_rdataframe(path: Path) -> Cost:
        command = [str(program), str(path), "Events", "2", *_SUMMED]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        wall_s, cpu_s = map(float, done.stdout.splitlines()[1].split())
        return Cost(wall_s, cpu_s)

    readers: dict[str, Callable[[Path], Cost]] = {
        "forkrun": with_forkrun,
        "uproot": with_uproot,
        "RDataFrame, loop alone": with_rdataframe,
    }
    results = []
    for name, read in readers.items():
        ways = {"merged": partial(read, merged), "written at once": partial(read, at_once)}
        case = f"(c) 14 columns of what was merged, {name}"
        results.append(Result(case, "written at once", measure(ways, repeats)))
    return results
