"""A Z → μμ over data and three simulations, with a signal and a control region, runs from one
program here and on many nodes, and equals a plain program in every bin, yield and event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import forkrun
from tests.analysis import plain_regions
from tests.analysis.zmumu_files import write_all
from tests.support.jobs import ROOT, output_digests, program
from tests.support.jobs import forkrun as command

PROGRAM = ROOT / "configs/zmumu/regions.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("regions")
    write_all(place)
    return place


@pytest.fixture(scope="module")
def here(folder: Path) -> forkrun.Result:
    """The job on this machine, as `python PROGRAM FOLDER` runs it."""
    done = program(PROGRAM, folder, cwd=folder)
    assert done.code == 0, done.err
    assert "Muon_pt, weight: replaced and varied in simulation alone" in done.err
    return forkrun.Result.read(folder / "regions-run")


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[str, Any]:
    return plain_regions.run(folder)


@pytest.mark.slow
def test_every_bin_of_every_dataset_and_variation_is_that_of_the_plain_program(
    here: forkrun.Result, plain: dict[str, Any]
) -> None:
    for region, histograms in plain["histograms"].items():
        for name, expected in histograms.items():
            found = here.histograms[f"{region}_{name}/{name}"]
            assert [list(axis) for axis in found.axes[1:]] == [list(a) for a in expected.axes[1:]]
            for quantity in ("values", "variances"):
                given, wanted = (getattr(h, quantity)(flow=True) for h in (found, expected))
                np.testing.assert_allclose(given, wanted, rtol=1e-12, atol=1e-12)
            data = found[:, "data", :].values()
            assert data.sum() > 0
            assert (data == data[:, :1]).all()


@pytest.mark.slow
def test_yields_and_cutflows_are_those_of_the_plain_program(
    here: forkrun.Result, plain: dict[str, Any]
) -> None:
    for region, expected in plain["cutflow"].items():
        of_each = here.cutflow[region].datasets
        counts = {name: [cut["n_events"] for cut in cuts] for name, cuts in of_each.items()}
        assert counts == {name: events.tolist() for name, events in expected.items()}
        yields = here.histograms[f"{region}_met/met"].project("dataset", "variation").values()
        wanted = plain["histograms"][region]["met"].project(1, 2).values()
        np.testing.assert_allclose(yields, wanted, rtol=1e-12)


@pytest.mark.slow
def test_outputs_have_the_events_of_the_plain_program(
    here: forkrun.Result, plain: dict[str, Any]
) -> None:
    for region, expected in plain["events"].items():
        for name, events in expected.items():
            found = uproot.open(here.output(region, name))["Events"]["event"]
            assert events
            assert found.array(library="np").tolist() == events


@pytest.mark.long
def test_the_same_program_gives_the_same_bytes_on_three_nodes(
    folder: Path, here: forkrun.Result
) -> None:
    ended = command("submit", PROGRAM, "--on", "local", "--nodes", 3, "-o", "many", "-q",
                    "--set", "batch.at_once=2", "--", folder, cwd=folder)  # fmt: skip
    assert ended.code == 0, ended.err
    made = forkrun.Submission.read(folder / "many")
    assert [str(node.state) for node in made.wait(quiet=True).nodes] == ["done"] * 3
    made.collect(quiet=True)
    assert output_digests(folder / "many") == output_digests(here.run_directory)
