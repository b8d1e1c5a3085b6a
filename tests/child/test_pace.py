"""How many events a child takes at a time, and in blocks of which size."""

from __future__ import annotations

import pytest

from forkrun.child.pace import Pace, first_stretch


def run(
    pace: Pace,
    n_events: int,
    s_per_call: float,
    s_per_event: float,
    n_bytes: int = 8,
    slowness: float = 1.0,
    unit: int = 10,
) -> list[int]:
    """Sizes of the stretches of one child that is alone, whose calls cost so much."""
    sizes = []
    while n_events:
        n = min(max(unit, pace.n_wanted(n_events)[0] // unit * unit), n_events)
        n_calls = -(-n // pace.block) if pace.block else 1
        cpu_s = n_calls * s_per_call + n * s_per_event
        pace.note(n, slowness * cpu_s, cpu_s, n_bytes * min(n, pace.block), slowness)
        sizes.append(n)
        n_events -= n
    return sizes


def test_blocks_grow_where_calls_cost_more_than_events() -> None:
    pace = Pace(1, None)
    run(pace, 5_000_000, s_per_call=0.02, s_per_event=5e-7)
    assert pace.block > 50_000


def test_large_blocks_come_as_soon_as_it_is_known_what_calls_cost() -> None:
    sizes = run(Pace(1, None), 1_000_000, s_per_call=0.04, s_per_event=8e-7)
    assert sizes[:4] == [10, 990, 27_180, 262_140]
    assert sizes[4] > 120_000


@pytest.mark.parametrize("s_per_event", [1e-4, 1e-3, 1e-2])
def test_a_call_without_fixed_cost_that_is_taken_for_one_is_followed_by_four_seconds_at_most(
    s_per_event: float,
) -> None:
    sizes = run(Pace(1, None), 1_000_000, s_per_call=0.0, s_per_event=s_per_event)
    assert max(sizes) * s_per_event <= 4.1
    assert sizes[-1] * s_per_event <= 1.0


def test_blocks_grow_where_other_processes_have_the_cpu_most_of_the_time() -> None:
    pace = Pace(1, None)
    run(pace, 5_000_000, s_per_call=0.02, s_per_event=5e-7, slowness=5.0)
    assert pace.block > 50_000


def test_a_machine_that_becomes_slow_does_not_make_larger_blocks_look_bad() -> None:
    pace = Pace(1, None)
    for n_events, slowness in ((10, 1), (400, 1), (8192, 1), (65_536, 4)):
        cpu_s = 0.02 + n_events * 5e-7
        pace.note(n_events, slowness * cpu_s, cpu_s, 8 * n_events, slowness)
    assert pace.block == 262_144


def test_blocks_stay_small_where_events_cost_all() -> None:
    pace = Pace(1, None)
    run(pace, 1_000_000, s_per_call=1e-5, s_per_event=1e-5)
    assert pace.block <= 8 * 8192


def test_few_events_are_taken_before_it_is_known_what_they_cost() -> None:
    assert Pace(2, None).n_wanted(1_000_000) == (16, 16)
    assert Pace(2, None).n_wanted(64 * 2 * 5) == (5, 5)
    assert Pace(256, None).n_wanted(1_000) == (1, 1)


def test_expensive_events_are_taken_for_a_second_at_most() -> None:
    pace = Pace(1, None)
    sizes = run(pace, 200, s_per_call=0.03, s_per_event=1.0)
    assert set(sizes) == {10}
    assert pace.block == 8192
    pace = Pace(2, None)
    sizes = run(pace, 20_000, s_per_call=0.03, s_per_event=0.01)
    assert 50 < max(sizes) <= 130


def test_wide_events_get_blocks_that_fit_the_memory() -> None:
    pace = Pace(1, None)
    run(pace, 5_000_000, s_per_call=0.05, s_per_event=1e-7, n_bytes=4000)
    assert pace.block * 4000 <= 64_000_000


@pytest.mark.parametrize(("n_bytes", "block"), [(16_000, 4_000), (1_000_000, 1_024)])
def test_and_fewer_events_than_first_blocks_have_where_these_would_not_fit(
    n_bytes: int, block: int
) -> None:
    pace = Pace(4, None)
    pace.note(16, 0.4, 0.4, n_bytes * 16)
    assert pace.block == block
    pace.note(8, 0.3, 0.3, n_bytes * 16)  # columns keep the memory of the largest block
    assert pace.block == block


def test_a_given_block_size_is_kept() -> None:
    pace = Pace(1, 7)
    run(pace, 10_000, s_per_call=0.02, s_per_event=5e-7)
    assert pace.block == 7


def test_stretches_take_a_second_at_most_and_become_smaller_at_the_end() -> None:
    pace = Pace(4, 0)
    pace.note(1000, 0.001, 0.001, 0)  # a million events per second
    assert pace.n_wanted(1_000_000_000) == (1_000_000, 6_000_000)
    assert pace.n_wanted(1_200_000) == (100_000, 125_000)
    assert pace.n_wanted(30_000) == (20_000, 25_000)
    assert pace.n_wanted(1_000) == (1_000, 1_000)


def test_stretches_go_on_to_a_cluster_only_while_others_have_as_much_to_do() -> None:
    pace = Pace(4, 0)
    pace.note(1000, 1.0, 1.0, 0)
    assert pace.n_wanted(192_000) == (1_000, 4_000)
    assert pace.n_wanted(24_000) == (500, 625)


def test_little_that_is_left_of_files_on_servers_is_taken_at_once() -> None:
    """Each stretch waits for its own request."""
    pace = Pace(4, 0, waits=True)
    pace.note(1000, 0.001, 0.001, 0)  # a million events per second
    assert pace.n_wanted(240_000)[0] == 240_000
    assert pace.n_wanted(1_200_000)[0] == 300_000
    assert pace.n_wanted(6_000_000)[0] == 500_000


def test_what_calls_cost_decides_how_short_the_last_stretches_are() -> None:
    cheap, dear = Pace(2, None), Pace(2, None)
    run(cheap, 500_000, s_per_call=0.001, s_per_event=1e-6)
    run(dear, 500_000, s_per_call=0.05, s_per_event=1e-6)
    assert 3 * cheap.n_wanted(100_000)[0] < 2 * dear.n_wanted(100_000)[0]


def test_the_last_stretches_do_not_become_shorter_than_what_calls_cost() -> None:
    """Blocks have long ceased to grow then."""
    pace = Pace(2, None)
    sizes = run(pace, 200_000, s_per_call=0.1, s_per_event=2e-6)
    assert len(sizes) < 15
    assert sum(size < 1_000 for size in sizes) <= 4


def test_a_few_expensive_events_are_not_taken_for_the_cost_of_calls() -> None:
    pace = Pace(4, 0)
    run(pace, 400_000, s_per_call=0.0, s_per_event=1e-5)
    for _ in range(3):
        pace.note(1_000, 0.1, 0.1, 0)
    assert pace.n_wanted(2_000)[0] < 400


def test_what_calls_cost_whatever_they_get_is_told_apart() -> None:
    pace = Pace(n_children=1, block_size=100)
    for n_events in (50, 100, 50, 100, 100, 100):
        pace.note(n_events, 0.02 + 1e-5 * n_events, 0.02 + 1e-5 * n_events, 0)
    assert pace.n_calls == 6
    assert pace.calls_s == pytest.approx(0.12 + 1e-5 * 500)
    assert pace.fixed_s == pytest.approx(0.02 * 5)  # not yet known at the first


def test_blocks_that_something_else_cuts_are_counted_as_they_were() -> None:
    pace = Pace(n_children=1, block_size=None)
    for n_blocks, n_events in ((1, 10), (20, 1_000), (40, 2_000)):
        took_s = 0.02 * n_blocks + 1e-5 * n_events
        pace.note(n_events, took_s, took_s, 0, n_blocks=n_blocks)
    assert pace.n_calls == 61
    assert pace.fixed_s == pytest.approx(0.02 * 60)


@pytest.mark.parametrize(("s_per_call", "slowness"), [(2.0, 1.0), (0.2, 10.0), (0.03, 20.0)])
def test_calls_that_take_long_whatever_their_size_become_large_calls(
    s_per_call: float, slowness: float
) -> None:
    """A second is over before the first of them is."""
    sizes = run(Pace(2, None), 20_000, s_per_call, s_per_event=1e-5, slowness=slowness, unit=45)
    assert len(sizes) < 16
    assert max(sizes) > 3_000


def test_events_that_become_cheaper_are_not_taken_for_calls_that_cost_much() -> None:
    """An expensive stretch and a large cheap one look like calls that cost seconds."""
    pace = Pace(256, None)
    for n_events, s_per_event in ((250, 0.1), (250, 0.01), (500, 0.01), (250, 0.01)):
        cost_s = 0.02 + n_events * s_per_event
        pace.note(n_events, cost_s, cost_s, 8)
    assert pace.n_wanted(150_000)[0] * 0.01 < 8.0


def test_what_calls_cost_follows_from_calls_that_are_near_each_other() -> None:
    pace = Pace(256, None)
    for n_events, s_per_event in ((250, 0.1), (250, 0.01), (500, 0.01), (250, 0.01)):
        cost_s = 0.02 + n_events * s_per_event
        pace.note(n_events, cost_s, cost_s, 8)
    assert pace.n_wanted(2_000)[0] == 5


def test_time_in_which_modules_sleep_is_not_taken_for_that_of_calls() -> None:
    """They use no CPU."""
    pace = Pace(4, None)
    for n_events in (10, 40, 60, 50):
        pace.note(n_events, 0.02 * n_events, 1e-3 + 1e-5 * n_events, 8)
    assert pace.n_wanted(120)[0] == 7


def test_units_are_in_flight_alone_until_it_is_known_what_a_call_costs() -> None:
    pace = Pace(1, None)
    assert pace.is_apart
    pace.note(16, 0.02, 0.02, 128)
    assert pace.is_apart
    pace.note(8192, 0.03, 0.03, 65_536)
    assert not pace.is_apart


def test_events_that_take_long_are_not_read_ahead() -> None:
    pace = Pace(4, 1)
    pace.note(1, 0.05, 0.05, 8)
    assert not pace.is_apart
    pace.note(1, 0.5, 0.5, 8)
    assert pace.is_apart


def test_commits_of_thousands_of_histograms_are_a_tenth_of_the_time_of_stretches() -> None:
    pace = Pace(4, 0)
    pace.note(1000, 0.001, 0.001, 0, commit_s=0.5)  # a million events per second
    assert pace.n_wanted(1_000_000_000)[0] == 5_000_000
    assert pace.n_wanted(24_000_000)[0] == 2_000_000  # a third of an equal share
    assert pace.n_wanted(1_000_000)[0] == 770_000


@pytest.mark.parametrize("s_per_call", [0.1, 0.5, 2.0])
def test_thousands_of_modules_are_called_few_times(s_per_call: float) -> None:
    sizes = run(Pace(4, None), 100_000, s_per_call, s_per_event=1e-6)
    assert len(sizes) <= 9


def test_blocks_of_slow_events_end_in_time_where_a_stretch_cannot_be_short() -> None:
    pace = Pace(8, None)
    assert [pace.block_of(n) for n in (16, 64, 640, 6_400, 1_000_000)] == [8192, 32, 80, 128, 8192]
    pace.note(100, 200.0, 200.0, 0)
    assert pace.block_of(5_000) == 30  # of 60 s
    of_core = Pace(8, 0, longest_block_s=3.0)
    assert [of_core.block_of(n) for n in (16, 6_400)] == [0, 128]
    of_core.note(100, 10.0, 10.0, 0)
    assert of_core.block_of(5_000) == 30
    of_core.note(100_000, 1.0, 1.0, 0)
    assert of_core.block_of(5_000) == 0
    configured = Pace(8, 1_000)
    assert configured.block_of(5_000) == 1_000
    configured.note(100, 200.0, 200.0, 0)
    assert configured.block_of(5_000) == 30


def test_the_first_stretch_is_as_long_as_the_trial_of_the_modules_allows() -> None:
    assert first_stretch(500, 2, rate=5000) == 250  # a call for each child
    assert first_stretch(6000, 2, rate=5000) == 1000
    assert first_stretch(1_000_000, 2, rate=5000) == 1500  # 0.3 s
    assert first_stretch(1_000_000, 2, rate=0) == 0
    pace = Pace(2, None, n_tried=250)
    assert [pace.n_wanted(n)[0] for n in (500, 250, 100)] == [250, 250, 100]
    assert pace.block_of(250) >= 250
