"""Events per second of a long run: graphs whose rate is known, and laws that hold for all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from forkrun.studies.estimate.graph import EstimateGraph
from forkrun.studies.estimate.scaling import (
    Scaling,
    limits,
    measure_parallelism,
    scale,
    steady_state,
)
from forkrun.studies.estimate.simulate import Simulation, simulate
from tests.support.graphs import graph, graphs


def scaled(job: EstimateGraph, threads: list[int], in_flight: int | None = None) -> list[Scaling]:
    return scale(job, measure_parallelism(job, n_bins=1), threads, in_flight)


def one_of(job: EstimateGraph, n_threads: int, in_flight: int | None = None) -> Scaling:
    return scaled(job, [n_threads], in_flight)[0]


@pytest.fixture(scope="module", autouse=True)
def _few_calls() -> Iterator[None]:
    """For laws that hold in short simulations as well."""
    with pytest.MonkeyPatch.context() as patch:
        module = sys.modules[steady_state.__module__]
        patch.setattr(module, "_BATCH_CALLS", 1_000)
        patch.setattr(module, "_MOST_CALLS", 30_000)
        yield


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7, 16, 32, 64])
def test_independent_modules_keep_every_thread_busy(n_threads: int) -> None:
    job = graph([[1.0]] * 40, {}, first=tuple(range(40)))
    row = one_of(job, n_threads)
    assert row.speedup == pytest.approx(n_threads, rel=1e-9)
    assert row.efficiency == pytest.approx(1.0, rel=1e-9)
    assert row.events_per_s == pytest.approx(n_threads / 40, rel=1e-9)


@pytest.mark.parametrize(("n_threads", "in_flight"), [(1, 5), (4, 4), (8, 3), (32, 31), (7, 50)])
def test_of_chains_as_many_run_as_there_are_threads_and_events(
    n_threads: int, in_flight: int
) -> None:
    job = graph([[1.0, 3.0], [2.0, 0.5], [0.25, 4.0]], {1: (0,), 2: (1,)}, first=(2,))
    row = one_of(job, n_threads, in_flight)
    assert row.speedup == pytest.approx(min(n_threads, in_flight), rel=1e-9)
    assert row.events_per_s == pytest.approx(row.speedup * 2 / 10.75, rel=1e-9)


@pytest.mark.parametrize(("n_threads", "in_flight"), [(3, 4), (8, 8), (32, 32), (64, 200)])
def test_a_module_that_takes_one_event_at_a_time_sets_the_rate(
    n_threads: int, in_flight: int
) -> None:
    job = graph([[1.0], [2.0], [3.0]], {1: (0,), 2: (1,)}, first=(2,), kinds={1: "one"})
    row = one_of(job, n_threads, in_flight)
    assert row.events_per_s == pytest.approx(0.5, rel=1e-9)
    assert row.speedup == pytest.approx(3.0, rel=1e-9)


def test_unsafe_modules_together_set_the_rate() -> None:
    kinds = {0: "unsafe", 1: "unsafe"}
    job = graph([[1.0, 2.0], [0.5, 0.5], [3.0, 3.0]], {2: (0, 1)}, first=(2,), kinds=kinds)
    assert one_of(job, 16, 24).events_per_s == pytest.approx(0.5, rel=1e-9)


def test_one_event_at_a_time_takes_its_critical_path() -> None:
    job = graph([[1.0, 2.0], [2.0, 5.0], [4.0, 1.0]], {1: (0,), 2: (0,)}, first=(1, 2))
    row = one_of(job, 4, in_flight=1)
    assert row.events_per_s == pytest.approx(2 / (5.0 + 7.0), rel=1e-9)
    assert row.speedup == pytest.approx(15 / 12, rel=1e-9)


def test_one_thread_does_one_thing_at_a_time() -> None:
    job = graph([[1.0, 2.0], [2.0, 5.0]], {}, first=(0, 1), kinds={0: "one"})
    for in_flight in (1, 2, 50):
        assert one_of(job, 1, in_flight).speedup == pytest.approx(1.0, rel=1e-9)


@given(graphs(), st.integers(1, 4), st.integers(1, 4), st.lists(st.integers(1, 9), max_size=4))
def test_a_simulation_in_pieces_is_the_whole_one(
    job: EstimateGraph, n_threads: int, in_flight: int, pieces: list[int]
) -> None:
    whole = simulate(job, 10, n_threads, in_flight)
    simulation = Simulation(job, n_threads, in_flight, n_events=10)
    for piece in [*sorted(pieces), 10]:
        simulation.run(piece)
        assert simulation.n_ended >= piece
    assert (simulation.n_ended, simulation.n_calls) == (10, len(whole.calls))
    assert simulation.now_s == pytest.approx(whole.makespan_s)
    assert simulation.busy_s == pytest.approx(whole.busy_s)


@pytest.mark.slow
@given(graphs(), st.integers(1, 8), st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_no_limit_is_surpassed(job: EstimateGraph, n_threads: int, in_flight: int) -> None:
    row = one_of(job, n_threads, in_flight)
    assert 0 < row.efficiency <= 1.0 + 1e-12
    found = limits(job)
    for limit in (found.slowest, found.unsafe):
        assert limit is None or row.events_per_s <= limit * (1 + 1e-12)
    alone = replace(job, concurrency=("reentrant",) * len(job.labels))
    most = in_flight * measure_parallelism(alone, n_bins=1).speedup
    assert row.speedup <= most * (1 + 1e-3)
    work_s = job.times_s[job.needed()].sum(axis=0).mean()
    assert row.events_per_s * work_s == pytest.approx(row.speedup if work_s else 0.0)


@pytest.mark.slow
@given(graphs(), st.integers(1, 6))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_more_threads_do_not_do_much_less(job: EstimateGraph, in_flight: int) -> None:
    """In list scheduling another thread may bring calls into a less lucky order."""
    rows = scaled(job, [1, 2, 4, 8], in_flight)
    assert rows[0].speedup == pytest.approx(1.0)
    for fewer, more in pairwise(rows):
        assert more.speedup >= fewer.speedup * 0.9


@pytest.mark.slow
@given(graphs(), st.integers(2, 5), st.integers(1, 6))
@settings(max_examples=8, deadline=None)
def test_in_another_unit_of_time_it_is_the_same(
    job: EstimateGraph, n_threads: int, in_flight: int
) -> None:
    row = one_of(job, n_threads, in_flight)
    slow = one_of(replace(job, times_s=job.times_s * 4.0), n_threads, in_flight)
    assert slow.speedup == pytest.approx(row.speedup, rel=1e-9)
    assert slow.events_per_s == pytest.approx(row.events_per_s / 4, rel=1e-9)


def test_a_module_that_follows_itself_does_not_keep_the_simulation_busy() -> None:
    kinds = {1: "one"}  # the second event continues as tasks, when it has called the first module
    job = graph([[1.0], [1.0]], {}, first=(0, 1), then={0: (0,)}, kinds=kinds)
    assert simulate(job, 6, n_threads=2, in_flight=2).busy_s == pytest.approx(12.0)
