"""Functions and modules are called with the events that the filters before them have left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun

QUIET: dict[str, Any] = {"quiet": True, "plots": False}
N_EVENTS = 3000
FIELDS = {"pt": 1, "eta": 0, "phi": 0, "mass": 0}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events of 0 to 3 muons, in lumis of 100."""
    path = tmp_path_factory.mktemp("left") / "muons.root"
    random = np.random.default_rng(3)
    n = random.integers(0, 4, N_EVENTS)
    pt = ak.unflatten(random.exponential(20, n.sum()).astype(np.float32), n)
    numbers = np.arange(N_EVENTS)
    with uproot.recreate(path) as made:
        made["Events"] = {
            "run": np.full(N_EVENTS, 1, np.uint32),
            "luminosityBlock": (1 + numbers // 100).astype(np.uint32),
            "event": (1 + numbers).astype(np.uint64),
            "nMuon": n.astype(np.int32),
            **{f"Muon_{name}": pt * factor for name, factor in FIELDS.items()},
            "x": random.normal(0, 1, N_EVENTS).astype(np.float32),
        }
    return path


@pytest.fixture(scope="module")
def muons(file: Path) -> Any:
    with uproot.open(file) as opened:
        return opened["Events"].arrays(["event", "x", "nMuon", "Muon_pt", "Muon_eta"])


def run(job: forkrun.Job, folder: Path, **given: Any) -> forkrun.RunResult:
    return job.run(output=folder / "run", **{"children": 0, **QUIET, **given})


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 2])
def test_a_define_and_a_filter_after_a_filter_see_what_it_has_left(
    file: Path, muons: Any, tmp_path: Path, children: int
) -> None:
    job = forkrun.Job(file, threads={"block_size": 700})
    job.filter("nMuon >= 2")

    @job.define
    def second(events: Any) -> Any:
        return events.Muon[:, 1].pt  # fails where there is no second muon

    @job.filter
    def hard(events: Any) -> Any:
        assert np.all(events["nMuon"] >= 2)
        return events.Muon[:, 1].pt > 10

    job.hist("second", (50, 0, 100))
    job.output("kept", keep=["event", "second"])
    result = run(job, tmp_path, children=children)
    wanted = muons[muons.nMuon >= 2]
    wanted = wanted[wanted.Muon_pt[:, 1] > 10]
    with uproot.open(tmp_path / "run/output/kept.root") as kept:
        made = kept["Events"].arrays()
    assert made.event.tolist() == wanted.event.tolist()
    assert made.second.tolist() == wanted.Muon_pt[:, 1].tolist()
    assert result.histograms["second"].sum(flow=True).value == len(wanted)


def test_an_event_that_filters_refuse_cannot_fail_in_what_comes_after(
    file: Path, tmp_path: Path, muons: Any
) -> None:
    """In a block and alone: the event that makes `energy` raise is refused before it."""
    refused = int(muons.event[muons.nMuon == 0][5])
    job = forkrun.Job(file, recovery={"on_bad_event": "skip"})

    @job.define
    def energy(events: Any) -> Any:
        if np.any(events.event == refused):
            raise ValueError("negative energy")
        return events["x"] * 1.0

    job.filter("nMuon >= 1").filter("energy > 0").hist("x", (10, -5, 5))
    result = run(job, tmp_path, children=2)
    wanted = np.sum((muons.nMuon >= 1) & (muons.x > 0))
    assert result.histograms["x"].sum(flow=True).value == wanted


def test_what_paths_use_after_a_common_filter_sees_nothing_that_it_refuses(
    file: Path, tmp_path: Path
) -> None:
    seen: dict[str, set[int]] = {"shared": set(), "own": set()}
    job = forkrun.Job(file)
    common = job.path("common").filter("nMuon >= 1", label="one")

    @job.define
    def shared(events: Any) -> Any:
        seen["shared"].update(events["nMuon"].tolist())
        return events["x"] * 2.0

    @job.define
    def own(events: Any) -> Any:
        seen["own"].update(events["nMuon"].tolist())
        return events["x"] * 3.0

    two = common.path("two").filter("nMuon >= 2", label="two")
    two.hist("shared", (10, -5, 5), name="h_two").hist("own", (10, -5, 5))
    other = common.path("other")
    other.filter("nMuon == 1", label="just_one").hist("shared", (10, -5, 5), name="h_one")
    run(job, tmp_path)
    assert seen == {"shared": {1, 2, 3}, "own": {2, 3}}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("children", "threads"), [(0, 1), (1, 2)])
def test_what_paths_share_sees_what_any_of_them_wants(
    file: Path, tmp_path: Path, muons: Any, children: int, threads: int
) -> None:
    """Also where a filter of one path needs it, and in the trial."""
    job = forkrun.Job(file, threads={"block_size": 700})

    @job.define
    def shared(events: Any) -> Any:
        assert np.all((events["nMuon"] >= 2) | (events["x"] > 1))
        return events["x"] * 2.0

    def large(events: Any) -> Any:
        assert np.all((events["nMuon"] >= 2) | (events["x"] > 1))
        return events["shared"] > 1

    two = job.path("two").filter("nMuon >= 2", label="two")
    two.filter(large, label="large")
    two.hist("x", (10, -5, 5), name="two")
    high = job.path("high").filter("x > 1", label="high")
    high.filter("shared < 4", label="small").hist("shared", (10, -5, 5), name="high")
    two.output("kept", keep=["event", "shared"])
    result = run(job, tmp_path, children=children, threads=threads)
    of_two = muons[(muons.nMuon >= 2) & (muons.x > 0.5)]
    of_high = muons[(muons.x > 1) & (muons.x < 2)]
    assert result.histograms["two"].sum(flow=True).value == len(of_two)
    assert result.histograms["high"].sum(flow=True).value == len(of_high)
    with uproot.open(result.outputs["kept"]) as written:
        found = written["Events"].arrays()
    assert found.event.tolist() == of_two.event.tolist()
    assert found.shared.tolist() == (of_two.x * 2.0).tolist()


def test_paths_that_wait_for_each_other_see_what_their_common_filters_have_left(
    file: Path, tmp_path: Path, muons: Any
) -> None:
    seen: dict[str, set[int]] = {"p": set(), "q": set()}
    job = forkrun.Job(file)

    @job.define
    def p(events: Any) -> Any:
        seen["p"].update(events["nMuon"].tolist())
        return events["x"] * 1.0

    @job.define
    def q(events: Any) -> Any:
        seen["q"].update(events["nMuon"].tolist())
        return events["x"] * 2.0

    one = job.path("one").filter("nMuon >= 1", label="one")
    one.path("a").filter("nMuon == 1", label="a").filter("p > 0").filter("q > 1")
    b = one.path("b").filter("nMuon == 2", label="b").filter("q > 0").filter("p > 1")
    b.hist("p", (10, -5, 5), name="h")
    result = run(job, tmp_path)
    wanted = muons[(muons.nMuon == 2) & (muons.x > 1)]
    assert result.histograms["h"].sum(flow=True).value == len(wanted)
    assert sorted(map(sorted, seen.values()), key=len) == [[1, 2], [1, 2, 3]]


def test_lumis_random_numbers_and_masks_are_those_of_the_events_left(
    file: Path, tmp_path: Path, muons: Any
) -> None:
    drawn: dict[str, dict[int, float]] = {"all": {}, "left": {}}

    def draw(where: str, events: Any) -> Any:
        numbers = events.random.normal(0, 1)
        drawn[where] |= dict(zip(events.event.tolist(), numbers.tolist(), strict=True))
        assert events.lumis.tolist() == (1 + (events.event.astype(int) - 1) // 100).tolist()
        spans = [last - first for *_, first, last in events.lumi_ranges]
        assert sum(spans) == len(events) == len(events.mask)
        assert events.selected["x"].tolist() == events["x"].tolist()
        return numbers

    for where, text in (("all", "nMuon >= 0"), ("left", "nMuon == 2")):
        job = forkrun.Job(file)
        job.filter(text).define("drawn", lambda events, where=where: draw(where, events))
        job.hist("drawn", (10, -5, 5))
        run(job, tmp_path / where)
    assert list(drawn["left"]) == muons.event[muons.nMuon == 2].tolist()
    assert drawn["left"].items() <= drawn["all"].items()


def test_a_column_that_is_replaced_after_a_filter_keeps_its_lists(
    file: Path, tmp_path: Path, muons: Any
) -> None:
    job = forkrun.Job(file)
    job.filter("nMuon >= 2").redefine("Muon_pt", lambda events: events["Muon_pt"] * 2)
    job.output("kept", keep=["event", "Muon_*"])
    run(job, tmp_path)
    with uproot.open(tmp_path / "run/output/kept.root") as kept:
        made = kept["Events"].arrays()
    wanted = muons[muons.nMuon >= 2]
    assert made.Muon_pt.tolist() == (2 * wanted.Muon_pt).tolist()
    assert made.Muon_eta.tolist() == wanted.Muon_eta.tolist()


def test_a_block_of_which_no_event_is_left_calls_nobody(file: Path, tmp_path: Path) -> None:
    sizes: list[int] = []
    job = forkrun.Job(file, threads={"block_size": 10})

    @job.filter(label="few")
    def few(events: Any) -> Any:
        return events.event % 500 == 0

    @job.define
    def doubled(events: Any) -> Any:
        sizes.append(len(events))
        return events["x"] * 2

    job.hist("doubled", (10, -5, 5))
    result = run(job, tmp_path)
    assert result.histograms["doubled"].sum(flow=True).value == N_EVENTS / 500
    assert 0 not in sizes
