"""(a) Reading 14 columns into Python arrays."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import awkward as ak
import numpy as np
import uproot
from timing import Cost, Result, measure, timed

from forkrun import _core

COLUMNS = [
    "run", "luminosityBlock", "event", "genWeight", "MET_pt", "MET_phi", "PV_npvs",
    "Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge", "Jet_pt", "Jet_eta", "Jet_btagDeepFlavB",
]  # fmt: skip
WITH_COUNTERS = ["nMuon", "nJet", *COLUMNS]


def read_with_forkrun(path: Path) -> dict[str, object]:
    """Arrays, jagged ones as (offsets, values)."""
    return dict(_core.read_columns(str(path), "Events", COLUMNS))


def read_as_awkward(path: Path) -> dict[str, object]:
    """The same with the jagged ones as Awkward Arrays, as modules see them; nothing is copied."""
    return {name: _awkward(column) for name, column in read_with_forkrun(path).items()}


def _awkward(column: object) -> object:
    if not isinstance(column, tuple):
        return column
    offsets, values = column
    layout = ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(values))
    return ak.Array(layout)


def read_with_uproot(path: Path) -> ak.Array:
    """Opened anew, so that nothing is cached but the file's pages."""
    with uproot.open(path) as file:
        return file["Events"].arrays(COLUMNS)


def run(n_events: int, path: Path, get_entry: Path, repeats: int) -> Result:
    """Times are per pass over the file. All ways use one thread."""
    check_equal(path)
    timers: dict[str, Callable[[], Cost]] = {
        "forkrun, columns to NumPy": lambda: timed(lambda: read_with_forkrun(path)),
        "forkrun, columns to Awkward": lambda: timed(lambda: read_as_awkward(path)),
        "uproot.open(...).arrays": lambda: timed(lambda: read_with_uproot(path)),
        "compiled TBranch::GetEntry loop": lambda: _get_entry(get_entry, path),
    }
    times = measure(timers, max(repeats, 5))
    return Result(
        f"(a) 14 columns of {n_events:,} events into Python", "uproot.open(...).arrays", times
    )


def check_equal(path: Path) -> None:
    """Both give the same values, bit for bit."""
    theirs = read_with_uproot(path)
    for name, ours in read_with_forkrun(path).items():
        if isinstance(ours, tuple):
            np.testing.assert_array_equal(np.diff(ours[0]), ak.to_numpy(ak.num(theirs[name])))
            ours, wanted = ours[1], ak.to_numpy(ak.flatten(theirs[name]))
        else:
            wanted = ak.to_numpy(theirs[name])
        np.testing.assert_array_equal(ours, wanted)


def _get_entry(program: Path, path: Path) -> Cost:
    """The second of two passes, so that ROOT's start-up does not count."""
    command = [str(program), str(path), "2", *WITH_COUNTERS]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall_s, cpu_s = map(float, text.splitlines()[1].split())
    return Cost(wall_s, cpu_s)
