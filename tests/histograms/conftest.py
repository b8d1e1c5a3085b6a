"""A job whose histograms are drawn and exported."""

from __future__ import annotations

from typing import Any

import hist
import pytest

import forkrun
from tests.support.files import write_events


@pytest.fixture(scope="session")
def run_of_samples(tmp_path_factory: pytest.TempPathFactory) -> forkrun.Result:
    """Data and two simulations with a variation."""
    folder = tmp_path_factory.mktemp("plots")
    files = {n: write_events(folder / f"{n}.root", [(1, 1, n)]) for n in (40, 41, 42)}
    datasets: dict[str, Any] = {
        "data": {"files": str(files[40]), "is_data": True},
        "top": {"files": str(files[41]), "cross_section": 1.0, "sum_of_weights": 100},
        "dy": {"files": str(files[42]), "cross_section": 3.0, "sum_of_weights": 100},
    }
    job = forkrun.Job(datasets, name="j", job={"luminosity": 0.1})
    job.define("x", "event % 7").vary("x", "jes", up="x + 1", down="x - 1")
    job.hist("x", hist.axis.Regular(8, 0, 8, name="x", label="X [GeV]"), weight="lumi_weight")
    job.hist("x", (8, 0, 8), name="plain")

    numbers = (7, 2)
    job.hist(
        lambda events: tuple(events["event"] % n for n in numbers), (4, 0, 8), (2, 0, 2), name="two"
    )
    return job.run(children=1, output=folder / "run", quiet=True)
