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
from tests.support.jobs import PATIENCE_S, ROOT, environment, output_digests
from tests.support.jobs import forkrun as command

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


@pytest.mark.long
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
    for dataset, events in plain["events"].items():
        skimmed = uproot.open(result.output("skim", dataset))["Events"]
        assert skimmed["event"].array().tolist() == events
        assert skimmed["forkrun_paths_main"].array().tolist() == [True] * len(events)
    cutflows = result.cutflow["main"].datasets
    counts = {name: [cut["n_events"] for cut in cuts] for name, cuts in cutflows.items()}
    assert counts == plain["cutflow"]


@pytest.mark.long
def test_the_same_program_gives_the_same_bytes_on_three_nodes(
    folder: Path, result: forkrun.Result, real_data: Path
) -> None:
    shape = ("--on", "local", "--nodes", 3, "-o", "many", "-q")
    ended = command("submit", PROGRAM, *shape, "--", real_data, cwd=folder)
    assert ended.code == 0, ended.err
    made = forkrun.Submission.read(folder / "many")
    assert [str(node.state) for node in made.wait(quiet=True).nodes] == ["done"] * 3
    made.collect(quiet=True)
    assert output_digests(folder / "many") == output_digests(result.run_directory)
