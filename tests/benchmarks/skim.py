"""(b) The dimuon skim with all branches kept, one child with one thread."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import uproot
from timing import Result, measure

CONFIG = Path(__file__).parents[2] / "configs" / "nanoaod_cpp.toml"


def run(name: str, path: Path, snapshot: Path, folder: Path, repeats: int) -> list[Result]:
    """The whole processes, from start to a final file, and their event loops alone."""
    run_dir, theirs = folder / "skim-run", folder / "snapshot.root"
    loops: dict[str, list[float]] = {"forkrun run (processing and merge)": [], "RDataFrame": []}

    def forkrun() -> float:
        wall_s = _forkrun(path, run_dir)
        loops["forkrun run (processing and merge)"].append(_loop_s(run_dir))
        return wall_s

    def rdataframe() -> float:
        start_s = time.perf_counter()
        out = subprocess.run([snapshot, path, theirs], check=True, capture_output=True, text=True)
        loops["RDataFrame"].append(float(out.stdout.split()[0]))
        return time.perf_counter() - start_s

    times = measure({"forkrun run": forkrun, "compiled RDataFrame Snapshot": rdataframe}, repeats)
    ours = run_dir / "output" / "events.root"
    notes = {
        "same events": _same_events(ours, theirs),
        "bytes": {"forkrun": ours.stat().st_size, "RDataFrame": theirs.stat().st_size},
    }
    whole = Result(f"(b) skim, {name}: whole process", "compiled RDataFrame Snapshot", times, notes)
    counted = {way: values[1:] for way, values in loops.items()}
    return [whole, Result(f"(b) skim, {name}: event loop alone", "RDataFrame", counted)]


def _forkrun(path: Path, run_dir: Path) -> float:
    """Wall time of a job without the new columns, which RDataFrame's file has not either."""
    start_s = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "forkrun", "run", CONFIG, path, "-o", run_dir, "--force", "--quiet",
         "--children", "1", "--threads", "1", "--executor", "serial",
         "--set", 'outputs.events.drop=["Dimuon_mass", "GoodMuon_pt"]'],
        check=True,
    )  # fmt: skip
    return time.perf_counter() - start_s


def _loop_s(run_dir: Path) -> float:
    """Processing of the child plus the merge, from the report."""
    report = json.loads((run_dir / "report.json").read_text())
    return float(report["totals"]["processing_s"] + (report["phases"]["merge_s"] or 0.0))


def _same_events(ours: Path, theirs: Path) -> str:
    """The number of events, which are the same in both files, or an error."""
    one, other = _ids(ours), _ids(theirs)
    np.testing.assert_array_equal(one, other)
    return (
        f"{one.shape[1]}, in the same order, {_n_branches(ours)} and {_n_branches(theirs)} branches"
    )


def _ids(path: Path) -> npt.NDArray[np.uint64]:
    with uproot.open(path) as file:
        arrays = file["Events"].arrays(["run", "luminosityBlock", "event"], library="np")
    return np.stack([column.astype(np.uint64) for column in arrays.values()])


def _n_branches(path: Path) -> int:
    with uproot.open(path) as file:
        return len(file["Events"].keys())
