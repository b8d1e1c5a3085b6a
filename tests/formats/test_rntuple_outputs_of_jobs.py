"""Jobs with datasets, variations, friends and a child that dies write RNTuples as trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import forkrun, output_digests

JOB = """
import os
import signal
from pathlib import Path

import forkrun

job = forkrun.Job({{"tt": ["tt.root"], "dy": ["dy.root"]}}, name="datasets",
                  friends={{"files": ["more_tt.root", "more_dy.root"], "prefix": "more_"}})
job.vary("Jet_pt", "jes", up="1.1 * Jet_pt", down="0.9 * Jet_pt")
DIED = Path({died!r})


@job.producer
def doubled(block):
    if max(block.event, default=0) > 1200 and not DIED.exists():  # not one of the first
        DIED.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {{"twice": 2 * block.more_MET_pt}}


job.path("jets").filter("sum(Jet_pt) > 60").filter("twice > 1")
job.output("skim", paths=["jets"], keep=["*"], variations="all", format={format!r},
           flat_names=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    for seed, name in enumerate(("tt", "dy"), 1):
        settings = SampleSettings(n_events=1500, n_branches=100, seed=seed, cluster=500)
        write_sample(folder / f"{name}.root", settings)
        write_sample(folder / f"more_{name}.root", settings)
    return folder


def run(folder: Path, name: str, form: str, children: int, dies: bool = False) -> Path:
    died = folder / f"{name}.died"
    if not dies:
        died.touch()
    (folder / f"{name}.py").write_text(JOB.format(died=str(died), format=form))
    ended = forkrun("run", f"{name}.py", "-o", name, "--children", children, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / name


def values(file: Path) -> dict[str, Any]:
    """Those of every column that trees have, too."""
    with uproot.open(file) as opened:
        arrays = opened["Events"].arrays()
        return {name: ak.to_list(arrays[name]) for name in arrays.fields}


@pytest.mark.slow
def test_of_datasets_variations_and_friends_as_trees_have_them(folder: Path) -> None:
    ntuples, trees = (run(folder, f"as_{form}", form, 2) for form in ("rntuple", "ttree"))
    files = [f"output/skim/{dataset}.root" for dataset in ("tt", "dy")]
    assert all((ntuples / file).exists() for file in files)
    for file in files:
        found, wanted = values(ntuples / file), values(trees / file)
        assert len(wanted["event"]) > 10
        for name, column in wanted.items():
            assert found[name] == column, name


@pytest.mark.long
def test_the_same_bytes_when_a_child_was_killed(folder: Path) -> None:
    killed = run(folder, "killed", "rntuple", 2, dies=True)
    assert "died (killed by signal 9" in (killed / "report.txt").read_text()
    whole = run(folder, "whole", "rntuple", 0)
    assert output_digests(killed) == output_digests(whole)
