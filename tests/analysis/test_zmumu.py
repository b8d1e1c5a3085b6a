"""The example analysis of configs/zmumu gives, bin by bin, what a plain program with Awkward Array
and hist gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import uproot

import forkrun
from tests.analysis import plain_zmumu
from tests.support.jobs import PATIENCE_S, ROOT, environment

PROGRAM = ROOT / "configs/zmumu/zmumu.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zmumu")


@pytest.fixture(scope="module")
def result(folder: Path, real_data: Path) -> forkrun.Result:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(real_data)], cwd=folder, env=environment(), text=True,
        capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return forkrun.Result.read(folder / "zmumu-run")


def test_all_bins_of_all_datasets_and_variations_are_equal(
    result: forkrun.Result, real_data: Path
) -> None:
    plain = plain_zmumu.run(real_data, PROGRAM.parent / "muon_scale.json")
    for name, expected in plain["histograms"].items():
        found = result.histograms[name]
        assert [list(axis) for axis in found.axes[1:]] == [list(a) for a in expected.axes[1:]]
        assert expected.sum(flow=True).value != 0
        up = found[{"dataset": "dy", "variation": "scale_up"}]
        assert up.values().tolist() == found[:, "dy", "scale_up"].values().tolist()
        for quantity in ("values", "variances"):
            given, wanted = (getattr(h, quantity)() for h in (found, expected))
            np.testing.assert_allclose(given, wanted, rtol=1e-12)
    skims = [result.output("skim", name) for name in ("data", "dy", "ttbar")]
    columns = ["event", "forkrun_paths_main"]
    skimmed = uproot.concatenate([f"{skim}:Events" for skim in skims], columns)
    assert skimmed.event.tolist() == plain["events"]
    assert skimmed.forkrun_paths_main.tolist() == [True] * len(plain["events"])
    of_each = result.cutflow["main"].datasets.values()
    counts = [[cut["n_events"] for cut in cuts] for cuts in of_each]
    assert np.sum(counts, axis=0).tolist() == plain["cutflow"]
