"""(b) The dimuon skim with all branches kept, one child with one thread."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import uproot
from timing import Cost, Result, measure, timed

CONFIG = Path(__file__).parents[2] / "configs" / "nanoaod_cpp.toml"


def run(name: str, path: Path, snapshot: Path, folder: Path, repeats: int) -> list[Result]:
    """The whole processes, from start to a final file, and their event loops alone."""
    run_dir, theirs = folder / "skim-run", folder / "snapshot.root"
    loops: dict[str, list[Cost]] = {"forkrun run (processing and merge)": [], "RDataFrame": []}
    ours_loop, their_loop = loops.values()

    def forkrun(*options: str) -> Cost:
        cost = timed(lambda: _run_forkrun(path, run_dir, *options))
        ours_loop.append(_loop(run_dir))
        return cost

    def rdataframe() -> Cost:
        text: list[str] = []
        cost = timed(lambda: text.append(_run_snapshot(snapshot, path, theirs)))
        their_loop.append(Cost(float(text[0].split()[0]), None))
        return cost

    timers = {
        "forkrun run --no-plots": lambda: forkrun("--no-plots"),
        "forkrun run, with the report's plots": forkrun,
        "compiled RDataFrame Snapshot": rdataframe,
    }
    costs = measure(timers, repeats)
    ours = run_dir / "output" / "events.root"
    notes = {
        "same events": _same_events(ours, theirs),
        "bytes": {"forkrun": ours.stat().st_size, "RDataFrame": theirs.stat().st_size},
    }
    whole = Result(f"(b) skim, {name}: whole process", "compiled RDataFrame Snapshot", costs, notes)
    counted = {way: measured[1:] for way, measured in loops.items()}
    return [whole, Result(f"(b) skim, {name}: event loop alone", "RDataFrame", counted)]


def _run_forkrun(path: Path, run_dir: Path, *options: str) -> None:
    """A job without the new columns, which RDataFrame's file has not either."""
    subprocess.run(
        [sys.executable, "-m", "forkrun", "run", CONFIG, path, "-o", run_dir, "--force", "--quiet",
         "--children", "1", "--threads", "1", "--executor", "serial", *options,
         "--set", 'outputs.events.drop=["Dimuon_mass", "GoodMuon_pt"]'],
        check=True,
    )  # fmt: skip


def _run_snapshot(program: Path, path: Path, output: Path) -> str:
    command = [program, path, output]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _loop(run_dir: Path) -> Cost:
    """Processing of the child plus the merge, from the report."""
    report = json.loads((run_dir / "report.json").read_text())
    merge_s = report["phases"]["merge_s"] or 0.0
    return Cost(report["totals"]["processing_s"] + merge_s, None)


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
