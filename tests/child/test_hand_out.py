"""Units are handed out once each, to processes that share nothing but a counter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forkrun.child.hand_out import HandOut
from forkrun.child.unit_queue import UnitQueue
from forkrun.config.choices import Distribution
from forkrun.config.model import ForkingConfig, JobConfig
from forkrun.index.model import FileIndex, LumiRange
from forkrun.plan.make import make_plan
from forkrun.plan.model import Plan
from tests.support.forks import in_processes


def plan_of(distribution: Distribution, children: int, n_lumis: int = 6) -> Plan:
    ranges = tuple(
        LumiRange(1, lumi, 100 * lumi, 100 * lumi + 100, "0" * 32) for lumi in range(n_lumis)
    )
    n = 100 * n_lumis
    forking = ForkingConfig(children=children, distribution=distribution, min_unit_events=50)
    file = FileIndex("a.root", "a", n, (0, n), ranges, ())
    return make_plan(JobConfig(forking=forking), [file])


def test_a_shared_queue_gives_each_unit_once_in_plan_order(tmp_path: Path) -> None:
    queue = UnitQueue(np.arange(5, 3005))

    def take(child: int) -> None:
        taken = [str(unit) for unit in iter(lambda: queue.take(child), None)]
        (tmp_path / str(child)).write_text("\n".join(taken))

    in_processes(4, take)
    by_child = [[int(u) for u in (tmp_path / str(c)).read_text().split()] for c in range(4)]
    assert sorted(unit for units in by_child for unit in units) == list(range(5, 3005))
    for child, units in enumerate(by_child):
        assert units == sorted(units) == queue.taken_by(child).tolist()
    assert queue.n_left == 0


def test_what_is_committed_already_is_not_handed_out() -> None:
    plan = plan_of(Distribution.GUIDED, 2)
    to_do = np.ones(len(plan.units), dtype=np.bool_)
    to_do[[0, 3]] = False
    hand_out = HandOut(plan, to_do)
    assert hand_out.is_shared
    taken = [first for first, _ in all_stretches(hand_out, 1)]
    assert taken == np.flatnonzero(to_do).tolist()
    assert hand_out.taken_by(1).tolist() == taken
    assert hand_out.taken_by(0).tolist() == []
    assert hand_out.take_left(0) == []


def test_of_files_on_servers_children_take_whole_clusters() -> None:
    plan = plan_of(Distribution.GUIDED, 2, 60)
    at_cluster = plan.units.at_cluster([range(0, 6001, 1000)])
    everything = np.ones(len(plan.units), dtype=np.bool_)
    for is_far in ([True], [False]):
        hand_out = HandOut(plan, everything, everything, at_cluster, plan.units.are_in(is_far))
        taken = list(all_stretches(hand_out, 3))
        begins = np.array([first for first, _ in taken])
        assert sum(n for _, n in taken) == len(plan.units)
        assert bool(at_cluster[begins].all()) == is_far[0]


def test_children_of_a_settled_plan_have_their_own_queues() -> None:
    plan = plan_of(Distribution.LUMI, 2)
    hand_out = HandOut(plan, np.ones(len(plan.units), dtype=np.bool_))
    for child in (0, 1):
        own = [unit.number for unit in plan.units if unit.child == child]
        assert hand_out.n_left_for(child) == len(own)
        assert hand_out.take_stretch(child, lambda _: (1, 1)) == (own[0], 1)
        assert hand_out.take_left(child) == own[1:]
        assert hand_out.taken_by(child).tolist() == own
    assert hand_out.n_left == 0


def test_a_closed_queue_gives_nothing() -> None:
    queue = UnitQueue(np.arange(10))
    assert queue.take(0) == 0
    queue.close()
    assert queue.take(0) is None
    assert queue.n_left == 0


def test_only_lumis_that_were_begun_are_finished() -> None:
    for n_taken, n_more in ((0, 0), (1, 2), (3, 0), (4, 2), (12, 0)):
        hand_out, plan = hand_out_of_clusters(2, n_clusters=3, lumi=150)  # three units each
        assert len(plan.units) == 30
        for _ in range(n_taken):
            hand_out.take_stretch(0, lambda _: (1, 1))
        hand_out.close_after_lumi()
        assert len(all_stretches(hand_out, 1)) == n_more


def all_stretches(hand_out: HandOut, child: int, n_wanted: int = 1) -> list[tuple[int, int]]:
    return list(iter(lambda: hand_out.take_stretch(child, lambda _: (n_wanted, n_wanted)), None))


CLUSTER = 500


def hand_out_of_clusters(
    children: int, n_clusters: int, lumi: int, unit: int = 50, *, is_far: bool = False
) -> tuple[HandOut, Plan]:
    """Of so many clusters, and lumis and units of so many events; `is_far`: on a server."""
    n = n_clusters * CLUSTER
    ranges = tuple(
        LumiRange(1, first, first, first + lumi, "0" * 32) for first in range(0, n, lumi)
    )
    clusters = tuple(range(0, n + 1, CLUSTER))
    forking = ForkingConfig(children=children, min_unit_events=unit, max_unit_events=unit)
    file = FileIndex("a.root", "a", n, clusters, ranges, ())
    plan = make_plan(JobConfig(forking=forking), [file])
    assert (plan.units.n_events == unit).all()
    joined = np.ones(len(plan.units), dtype=np.bool_)
    far = joined if is_far else None
    return HandOut(plan, joined, joined, plan.units.at_cluster([clusters]), far), plan


def test_each_child_begins_with_a_cluster_of_its_own() -> None:
    hand_out, _ = hand_out_of_clusters(children=4, n_clusters=64, lumi=32_000)
    wanted = lambda _: (300, 300)  # noqa: E731
    stretches = [[hand_out.take_stretch(child, wanted) for _ in range(3)] for child in range(4)]
    own = [[(10 * child, 6), (10 * child + 6, 4)] for child in range(4)]
    assert [of_child[:2] for of_child in stretches] == own
    assert [of_child[2] for of_child in stretches] == [(40, 6), (46, 4), (50, 6), (56, 4)]


@pytest.mark.parametrize(("n_clusters", "n_own"), [(160, 5), (2_500, 66)])
def test_own_parts_are_whole_clusters_of_a_sixteenth_of_a_share_or_of_as_many_events_as_do(
    n_clusters: int, n_own: int
) -> None:
    hand_out, _ = hand_out_of_clusters(2, n_clusters, lumi=n_clusters * CLUSTER)
    first = [hand_out.take_stretch(child, lambda _: (99_999, 99_999)) for child in range(2)]
    assert first == [(0, 10 * n_own), (10 * n_own, 10 * n_own)]


def test_of_files_on_servers_children_know_what_half_of_their_share_is() -> None:
    hand_out, plan = hand_out_of_clusters(2, 64, 32_000, is_far=True)
    expected = [plan.units.joined_ranges(hand_out.first_units(child)).tolist() for child in (0, 1)]
    assert expected == [[[0, 0, 8_000]], [[0, 8_000, 16_000]]]
    hand_out.take_stretch(1, lambda _: (500, 500))
    (left,) = plan.units.joined_ranges(hand_out.first_units(1)).tolist()
    assert left == [0, 8_500, 16_000]
    alone, plan = hand_out_of_clusters(1, 64, 32_000, is_far=True)
    assert plan.units.joined_ranges(alone.first_units(0)).tolist() == [[0, 0, 32_000]]
    all_stretches(alone, 0)
    assert plan.units.joined_ranges(alone.first_units(0)).tolist() == []
    some = np.array([0, 1, 5, 6, 9])
    ranges = [[0, 0, 100], [0, 250, 350], [0, 450, 500]]
    assert plan.units.joined_ranges(some).tolist() == ranges


def test_parts_of_many_units_may_be_half_of_the_job() -> None:
    for unit, begins in (
        (5, [0, 100, 200, 300, 400, 500, 600, 700]),
        (50, [0, 1, 2, 3, 4, 5, 6, 7]),
    ):
        hand_out, _ = hand_out_of_clusters(8, n_clusters=20, lumi=20 * CLUSTER, unit=unit)
        firsts = [hand_out.take_stretch(child, lambda _: (1, 1)) for child in range(8)]
        assert firsts == [(begin, 1) for begin in begins]


@pytest.mark.parametrize(("children", "n_clusters"), [(1, 64), (8, 60), (8, 1)])
def test_a_single_child_or_those_of_few_clusters_have_no_part_of_their_own(
    children: int, n_clusters: int
) -> None:
    hand_out, plan = hand_out_of_clusters(children, n_clusters, n_clusters * CLUSTER)
    last = children - 1
    assert all_stretches(hand_out, last) == [(unit, 1) for unit in range(len(plan.units))]


def test_what_a_late_child_has_left_is_done_by_others() -> None:
    hand_out, plan = hand_out_of_clusters(children=4, n_clusters=64, lumi=32_000)
    seen: list[int] = []

    def wanted(n_left: int) -> tuple[int, int]:
        seen.append(n_left)
        return 50, 50

    assert hand_out.take_stretch(1, wanted) == (10, 1)
    assert hand_out.take_stretch(3, wanted) == (30, 1)
    taken = [first for first, _ in iter(lambda: hand_out.take_stretch(0, wanted), None)]
    others = [*range(11, 20), *range(20, 30), *range(31, 40)]
    assert taken == [*range(10), *range(40, 640), *others]
    assert seen == list(range(plan.n_events, 0, -50))
    assert hand_out.taken_by(0).tolist()[:10] == list(range(10))
    assert sorted(hand_out.taken_by(0).tolist()) == sorted(taken)
    assert hand_out.n_left == hand_out.n_left_for(2) == 0


def test_children_begin_to_help_in_different_places() -> None:
    for child, first in ((0, 10), (1, 20), (2, 30), (3, 0)):
        hand_out, plan = hand_out_of_clusters(children=4, n_clusters=64, lumi=32_000)
        last = all_stretches(hand_out, child)[-30:]
        assert last[0] == (first, 1)
        assert hand_out.n_left == 0
        assert len(hand_out.taken_by(child)) == len(plan.units)


def test_a_single_child_takes_as_much_as_it_wants_from_the_beginning() -> None:
    hand_out, plan = hand_out_of_clusters(1, n_clusters=64, lumi=32_000)
    assert hand_out.take_stretch(0, lambda n_left: (n_left, n_left)) == (0, len(plan.units))


def test_lumis_that_children_have_begun_in_parts_of_their_own_are_finished() -> None:
    hand_out, plan = hand_out_of_clusters(children=4, n_clusters=64, lumi=800)  # 16 units each
    begun = [hand_out.take_stretch(child, lambda _: (50, 50)) for child in (0, 2)]
    assert begun == [(0, 1), (20, 1)]
    hand_out.close_after_lumi()
    taken = [first for first, _ in all_stretches(hand_out, 3)]
    assert sorted([0, 20, *taken]) == list(range(32))  # the first two lumis, and nothing else
    assert len(set(plan.units.lumi[:32].tolist())) == 2


def test_units_in_parts_of_their_own_are_taken_once_by_several_processes(tmp_path: Path) -> None:
    hand_out, plan = hand_out_of_clusters(children=4, n_clusters=64, lumi=32_000)

    def take(child: int) -> None:
        taken = all_stretches(hand_out, child, 150)
        (tmp_path / str(child)).write_text("\n".join(f"{first} {n}" for first, n in taken))

    in_processes(4, take)
    units = []
    for child in range(4):
        pairs = [line.split() for line in (tmp_path / str(child)).read_text().splitlines()]
        own = [unit for first, n in pairs for unit in range(int(first), int(first) + int(n))]
        assert sorted(own) == sorted(hand_out.taken_by(child).tolist())
        units += own
    assert sorted(units) == list(range(len(plan.units)))


def taken_stretches(
    queue: UnitQueue, n_wanted: int, to_cluster: int | None = None
) -> list[tuple[int, int]]:
    events = n_wanted, to_cluster or n_wanted
    return list(iter(lambda: queue.take_stretch(0, lambda _: events), None))


def test_stretches_have_at_most_the_wanted_events_and_one_unit_at_least() -> None:
    joins_previous = np.ones(7, dtype=np.bool_)
    n_events = np.array([10, 10, 10, 50, 5, 5, 10])
    queue = UnitQueue(np.arange(7), n_events, joins_previous)
    assert taken_stretches(queue, 20) == [(0, 2), (2, 1), (3, 1), (4, 3)]
    assert queue.taken_by(0).tolist() == list(range(7))
    assert queue.n_left == 0


def test_a_stretch_ends_where_units_may_not_be_joined_or_some_are_done() -> None:
    joins_previous = np.array([False, True, True, False, True, True])
    numbers = np.array([2, 3, 5, 6, 7, 8])  # 4 is done
    queue = UnitQueue(numbers, np.ones(6, dtype=np.int64), joins_previous)
    assert taken_stretches(queue, 100) == [(2, 2), (5, 1), (6, 3)]
    single = UnitQueue(numbers, np.ones(6, dtype=np.int64))
    assert taken_stretches(single, 100) == [(int(number), 1) for number in numbers]


def test_what_is_wanted_depends_on_what_is_left() -> None:
    queue = UnitQueue(np.arange(4), np.full(4, 10), np.ones(4, dtype=np.bool_))
    seen: list[int] = []

    def all_of(n_left: int) -> tuple[int, int]:
        seen.append(n_left)
        return 20, 20

    while queue.take_stretch(0, all_of):
        pass
    assert seen == [40, 20]


def test_stretches_taken_by_several_processes_cover_each_unit_once(tmp_path: Path) -> None:
    queue = UnitQueue(np.arange(3000), np.ones(3000, dtype=np.int64), np.ones(3000, dtype=np.bool_))

    def take(child: int) -> None:
        lines = []
        while taken := queue.take_stretch(child, lambda n_left: (n_left // 9, n_left // 9)):
            lines.append(f"{taken[0]} {taken[1]}")
        (tmp_path / str(child)).write_text("\n".join(lines))

    in_processes(4, take)
    lines = [line for c in range(4) for line in (tmp_path / str(c)).read_text().splitlines()]
    pairs = [tuple(map(int, line.split())) for line in lines]
    units = [unit for first, n in pairs for unit in range(first, first + n)]
    assert sorted(units) == list(range(3000))
    assert max(n for _, n in pairs) > 1


def test_a_stretch_ends_with_a_cluster_if_one_is_near() -> None:
    ones = np.ones(20, dtype=np.int64)
    at_cluster = np.zeros(20, dtype=np.bool_)
    at_cluster[[0, 5, 9, 17]] = True
    queue = UnitQueue(np.arange(20), ones, ones.astype(np.bool_), at_cluster)
    assert taken_stretches(queue, 4, 5) == [(0, 5), (5, 4), (9, 4), (13, 4), (17, 3)]


def test_a_stretch_goes_on_to_the_end_of_a_cluster_as_far_as_it_may() -> None:
    ones = np.ones(40, dtype=np.int64)
    at_cluster = np.zeros(40, dtype=np.bool_)
    at_cluster[[0, 12, 32]] = True
    queue = UnitQueue(np.arange(40), ones, ones.astype(np.bool_), at_cluster)
    assert taken_stretches(queue, 4, 12)[:4] == [(0, 12), (12, 4), (16, 4), (20, 12)]


def test_units_know_whether_they_begin_with_a_cluster() -> None:
    plan = plan_of(Distribution.GUIDED, 1)  # 6 lumis of 100 events, cut into units of 50
    firsts = plan.units.first[plan.units.first_range[:-1]]
    found = plan.units.at_cluster([[0, 150, 200, 333, 600]])
    assert firsts[found].tolist() == [0, 150, 200]


def test_units_are_done_again_a_few_at_a_time() -> None:
    plan = plan_of(Distribution.GUIDED, 1, n_lumis=300)
    n = len(plan.units)
    joined = np.ones(n, dtype=np.bool_)
    hand_out = HandOut(plan, joined, joined)
    assert n >= 300
    assert list(hand_out.parts([3, 4, 5, 9], (), 1)) == [(3, 1), (4, 1), (5, 1), (9, 1)]
    assert list(hand_out.parts([3, 4, 5, 9], (), 2)) == [(3, 2), (5, 1), (9, 1)]
    parts = list(hand_out.parts(range(n), (7,), 10))
    assert (7, 1) in parts
    assert n / 10 <= len(parts) <= n / 10 + 3
    assert [unit for first, k in parts for unit in range(first, first + k)] == list(range(n))
    assert len(list(HandOut(plan, joined).parts(range(n), (), 10))) == n


def test_a_lumi_that_comes_again_later_is_not_waited_for() -> None:
    ranges = tuple(LumiRange(1, 1 + n % 3, 10 * n, 10 * n + 10, "0" * 32) for n in range(12))
    file = FileIndex("a.root", "a", 120, (0, 120), ranges, ())
    plan = make_plan(JobConfig(forking=ForkingConfig(children=2, min_unit_events=10)), [file])
    to_do = np.ones(len(plan.units), dtype=np.bool_)
    hand_out = HandOut(plan, to_do, to_do)
    assert hand_out.take_stretch(0, lambda _: (10, 10)) == (0, 1)
    hand_out.close_after_lumi()
    assert hand_out.n_left == 0
