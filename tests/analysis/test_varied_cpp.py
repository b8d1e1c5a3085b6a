"""Modules in C++ run again for variations as those in Python do, and see what is replaced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import forkrun
from tests.support.jobs import ROOT
from tests.support.jobs import forkrun as command

MUONS = "{ pt_min = 5.0, eta_max = 2.4 }"
VARIED = """
[[modules]]
label = "calibrated"
type = "expression:1.01 * Muon_pt"
kind = "producer"
replaces = ["Muon_pt"]
[[modules]]
label = "up"
type = "expression:1.1 * Muon_pt"
kind = "producer"
replaces = ["Muon_pt"]
variation = "scale_up"
"""


def configuration(name: str, kind: str) -> str:
    types = ("TwoMuons", "DimuonMass", "MassWindow", "DimuonPlots")
    params = (MUONS, MUONS, "{ low = 60.0, high = 120.0 }", "{}")
    modules = "".join(
        f'[[modules]]\nlabel = "{each}"\ntype = "{kind}{each}"\nparams = {given}\n'
        for each, given in zip(types, params, strict=True)
    )
    return f"""
job = {{ name = "{name}", plugins = ["forkrun_modules"] }}
source = {{ files = ["sample.root"] }}
{VARIED}
{modules}
[paths]
skim = ["TwoMuons", "MassWindow", "DimuonPlots"]
"""


@pytest.mark.slow
def test_both_give_the_same_in_all_variations(tmp_path: Path) -> None:
    shape = ["--events", 3000, "--runs", 1, "--lumis", 3]
    assert command("sample", "sample.root", *shape, "--quiet", cwd=tmp_path).code == 0
    found = {}
    for name, kind in (("cpp", "cpp:"), ("python", f"python:{ROOT}/configs/modules.py:")):
        (tmp_path / f"{name}.toml").write_text(configuration(name, kind))
        options = ["--children", "2", "--threads", "2"]
        ended = command("run", f"{name}.toml", *options, cwd=tmp_path)
        assert ended.code == 0, ended.err
        found[name] = forkrun.Result.read(tmp_path / f"{name}-run").histograms
    assert sorted(found["cpp"]) == sorted(found["python"])
    for name, histogram in found["cpp"].items():
        other = found["python"][name]
        assert list(histogram.axes[-1]) == ["nominal", "scale_up"]
        assert histogram.view(flow=True).tobytes() == other.view(flow=True).tobytes()
    mass = found["cpp"]["DimuonPlots/mass"].values()
    assert not np.array_equal(mass[:, 0], mass[:, 1])
