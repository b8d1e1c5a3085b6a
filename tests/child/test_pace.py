"""How many events a child takes at a time, and in blocks of which size."""

from __future__ import annotations

from forkrun.child.pace import Pace


def run(
    pace: Pace, n_events: int, s_per_call: float, s_per_event: float, n_bytes: int = 8
) -> list[int]:
    """Sizes of the stretches of one child that is alone, whose calls cost so much."""
    sizes = []
    while n_events:
        n = max(1, min(pace.n_wanted(n_events), n_events))
        n_calls = -(-n // pace.block) if pace.block else 1
        n_column_bytes = n_bytes * min(n, pace.block)
        pace.note(n, n_calls * s_per_call + n * s_per_event, n_column_bytes)
        sizes.append(n)
        n_events -= n
    return sizes


def test_blocks_grow_where_calls_cost_more_than_events() -> None:
    pace = Pace(1, None)
    run(pace, 5_000_000, s_per_call=0.02, s_per_event=5e-7)
    assert pace.block > 50_000


def test_blocks_stay_small_where_events_cost_all() -> None:
    pace = Pace(1, None)
    run(pace, 5_000_000, s_per_call=1e-5, s_per_event=1e-6)
    assert pace.block <= 8 * 8192


def test_expensive_events_get_no_larger_blocks() -> None:
    pace = Pace(1, None)
    sizes = run(pace, 100_000, s_per_call=1.0, s_per_event=1e-3)
    assert pace.block == 8192
    assert max(sizes) == 8192


def test_wide_events_get_blocks_that_fit_the_memory() -> None:
    pace = Pace(1, None)
    run(pace, 5_000_000, s_per_call=0.05, s_per_event=1e-7, n_bytes=4000)
    assert pace.block * 4000 <= 64_000_000


def test_a_given_block_size_is_kept() -> None:
    pace = Pace(1, 7)
    run(pace, 10_000, s_per_call=0.02, s_per_event=5e-7)
    assert pace.block == 7


def test_stretches_take_a_second_at_most_and_become_smaller_at_the_end() -> None:
    pace = Pace(4, 0)
    pace.note(1000, 0.001, 0)  # a million events per second
    assert pace.n_wanted(100_000_000) == 1_000_000
    assert pace.n_wanted(1_200_000) == 100_000
    assert pace.n_wanted(1_000) == 20_000  # all that is left


def test_the_first_stretch_is_no_more_than_a_share() -> None:
    assert Pace(8, None).n_wanted(240) == 10
    assert Pace(1, None).n_wanted(240) == 240
    assert Pace(2, None, n_blocks=3).n_wanted(10_000_000) == 3 * 8192
