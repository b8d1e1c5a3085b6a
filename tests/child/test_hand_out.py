"""Units are handed out once each, to processes that share nothing but a counter."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from forkrun.child.hand_out import HandOut, UnitQueue
from forkrun.config import Distribution, ForkingConfig, JobConfig
from forkrun.index import FileIndex, LumiRange
from forkrun.plan import Plan, make_plan


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
    for child in range(4):
        if os.fork() == 0:
            taken = [str(unit) for unit in iter(lambda: queue.take(child), None)]  # noqa: B023
            (tmp_path / str(child)).write_text("\n".join(taken))
            os._exit(0)
    for _ in range(4):
        os.wait()
    by_child = [[int(u) for u in (tmp_path / str(c)).read_text().split()] for c in range(4)]
    assert sorted(unit for units in by_child for unit in units) == list(range(5, 3005))
    assert all(units == sorted(units) == queue.taken_by(c) for c, units in enumerate(by_child))
    assert queue.n_left == 0


def test_what_is_committed_already_is_not_handed_out() -> None:
    plan = plan_of(Distribution.GUIDED, 2)
    to_do = np.ones(len(plan.units), dtype=np.bool_)
    to_do[[0, 3]] = False
    hand_out = HandOut(plan, to_do)
    assert hand_out.is_shared
    assert hand_out.queue(0) is hand_out.queue(1)
    taken = list(iter(lambda: hand_out.queue(1).take(1), None))
    assert taken == np.flatnonzero(to_do).tolist()
    assert hand_out.queue(1).taken_by(0) == []


def test_children_of_a_settled_plan_have_their_own_queues() -> None:
    plan = plan_of(Distribution.LUMI, 2)
    hand_out = HandOut(plan, np.ones(len(plan.units), dtype=np.bool_))
    for child in (0, 1):
        taken = list(iter(lambda: hand_out.queue(child).take(child), None))  # noqa: B023
        assert taken == [unit.number for unit in plan.units if unit.child == child]
        assert taken == hand_out.queue(child).taken_by(child)
    assert hand_out.n_left == 0


def test_a_closed_queue_gives_nothing() -> None:
    queue = UnitQueue(np.arange(10))
    assert queue.take(0) == 0
    queue.close()
    assert queue.take(0) is None
    assert queue.n_left == 0


def test_only_lumis_that_were_begun_are_finished() -> None:
    lumi_key = np.repeat(np.arange(4), 3)
    for n_taken, n_more in ((0, 0), (1, 2), (3, 0), (4, 2), (12, 0)):
        queue = UnitQueue(np.arange(12))
        for _ in range(n_taken):
            queue.take(0)
        queue.close_after_lumi(lumi_key.astype(np.uint64))
        assert len(list(iter(lambda: queue.take(1), None))) == n_more  # noqa: B023


def taken_stretches(
    queue: UnitQueue, n_wanted: int, to_cluster: int | None = None
) -> list[tuple[int, int]]:
    events = n_wanted, to_cluster or n_wanted
    return list(iter(lambda: queue.take_stretch(0, lambda _: events), None))


def test_stretches_have_at_most_the_wanted_events_and_one_unit_at_least() -> None:
    goes_on = np.ones(7, dtype=np.bool_)
    n_events = np.array([10, 10, 10, 50, 5, 5, 10])
    queue = UnitQueue(np.arange(7), n_events, goes_on)
    assert taken_stretches(queue, 20) == [(0, 2), (2, 1), (3, 1), (4, 3)]
    assert queue.taken_by(0) == list(range(7))
    assert queue.n_left == 0


def test_a_stretch_ends_where_units_may_not_be_joined_or_some_are_done() -> None:
    goes_on = np.array([False, True, True, False, True, True])
    numbers = np.array([2, 3, 5, 6, 7, 8])  # 4 is done
    queue = UnitQueue(numbers, np.ones(6, dtype=np.int64), goes_on)
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
    for child in range(4):
        if os.fork() == 0:
            lines = []
            while taken := queue.take_stretch(child, lambda n_left: (n_left // 9, n_left // 9)):
                lines.append(f"{taken[0]} {taken[1]}")
            (tmp_path / str(child)).write_text("\n".join(lines))
            os._exit(0)
    for _ in range(4):
        os.wait()
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
