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
    forking = ForkingConfig(
        children=children, distribution=distribution, balance_for=1, min_unit_events=50
    )
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
