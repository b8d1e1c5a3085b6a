"""Yields of simulation are right whatever of its events a job leaves out: sums of weights are those
of what is read. Sums are added by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import forkrun
from tests.analysis.test_datasets import QUIET
from tests.support.jobs import environment, wait_for
from tests.support.jobs import forkrun as command

CROSS_SECTION, LUMINOSITY = 5.0, 2.0
EXPECTED = CROSS_SECTION * LUMINOSITY * 1000
Weights = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def signed(events: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Weights of each event number, some below 0."""
    return np.where(events % 5 == 0, -0.3, 0.1 + events % 7).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    return tmp_path


def write(name: str, events: Sequence[int], skimmed: float = 1.0, weight: str = "genWeight") -> str:
    """A file of NanoAOD; `skimmed`: how many times as much was generated as is there."""
    numbers = np.array(events, dtype=np.uint64)
    weights = signed(numbers)
    total = math.fsum(weights.tolist()) * skimmed
    columns = {
        "run": np.ones(len(numbers), np.uint32),
        "luminosityBlock": (1 + numbers // 30).astype(np.uint32),
        "event": numbers,
        weight: weights,
    }
    write_trees(name, {"Events": columns, "Runs": {"genEventSumw": np.array([total])}})
    return name


def write_trees(name: str, trees: dict[str, dict[str, Any]]) -> None:
    with uproot.recreate(name) as file:
        for tree, values in trees.items():
            file.mktree(tree, {key: value.dtype for key, value in values.items()})
            file[tree].extend(values)


def job_of(files: Sequence[str], *, weight: str = "genWeight", **source: Any) -> forkrun.Job:
    dataset: dict[str, Any] = {"files": list(files), "cross_section": CROSS_SECTION}
    job = forkrun.Job({"mc": dataset}, source=source, job={"luminosity": LUMINOSITY})
    job.hist("event * 0", (1, 0, 1), name="y", weight=f"{weight} * lumi_weight")
    return job


def yield_of(job: forkrun.Job, children: int = 0) -> float:
    result = job.run(children=children, force=True, **QUIET)
    return float(result.histograms["y"].values(flow=True).sum())


def notes_of(job: forkrun.Job, capsys: pytest.CaptureFixture[str]) -> list[str]:
    job.run(children=0, force=True, plots=False)
    return [line for line in capsys.readouterr().err.splitlines() if "sum" in line]


CUTS: list[dict[str, Any]] = [
    {},
    {"max_events": 17}, {"max_events": 40}, {"max_events": 55}, {"max_events": 1000},
    {"skip_events": 25}, {"skip_events": 70, "max_events": 20},
]  # fmt: skip


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("children", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("cut", CUTS)
def test_events_that_are_cut_do_not_change_the_yield(
    folder: Path, cut: dict[str, Any], children: int
) -> None:
    files = [write("a.root", range(40)), write("b.root", range(40, 100))]
    assert yield_of(job_of(files, **cut), children) == pytest.approx(EXPECTED, rel=1e-6)


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("cut", [{}, {"max_events": 50}, {"skip_events": 45, "max_events": 40}])
@pytest.mark.parametrize("rule", ["drop", "warn", "keep"])
def test_events_that_are_there_before_count_as_often_as_they_are_read(
    folder: Path, rule: str, cut: dict[str, Any]
) -> None:
    files = [write("a.root", range(40)), write("b.root", [*range(30, 70), 69, 31])]
    made = job_of(files, duplicates=rule, **cut)
    assert yield_of(made) == pytest.approx(EXPECTED, rel=1e-6)


@pytest.mark.slow
def test_of_a_skim_the_share_of_its_events_counts(folder: Path) -> None:
    files = [write("a.root", range(40), skimmed=3), write("b.root", range(40, 100), skimmed=5)]
    weights = signed(np.arange(100)).astype(float)
    a, b = 3 * weights[:40].sum(), 5 * weights[40:].sum()
    cuts: list[tuple[dict[str, Any], Any, float]] = [
        ({"max_events": 30}, weights[:30], a * 30 / 40),
        ({"max_events": 70}, weights[:70], a + b * 30 / 60),
        ({"skip_events": 60}, weights[60:], b * 40 / 60),
        ({}, weights, a + b),
    ]
    for cut, read, total in cuts:
        expected = pytest.approx(EXPECTED * read.sum() / total, rel=1e-6)
        assert yield_of(job_of(files, **cut)) == expected


def test_a_file_without_weights_counts_by_its_events(folder: Path) -> None:
    files = [write("a.root", range(40), weight="w")]
    weights = signed(np.arange(40)).astype(float)
    expected = EXPECTED * weights[:10].sum() / (weights.sum() / 4)
    made = job_of(files, weight="w", max_events=10)
    assert yield_of(made) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_what_a_skim_has_left_nothing_of_counts_as_the_rest_does(folder: Path) -> None:
    empty = write("empty.root", range(40))
    with uproot.open(empty) as file:
        (total,) = file["Runs"]["genEventSumw"].array(library="np").tolist()
        columns = file["Events"].arrays(library="np")
    none = {key: value[:0] for key, value in columns.items()}
    write_trees(empty, {"Events": none, "Runs": {"genEventSumw": np.array([total])}})
    files = [write("a.root", range(40), skimmed=3), "empty.root"]
    weights = signed(np.arange(40)).astype(float)
    for n in (40, 10):
        stored = (3 * weights.sum() + total) * n / 40
        expected = pytest.approx(EXPECTED * weights[:n].sum() / stored, rel=1e-6)
        assert yield_of(job_of(files, max_events=n)) == expected


@pytest.mark.slow
def test_a_sum_that_the_dataset_says_is_taken_apart_alike(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write("a.root", range(100)), write("b.root", range(50, 100))]
    job = job_of(files, duplicates="drop")
    job.configure(datasets=[{**job._sections["datasets"][0], "sum_of_weights": 40}])
    weights = signed(np.arange(100)).astype(float)
    assert yield_of(job) == pytest.approx(EXPECTED * weights.sum() / 40, rel=1e-6)
    job.configure(source={"max_events": 25})
    assert yield_of(job) == pytest.approx(EXPECTED * weights[:25].sum() / 10, rel=1e-6)
    said = notes_of(job, capsys)
    assert said[0].endswith(
        'source.max_events: 25 of 100 events read of "mc", and its sum of weights is of these'
    )
    assert said[1].endswith(
        '"mc": repeated 50 of 150 events; its sum of weights is taken as that of each once'
    )


@pytest.mark.slow
def test_files_that_are_left_out_do_not_count(folder: Path) -> None:
    files = [write("a.root", range(40)), write("b.root", range(40, 100))]
    Path(files[1]).write_bytes(b"root" + bytes(1000))
    job = job_of(files).configure(recovery={"on_bad_file": "skip"})
    with pytest.raises(forkrun.ForkrunError, match="done without 1 file of the input"):
        job.run(children=1, **QUIET)
    y = forkrun.Result.read(folder / "job-run").histograms["y"]
    assert y.values(flow=True).sum() == pytest.approx(EXPECTED, rel=1e-6)


def test_files_of_the_dataset_that_are_not_of_the_source_do_not_count(folder: Path) -> None:
    files = [write("a.root", range(40)), write("b.root", range(40, 100))]
    made = job_of(files)
    made.configure(source={"files": [str(folder / "b.root")]})
    assert yield_of(made) == pytest.approx(EXPECTED, rel=1e-6)


@pytest.mark.parametrize("missing", ["drop", {"fill": {"k": 1}}])
def test_events_without_a_partner_count_as_what_a_filter_rejects(
    folder: Path, missing: Any
) -> None:
    files = [write("a.root", range(40)), write("b.root", range(40, 100))]
    kept = np.arange(10, 60, dtype=np.uint64)
    values = {"run": np.ones(50, np.uint32), "event": kept, "k": np.ones(50)}
    write_trees("friend.root", {"Events": values})
    friend = {"tree": "Events", "files": ["friend.root"], "by": ["run", "event"]}
    job = job_of(files, friends=[{**friend, "prefix": "f_", "missing": missing}])
    weights = signed(np.arange(100)).astype(float)
    share = weights[10:60].sum() / weights.sum() if missing == "drop" else 1
    assert yield_of(job) == pytest.approx(EXPECTED * share, rel=1e-6)


@pytest.mark.parametrize(("total", "text"), [(0.0, "0"), (math.nan, "nan"), (math.inf, "inf")])
def test_a_sum_of_which_no_weight_follows_is_refused(folder: Path, total: float, text: str) -> None:
    made = job_of([write("a.root", range(40), skimmed=total)])
    words = f'"mc": its sum of weights in the trees Runs is {text}; give sum_of_weights'
    with pytest.raises(forkrun.ConfigError, match=words):
        made.run(children=0, **QUIET)


def test_a_dataset_of_which_nothing_is_read_is_no_error(folder: Path) -> None:
    write("a.root", range(40))
    write("b.root", range(30))
    datasets = {n: {"files": f"{n}.root", "cross_section": CROSS_SECTION} for n in "ab"}
    job = forkrun.Job(datasets, source={"max_events": 20}, job={"luminosity": LUMINOSITY})
    job.hist("event * 0", (1, 0, 1), name="y", weight="genWeight * lumi_weight")
    y = job.run(children=0, **QUIET).histograms["y"]
    assert y.values()[0].tolist() == [pytest.approx(EXPECTED, rel=1e-6), 0]


def test_only_some_events_weigh_what_they_weigh_among_all(folder: Path) -> None:
    job = job_of([write("a.root", range(40))], only=["1:1:7", "1:1:8"])
    weights = signed(np.arange(40)).astype(float)
    expected = EXPECTED * weights[7:9].sum() / weights.sum()
    assert yield_of(job) == pytest.approx(expected, rel=1e-6)


@pytest.mark.long
def test_nodes_weigh_as_one_machine_does(folder: Path) -> None:
    files = [write("a.root", range(40)), write("b.root", [*range(30, 70), 69])]
    job = job_of(files, duplicates="drop", max_events=60)
    (folder / "job.toml").write_text(job.to_toml())
    said = command("submit", "job.toml", "--on", "local", "--nodes", 2, "-o", "n", cwd=folder)
    assert said.code == 0, said.err

    def all_are_done() -> bool:
        status = json.loads(command("status", "n", "--json", cwd=folder).out)
        return bool(status["states"].get("done") == 2)

    wait_for(all_are_done)
    assert command("collect", "n", "-q", cwd=folder).code == 0
    y = forkrun.Result.read(folder / "n").histograms["y"]
    assert y.values(flow=True).sum() == pytest.approx(EXPECTED, rel=1e-6)


@pytest.mark.long
def test_events_that_are_skipped_late_are_a_warning(folder: Path) -> None:
    job = job_of([write("a.root", range(3000))]).configure(recovery={"on_bad_event": "skip"})

    @job.filter
    def crashes(events: Any) -> Any:
        if 2500 in events["event"]:
            raise ValueError("this one")
        return events["event"] >= 0

    job.run(children=1, **QUIET)
    report = json.loads((folder / "job-run/report.json").read_text())
    (text,) = [text for text in report["warnings"] if "yields" in text]
    assert text == (
        '"mc": 1 of 3,000 events is left out, which its sum of weights counts: its yields are too'
        " low by their share"
    )


@pytest.mark.slow
def test_files_that_fail_late_are_a_warning(folder: Path) -> None:
    files = [write("a.root", range(3000)), write("b.root", range(3000, 3060))]
    job = job_of(files).configure(recovery={"on_bad_file": "skip"})
    damaged = bytearray(Path("b.root").read_bytes())
    with uproot.open("b.root:Events") as tree:
        (seek,) = tree["genWeight"].member("fBasketSeek")[:1]
    damaged[seek + 40 : seek + 80] = b"\xff" * 40
    Path("b.root").write_bytes(damaged)
    with pytest.raises(forkrun.ForkrunError, match="done without 1 file"):
        job.run(children=1, **QUIET)
    report = json.loads((folder / "job-run/report.json").read_text())
    (text,) = [text for text in report["warnings"] if "yields" in text]
    assert '"mc": 60 of 3,060 events are left out, which its sum of weights counts' in text
