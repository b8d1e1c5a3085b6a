"""Children × threads for a slot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.studies.frame.repeats import doubling
from forkrun.studies.measure.fit import MARGIN, JobModel, Probe, choose

GB = 1e9


def probe(n_threads: int, events_per_s: float, private: float, shared: float = GB) -> Probe:
    return Probe(n_threads, events_per_s, shared, private)


def test_threads_that_help_fully_make_children_only_cost_memory() -> None:
    model = JobModel([probe(1, 10, GB), probe(4, 40, 1.3 * GB)])
    fit = choose(model, 8, 100 * GB, 100)
    assert fit.chosen is not None
    assert (fit.chosen.n_children, fit.chosen.n_threads, fit.chosen.events_per_s) == (1, 8, 80)
    assert fit.chosen.memory_bytes == pytest.approx((1 + 1.7) * GB * (1 + MARGIN))


def test_threads_that_do_not_help_are_not_used() -> None:
    fit = choose(JobModel([probe(1, 10, GB), probe(4, 10, GB)]), 8, 100 * GB, 100)
    assert fit.chosen is not None
    assert (fit.chosen.n_children, fit.chosen.n_threads) == (8, 1)


def test_where_memory_is_short_threads_take_the_place_of_children() -> None:
    model = JobModel([probe(1, 10, GB), probe(8, 60, GB)])
    fit = choose(model, 8, 3.4 * GB, 100)
    assert fit.chosen is not None
    assert (fit.chosen.n_children, fit.chosen.n_threads) == (2, 4)
    assert any(not row.fits and row.n_children == 8 for row in fit.rows)


def test_scaling_follows_from_probes_without_one_of_one_thread() -> None:
    """Half of the time is serial: 2 threads take 0.75, 4 threads 0.625, 8 threads 0.5625."""
    model = JobModel([probe(2, 10 / 0.75, GB), probe(4, 10 / 0.625, GB)])
    assert model.serial_part == pytest.approx(0.5)
    assert [model.events_per_s(n) for n in (1, 8)] == pytest.approx([10, 10 / 0.5625])


@pytest.mark.parametrize(("rate", "part"), [(40, 0.0), (20, 0.0), (10, 1.0), (5, 1.0)])
def test_threads_gain_at_most_their_number_and_at_least_nothing(rate: float, part: float) -> None:
    assert JobModel([probe(2, 10, GB), probe(4, rate, GB)]).serial_part == pytest.approx(part)


def test_a_single_probe_says_nothing_of_other_numbers_of_threads() -> None:
    fit = choose(JobModel([probe(2, 10, GB)]), 8, 100 * GB, 100)
    assert {row.n_threads for row in fit.rows} == {2}
    assert fit.chosen is not None
    assert (fit.chosen.n_children, fit.chosen.events_per_s) == (4, 40)


def test_a_job_that_does_not_fit_at_all_is_not_chosen() -> None:
    fit = choose(JobModel([probe(1, 10, GB)]), 4, GB, 100)
    assert fit.chosen is None
    assert min(row.n_children for row in fit.rows) == 1


def test_more_children_than_units_of_work_are_not_wanted() -> None:
    fit = choose(JobModel([probe(1, 10, GB)]), 16, 100 * GB, 3)
    assert max(row.n_children for row in fit.rows) == 3


@pytest.mark.parametrize(
    ("cores", "threads"), [(1, [1]), (2, [1, 2]), (4, [1, 2, 4]), (6, [1, 2, 4, 6])]
)
def test_powers_of_two_and_all_cores_are_probed(cores: int, threads: list[int]) -> None:
    assert doubling(1, cores) == threads


probes = st.dictionaries(
    st.integers(1, 16), st.tuples(st.floats(1, 1e4), st.floats(1e6, 1e10)), max_size=4
).map(lambda found: {1: (5.0, 1e8), **found})


@given(probes, st.integers(1, 64), st.floats(1e8, 1e12), st.integers(1, 100))
def test_what_is_chosen_fits_and_nothing_that_fits_is_faster(
    found: dict[int, tuple[float, float]], n_cores: int, memory: float, most: int
) -> None:
    model = JobModel([probe(n, speed, private) for n, (speed, private) in found.items()])
    fit = choose(model, n_cores, memory, most)
    fitting = [row for row in fit.rows if row.memory_bytes <= memory]
    assert (fit.chosen is None) == (not fitting)
    for row in fit.rows:
        assert 1 <= row.n_children <= most
        assert row.n_children * row.n_threads <= n_cores
        assert row.fits == (row.memory_bytes <= memory)
    if fit.chosen:
        assert fit.chosen.events_per_s == max(row.events_per_s for row in fitting)


@given(probes)
def test_no_probe_needed_more_memory_than_the_model_says(
    found: dict[int, tuple[float, float]],
) -> None:
    model = JobModel([probe(n, speed, private) for n, (speed, private) in found.items()])
    for n, (speed, private) in found.items():
        assert model.private_bytes(n) >= private * (1 - 1e-9)
        assert model.events_per_s(n) == speed
