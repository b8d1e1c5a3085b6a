"""Estimates: simulations that keep what must be kept, and known graphs with known answers."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forkrun.cli import main
from forkrun.monitoring.timing.model import ModuleTiming, Timing, read_timing
from forkrun.studies.estimate.graph import (
    EstimateGraph,
    MeasuredRun,
    graph_of_replay,
    graph_of_timing,
)
from forkrun.studies.estimate.report import Estimate, print_estimate, shorten
from forkrun.studies.estimate.scaling import (
    critical_path_speedup,
    limits,
    measure_parallelism,
    scale,
)
from forkrun.studies.estimate.simulate import simulate
from forkrun.studies.replay.read import read_replay
from tests.studies.test_replay_run import write_file
from tests.support.files import write_events
from tests.support.graphs import graph, graphs
from tests.support.jobs import forkrun, jets_job, write_job


@pytest.mark.slow
@given(graphs(), st.integers(1, 4), st.integers(1, 4))
def test_a_simulation_keeps_what_must_be_kept(
    job: EstimateGraph, n_threads: int, in_flight: int
) -> None:
    n_events = 5
    execution = simulate(job, n_events, n_threads, in_flight)
    calls = {(call.event, call.module): call for call in execution.calls}
    needed = job.needed()
    assert set(calls) == {(event, module) for event in range(n_events) for module in needed}
    assert len(execution.calls) == len(calls)
    for (event, module), call in calls.items():
        time_s = job.times_s[module, event % job.n_events]
        assert call.end_s - call.start_s == pytest.approx(time_s)
        for maker in job.inputs[module]:
            assert calls[event, maker].end_s <= call.start_s
        if call.cause >= 0:
            assert execution.calls[call.cause].end_s <= call.start_s
    assert running_at_most(execution.calls) <= n_threads
    by_lock = defaultdict(list)
    for call in execution.calls:
        kind = job.concurrency[call.module]
        if kind != "reentrant":
            by_lock["unsafe" if kind == "unsafe" else call.module].append(call)
    for same in by_lock.values():
        for one, other in pairwise(sorted(same, key=lambda c: (c.start_s, c.end_s))):
            assert one.end_s <= other.start_s
    assert execution.makespan_s <= execution.busy_s + 1e-9
    assert execution.makespan_s >= execution.busy_s / n_threads - 1e-9
    if n_threads == 1:
        assert execution.makespan_s == pytest.approx(execution.busy_s)


def running_at_most(calls: tuple) -> int:  # type: ignore[type-arg]
    """At any time; calls that take no time are left out."""
    long = [call for call in calls if call.end_s > call.start_s]
    return max((sum(c.start_s <= at.start_s < c.end_s for c in long) for at in long), default=0)


@given(graphs())
def test_one_event_takes_at_least_its_critical_path_and_its_work(job: EstimateGraph) -> None:
    p = measure_parallelism(job, n_bins=10)
    assert p.critical_path_s <= p.total_s + 1e-9
    counts = np.arange(len(p.time_with_s))
    assert (p.time_with_s * counts).sum() == pytest.approx(p.total_s)
    width_s = p.time_s[1] - p.time_s[0]
    assert (p.n_running * width_s).sum() == pytest.approx(p.total_s)
    assert sum(m.on_path_s for m in p.critical) == pytest.approx(p.critical_path_s)
    assert p.simple_speedup(1) == pytest.approx(1.0)
    assert p.simple_speedup(1000) == pytest.approx(p.speedup if p.critical_path_s else 1.0)


@pytest.mark.slow
def test_a_diamond_has_the_critical_path_of_its_longer_side() -> None:
    job = graph([[1.0], [2.0], [4.0], [1.0]], {1: (0,), 2: (0,), 3: (1, 2)}, first=(3,))
    p = measure_parallelism(job)
    assert (p.total_s, p.critical_path_s, p.max_running) == (8.0, 6.0, 2)
    assert p.speedup == pytest.approx(8 / 6)
    assert [m.label for m in p.critical] == ["m2", "m3", "m0"] or p.critical[0].label == "m2"
    assert critical_path_speedup(job) == pytest.approx(8 / 6)
    rows = scale(job, p, [1, 2], in_flight=1)
    assert [row.speedup for row in rows] == pytest.approx([1.0, 8 / 6])


def test_a_chain_may_be_long() -> None:
    n_modules = 3000
    job = graph([[1.0]] * n_modules, {i: (i - 1,) for i in range(1, n_modules)}, (n_modules - 1,))
    assert measure_parallelism(job, n_bins=1).critical_path_s == n_modules


def test_what_a_later_filter_needs_is_asked_for_when_the_one_before_has_ended() -> None:
    job = graph([[1.0], [2.0], [3.0], [0.0]], {0: (), 1: (2,)}, first=(0,), then={0: (1,)})
    assert measure_parallelism(job).critical_path_s == 6.0
    assert job.needed() == [0, 1, 2]


def test_outputs_come_after_everything() -> None:
    job = graph([[1.0], [5.0], [2.0]], {}, first=(0, 1), last=(2,))
    assert simulate(job, 1).makespan_s == 7.0


@pytest.mark.slow
def test_modules_that_cannot_overlap_limit_the_rate() -> None:
    job = graph([[0.5], [0.25], [0.25]], {}, (0, 1, 2), kinds={0: "one", 1: "unsafe", 2: "unsafe"})
    found = limits(job)
    assert (found.slowest, found.slowest_label, found.unsafe) == (2.0, "m0", 2.0)
    (row,) = scale(job, measure_parallelism(job), [8], in_flight=50)
    assert row.events_per_s == pytest.approx(2.0, rel=0.01)


@pytest.mark.slow
def test_the_command_prints_draws_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_file(tmp_path)
    out, plots = tmp_path / "e.json", tmp_path / "plots"
    arguments = ["--threads", "1,8", "--json", str(out), "--plots", str(plots)]
    assert main(["estimate", str(file), *arguments]) == 0
    text = capsys.readouterr().out
    assert "6 modules, 2 events" in text
    assert "limit          666.7 events/s: b takes one event at a time" in text
    assert re.search(r"^ +8 +8 +666\.7 +6\.00 +75\.0 % +6\.00 +b *$", text, re.MULTILINE)
    written = json.loads(out.read_text())
    assert (written["unit"], written["run"]) == ("event", None)
    assert [row["n_threads"] for row in written["scaling"]] == [1, 8]
    assert written["parallelism"]["total_s"] == pytest.approx(6 * 0.0015)
    names = {"running.png", "running.svg", "scaling.png", "scaling.svg"}
    assert {path.name for path in plots.iterdir()} == names
    assert all(path.stat().st_size > 3000 for path in plots.iterdir())


@pytest.mark.slow
def test_tables_of_long_labels_and_numbers_fit_into_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = tuple(f"a_long_label_of_a_module_that_calibrates_forward_jets_{i:030}" for i in (1, 2))
    job = replace(
        graph([[0.123456], [0.25]], {1: (0,)}, first=(1,), kinds={1: "one"}), labels=labels
    )
    p = measure_parallelism(job)
    row = replace(scale(job, p, [128])[0], events_per_s=1.2e6, speedup=123.45, error=0.67)
    other = replace(row, set_by="events in flight")
    print_estimate(Estimate(job, p, [row, other], limits(job)))
    plain = capsys.readouterr().out.partition("On the critical path")[2]
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 80
    for column in ("threads", "in flight", "events/s", "speed-up", "per thread", "at most"):
        assert column in plain
    assert "1,200,000" in plain
    assert "123.45 ± 0.67" in plain
    assert plain.count("…") == 3  # two modules, and the one that sets the limit
    assert re.search(r"0000001 .* % *$", plain, re.MULTILINE)
    assert re.search(r" in flight *$", plain, re.MULTILINE)


def test_a_label_that_is_too_long_loses_its_middle() -> None:
    assert shorten("calibration", 11) == "calibration"
    assert shorten("calibrations", 11) == "calib…tions"
    assert shorten("calibrations", 10) == "calib…ions"


@pytest.mark.parametrize(
    "arguments", [["--threads", "0"], ["--threads", "a"], ["--events-in-flight", "0"]]
)
def test_wrong_numbers_are_errors(tmp_path: Path, arguments: list[str]) -> None:
    assert main(["estimate", str(write_file(tmp_path)), *arguments]) == 2


def test_a_configuration_has_no_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", str(tmp_path / "job.toml")]) == 2
    assert "give the run directory" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_an_error(tmp_path: Path) -> None:
    assert main(["estimate", str(tmp_path)]) == 2


@pytest.mark.long
def test_of_a_run_rates_are_of_events_and_times_of_blocks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 4)])
    job = write_job(tmp_path, jets_job([events], threads={"block_size": 10}))
    assert forkrun("run", job, "-o", "run", cwd=tmp_path).code == 0
    timing = read_timing(tmp_path / "run")
    found = graph_of_timing(timing, "run")
    assert found.run == MeasuredRun(n_blocks=12, n_events=120, wall_s=timing.wall_s)
    alone, many = scale(found, measure_parallelism(found), [1, 16], in_flight=40)
    total_s = {module.label: module.total_s for module in timing.modules}
    assert alone.events_per_s == pytest.approx(120 / sum(total_s.values()))
    unsafe_s = total_s["jets"] + total_s["sums"] + total_s["plots"]
    found_limits = limits(found)
    assert found_limits.unsafe == pytest.approx(120 / unsafe_s)
    assert found_limits.slowest_label == "events"
    assert found_limits.slowest == pytest.approx(120 / total_s["events"])
    assert many.events_per_s == pytest.approx(120 / max(unsafe_s, total_s["events"]), rel=0.01)
    assert main(["estimate", str(tmp_path / "run")]) == 0
    text = capsys.readouterr().out
    assert "run: 5 modules, 12 blocks of 10 events on average" in text
    rate = re.search(r"measured +([0-9.,]+) events/s in each child", text)
    assert rate is not None
    assert float(rate[1].replace(",", "")) == pytest.approx(120 / timing.wall_s, rel=1e-3)


def test_of_a_run_what_was_asked_for_and_what_was_not_called_in_every_block_counts() -> None:
    modules = (
        measured("always", "filter", 8, 4.0, "column"),
        measured("column", "source column", 8, 1.0),
        measured("seldom", "producer", 2, 4.0),
        measured("never", "analyzer", 0, 0.0),
        measured("events", "output", 6, 3.0),
    )
    timing = Timing(80, 0.0, 12.0, 0.0, modules, (), {"path": ("always", "never")}, 0)
    found = graph_of_timing(timing, "run")
    assert found.needed() == [0, 1, 2, 3, 4]
    assert found.times_s[:, 0].tolist() == [0.5, 0.125, 0.5, 0.0, 0.375]
    assert found.concurrency[4] == "one"
    (row,) = scale(found, measure_parallelism(found), [1])
    assert row.events_per_s == pytest.approx(80 / 12.0)


def measured(label: str, kind: str, count: int, total_s: float, *inputs: str) -> ModuleTiming:
    mean_s = total_s / count if count else 0.0
    spread = (mean_s, mean_s, mean_s, mean_s)
    return ModuleTiming(label, kind, "reentrant", inputs, count, total_s, *spread, 0.0, 0.0, 0.0)


def test_the_public_high_pileup_graph_allows_about_1_3_with_one_event(real_data: Path) -> None:
    job = graph_of_replay(
        read_replay(real_data / "reco_hipileup_5_2_0_busywait_perfectIO.config.gz")
    )
    assert critical_path_speedup(job) == pytest.approx(1.297, abs=0.001)
