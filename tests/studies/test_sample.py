from __future__ import annotations

import functools
import itertools
import operator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from hypothesis import given, settings
from hypothesis import strategies as st

from forkrun.errors import ConfigError
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import (
    clusters,
    column_types,
    event_sizes,
    gen_weights,
    lumis_of,
    make_cluster,
    run_sums,
    write_sample,
)

SMALL = SampleSettings(n_events=2000, n_runs=2, lumis_per_run=5, cluster=500)
TYPES = {"float32": "float", "int32": "int32_t", "uint32": "uint32_t", "uint64": "uint64_t",
         "uint8": "uint8_t", "bool": "bool"}  # fmt: skip


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("sample") / "small.root", SMALL)[0]


def dimuon_masses(arrays: Any) -> Any:
    """(n,) masses [GeV] of events with exactly two muons of opposite charge."""
    two = (ak.num(arrays["Muon_pt"]) == 2) & (ak.sum(arrays["Muon_charge"], axis=1) == 0)
    pt, eta, phi = (arrays[f"Muon_{name}"][two] for name in ("pt", "eta", "phi"))
    cosh = np.cosh(eta[:, 0] - eta[:, 1]) - np.cos(phi[:, 0] - phi[:, 1])
    return ak.to_numpy(np.sqrt(2 * pt[:, 0] * pt[:, 1] * cosh))


def test_the_tree_has_exactly_the_columns_and_types_asked_for(small_file: Path) -> None:
    with uproot.open(small_file) as file:
        found = {name: branch.typename for name, branch in file["Events"].items()}
    wanted = {
        name: TYPES[kind.removesuffix("[]")] + ("[]" if kind.endswith("[]") else "")
        for name, kind in column_types(SMALL)
    }
    counters = {f"n{name}": "uint32_t" for name in ("Muon", "Electron", "Jet", "FatJet", "Photon")}
    assert found == wanted | counters
    assert len(found) == 100


def test_every_column_reads_back_as_it_was_made(small_file: Path) -> None:
    with uproot.open(small_file) as file:
        arrays = file["Events"].arrays(entry_start=500, entry_stop=1000)
    for name, made in make_cluster(SMALL, 500, 1000).items():
        if isinstance(made, tuple):
            np.testing.assert_array_equal(ak.to_numpy(ak.num(arrays[name])), np.diff(made[0]))
            np.testing.assert_array_equal(ak.to_numpy(ak.flatten(arrays[name])), made[1])
        else:
            np.testing.assert_array_equal(ak.to_numpy(arrays[name]), made)


def test_counter_leaves_tell_readers_how_much_room_to_make(small_file: Path) -> None:
    with uproot.open(small_file) as file:
        counter = file["Events"]["nJet"]
        leaf, largest = counter.member("fLeaves")[0], int(counter.array(library="np").max())
        assert (leaf.member("fIsRange"), leaf.member("fMaximum")) == (True, largest)


def test_runs_and_lumis_are_equal_parts_in_order(small_file: Path) -> None:
    with uproot.open(small_file) as file:
        ids = file["Events"].arrays(["run", "luminosityBlock", "event"], library="np")
    assert np.unique(ids["run"], return_counts=True)[1].tolist() == [1000, 1000]
    lumis = ids["run"].astype(int) * 100 + ids["luminosityBlock"]
    assert np.unique(lumis, return_counts=True)[1].tolist() == [200] * 10
    assert (np.diff(lumis) >= 0).all()
    assert ids["event"].tolist() == list(range(1, 2001))


def test_runs_and_luminosity_blocks_trees_describe_the_events(small_file: Path) -> None:
    with uproot.open(small_file) as file:
        weights = file["Events"]["genWeight"].array(library="np").astype(float)
        runs = file["Runs"].arrays(library="np")
        assert file["LuminosityBlocks"].num_entries == 10
    assert runs["run"].tolist() == [362001, 362002]
    assert runs["genEventCount"].tolist() == [1000, 1000]
    assert runs["genEventSumw"].tolist() == [weights[:1000].sum(), weights[1000:].sum()]


def test_the_dimuon_mass_peaks_at_the_z() -> None:
    cluster = make_cluster(SampleSettings(n_events=50_000), 0, 50_000)
    arrays = {
        name: ak.unflatten(values[1], np.diff(values[0]))
        for name, values in cluster.items()
        if name in ("Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge")
    }
    mass = dimuon_masses(arrays)
    near = mass[(mass > 86) & (mass < 96)]
    assert np.median(near) == pytest.approx(91.19, abs=0.1)
    assert near.size / mass.size > 0.6
    sides = ((mass > 60) & (mass < 80)).sum()
    assert 0 < sides < 0.1 * near.size


def test_leptons_are_within_the_acceptance_and_ordered() -> None:
    cluster = make_cluster(SampleSettings(n_events=5000), 0, 5000)
    offsets, pt = cluster["Muon_pt"]
    starts = set(offsets.tolist())
    assert pt.min() > 3
    assert np.abs(cluster["Muon_eta"][1]).max() <= 2.4
    assert all(pt[i] <= pt[i - 1] for i in range(1, pt.size) if i not in starts)


def test_a_seed_gives_the_same_events_and_another_one_others(tmp_path: Path) -> None:
    few = SampleSettings(n_events=300, cluster=100)
    one, same = (write_sample(tmp_path / name, few)[0] for name in ("a.root", "b.root"))
    other = make_cluster(SampleSettings(n_events=300, cluster=100, seed=2), 0, 100)
    with uproot.open(one) as first, uproot.open(same) as second:
        a, b = first["Events"].arrays(), second["Events"].arrays()
    assert ak.array_equal(a, b)
    assert not np.array_equal(other["MET_pt"], ak.to_numpy(a["MET_pt"][:100]))


def test_files_share_the_events_out_without_changing_them(tmp_path: Path) -> None:
    three = SampleSettings(n_events=250, n_files=3, n_runs=1, lumis_per_run=2)
    paths = write_sample(tmp_path / "s.root", three)
    assert [path.name for path in paths] == ["s_0.root", "s_1.root", "s_2.root"]
    events = []
    for path in paths:
        with uproot.open(path) as file:
            events.append(file["Events"]["event"].array(library="np").tolist())
    assert [len(e) for e in events] == [83, 83, 84]
    assert functools.reduce(operator.iadd, events, []) == list(range(1, 251))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s_0.root", "s_1.root", "s_2.root"]


def test_an_empty_sample_has_the_same_columns(tmp_path: Path) -> None:
    path = write_sample(tmp_path / "empty.root", SampleSettings(n_events=0))[0]
    with uproot.open(path) as file:
        assert (file["Events"].num_entries, len(file["Events"].keys())) == (0, 100)


@pytest.mark.parametrize("n", [100, 173, 1500])
def test_the_number_of_branches_is_what_was_asked_for(n: int) -> None:
    names = [name for name, _ in column_types(SampleSettings(n_branches=n))]
    assert len(names) == len(set(names)) == n - 5


def test_column_types_are_the_same_in_every_cluster() -> None:
    wide = SampleSettings(n_events=400, n_branches=400, cluster=100)
    dtypes = {
        tuple((v[1] if isinstance(v, tuple) else v).dtype.str for v in cluster.values())
        for cluster in clusters(wide, 0, 400)
    }
    assert len(dtypes) == 1


def test_too_few_branches_is_an_error_that_says_how_many_there_are() -> None:
    with pytest.raises(ConfigError, match="--branches 5: the sample has at least 95"):
        column_types(SampleSettings(n_branches=5))


def test_wrong_settings_are_all_named() -> None:
    with pytest.raises(ConfigError) as error:
        SampleSettings(n_events=-1, n_files=0)
    assert len(error.value.problems) == 2


def test_drift_and_peak_shape_the_event_size() -> None:
    shaped = SampleSettings(n_events=1001, drift=-0.5, peak=10)
    size = event_sizes(shaped, np.array([0, 500, 1000]))
    assert size == pytest.approx([10, 0.75, 0.5], rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 500),
    st.integers(1, 4),
    st.integers(1, 6),
    st.lists(st.integers(0, 500), max_size=4),
)
def test_run_sums_of_parts_add_up_to_the_whole(
    n_events: int, n_runs: int, lumis: int, cuts: list[int]
) -> None:
    sample = SampleSettings(n_events=n_events, n_runs=n_runs, lumis_per_run=lumis)
    bounds = sorted({0, n_events, *(cut for cut in cuts if cut < n_events)})
    parts = [run_sums(sample, a, b) for a, b in itertools.pairwise(bounds)]
    assert sum(part["genEventCount"].sum() for part in parts) == n_events
    total = gen_weights(sample, np.arange(n_events)).astype(float).sum()
    assert sum(part["genEventSumw"].sum() for part in parts) == pytest.approx(total, abs=1e-6)
    assert lumis_of(sample, 0, n_events)["run"].size <= n_runs * lumis
