"""What counts as growth of a job's memory."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from forkrun.parent.memory_guard import Growth


def grown(seen: list[tuple[int, int]]) -> float:
    growth = Growth(10)
    for n_done, used in seen:
        growth.note(used, partial(int, n_done))
    return growth.per_event


def test_growth_is_believed_from_the_third_step_on() -> None:
    seen = [(0, 100), (5, 110), (10, 121), (20, 140)]
    assert [grown(seen[:n]) for n in range(1, 5)] == [0, 0, 0, 2.1]


def test_memory_without_events_is_no_growth() -> None:
    assert grown([(0, used) for used in range(0, 1000, 10)]) == 0


def test_memory_that_is_given_back_has_not_grown() -> None:
    assert grown([(n, 100 + n % 4 * 50) for n in range(100)]) == 0


def test_what_comes_and_goes_in_between_is_left_out() -> None:
    kept = [(n, 100 + n + more) for n in range(0, 100, 10) for more in (0, 500, 0)]
    assert grown([*kept, (100, 700)]) == 1.0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1000))))
def test_growth_is_never_negative(seen: list[tuple[int, int]]) -> None:
    """Events of a child that was killed are done again."""
    assert grown(seen) >= 0
