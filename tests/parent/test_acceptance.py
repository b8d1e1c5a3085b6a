"""The whole chain on a real file, against a selection made independently with uproot and awkward:
every event, every branch and the new columns, to the last bit, for any number of children."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from tests.support.jobs import forkrun, jets_job, write_job

FILE = "nanoAOD_2015_CMS_Open_Data_ttbar.root"
N_BRANCHES = 947


@pytest.fixture(scope="session")
def ttbar(real_data: Path) -> Path:
    return real_data / FILE


@pytest.fixture(scope="session")
def branches(ttbar: Path) -> dict[str, ak.Array]:
    """All branches of the input, read once for all cases."""
    with uproot.open(ttbar) as file:
        tree = file["Events"]
        assert len(tree.keys()) == N_BRANCHES
        return {branch.name: branch.array() for branch in tree.branches}


@pytest.fixture(scope="session")
def expected(branches: dict[str, ak.Array]) -> dict[str, ak.Array]:
    """The selected events by event number, with the new columns."""
    pt = branches["Jet_pt"]
    good = ak.to_numpy(ak.sum(pt > 30, axis=1) >= 2)
    assert (good.sum(), (~good).sum()) == (34, 166)
    made = {
        "HT": ak.sum(ak.values_astype(pt, np.float64), axis=1),
        "HardJet_pt": pt[pt > 30],
        "nHardJet": ak.values_astype(ak.num(pt[pt > 30]), np.uint32),
    }
    return {name: array[good] for name, array in (branches | made).items()}


Plain = tuple[str, bytes, bytes]


def plain(array: ak.Array) -> Plain:
    """Type, numbers of values per event, values: equal only if all is equal to the last bit, NaN
    payloads and signs of zero included."""
    layout = ak.to_packed(array, highlevel=False)
    counts = np.diff(layout.offsets.data) if layout.is_list else np.empty(0)
    values = (layout.content if layout.is_list else layout).data
    return str(values.dtype), counts.tobytes(), values.tobytes()


@pytest.fixture(scope="session")
def right(expected: dict[str, ak.Array]) -> dict[str, Plain]:
    """The selected events in the order of the input, which any distribution keeps."""
    return {name: plain(array) for name, array in expected.items()}


CASES = [
    pytest.param(
        children,
        threads,
        distribution,
        marks=() if (children, threads, distribution) == (3, 2, "lumi") else pytest.mark.long,
    )
    for children in (1, 2, 3, 6)
    for threads in (1, 2)
    for distribution in ("lumi", "round-robin", "contiguous")
]


@pytest.mark.slow
@pytest.mark.parametrize(("children", "threads", "distribution"), CASES)
def test_the_merged_events_are_exactly_those_selected_independently(
    ttbar: Path,
    expected: dict[str, ak.Array],
    right: dict[str, Plain],
    tmp_path: Path,
    children: int,
    threads: int,
    distribution: str,
) -> None:
    forking = {"children": children, "distribution": distribution, "events_per_turn": 7}
    job = jets_job([ttbar], forking=forking, threads={"per_child": threads})
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    with uproot.open(tmp_path / "run/output/events.root") as file:
        tree = file["Events"]
        assert set(tree.keys()) == set(expected)
        different = [b.name for b in tree.branches if plain(b.array()) != right[b.name]]
        assert different == []
    _check_histogram(tmp_path / "run/output/histograms.root", expected)
    assert _report(tmp_path / "run")["events"]


def _check_histogram(path: Path, expected: dict[str, ak.Array]) -> None:
    counts, _ = np.histogram(ak.to_numpy(ak.num(expected["Jet_pt"])), bins=20, range=(0, 20))
    with uproot.open(path) as file:
        assert np.array_equal(file["plots/n_jets"].values(), counts)


def _report(run: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((run / "report.json").read_text())
    return report
