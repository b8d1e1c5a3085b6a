"""How well the rate of a long run is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from forkrun.studies.estimate.graph import EstimateGraph, graph_of_replay
from forkrun.studies.estimate.scaling import measure_parallelism, scale, steady_state
from forkrun.studies.estimate.simulate import Simulation
from forkrun.studies.replay.read import read_replay
from tests.support.graphs import graph, graphs


@pytest.mark.slow
def test_the_public_high_pileup_graph_keeps_every_thread_busy(real_data: Path) -> None:
    job = graph_of_replay(
        read_replay(real_data / "reco_hipileup_5_2_0_sleeping_perfectIO.config.gz")
    )
    (row,) = scale(job, measure_parallelism(job, n_bins=1), [32])
    assert row.speedup == pytest.approx(32.0, abs=0.005)
    assert row.events_per_s == pytest.approx(32 / job.times_s.sum(axis=0).mean(), rel=1e-4)


@pytest.mark.long
@given(graphs(), st.integers(2, 8), st.integers(1, 8))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_run_five_times_as_long_agrees(
    job: EstimateGraph, n_threads: int, in_flight: int
) -> None:
    assume(job.times_s[job.needed()].any())
    found = steady_state(job, n_threads, in_flight)
    simulation = Simulation(job, n_threads, in_flight)
    simulation.run(200)
    start_s, busy_s = simulation.now_s, simulation.busy_s
    simulation.run(600_000 // len(job.needed()))
    n_running = (simulation.busy_s - busy_s) / (simulation.now_s - start_s)
    assert found.n_running == pytest.approx(n_running, rel=2e-3)


@pytest.mark.long
def test_too_many_events_to_simulate_all_of_them_show_in_the_error() -> None:
    times_s = np.random.default_rng(1).exponential(1.0, (30, 20_000))
    times_s[15] *= 3
    inputs: dict[int, tuple[int, ...]] = {i: (i - 1,) for i in range(1, 30)}
    job = graph(times_s.tolist(), inputs, first=(29,), kinds={15: "one"})
    found = steady_state(job, n_threads=64, in_flight=128)
    expected = times_s.sum(axis=0).mean() / times_s[15].mean()
    assert 1e-3 < found.error / found.n_running < 2e-2
    assert abs(found.n_running - expected) < 4 * found.error


def test_the_public_minimum_bias_graph_goes_as_fast_as_it_was_measured(real_data: Path) -> None:
    """Most of its modules take one event at a time: in the order of readiness it would be 2.90."""
    job = graph_of_replay(read_replay(real_data / "reco_minbias_sleeping_betweenmodules.config.gz"))
    simulation = Simulation(job, 4, 4)
    simulation.run(100)
    assert simulation.busy_s / simulation.now_s == pytest.approx(3.26, rel=0.05)
