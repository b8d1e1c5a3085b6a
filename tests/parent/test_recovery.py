"""What is done about a child that ended badly: verdicts, and the search for what kills."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forkrun.child.assignment import Assignment, BadEvent, Purpose, entry_at, without
from forkrun.config.choices import OnBadEvent
from forkrun.config.model import RecoveryConfig
from forkrun.errors import ConfigError, ModuleError, OutputError
from forkrun.parent.investigation import CrashingEvent, Investigation, OtherCause
from forkrun.parent.recovery import Death, HopelessError, Recovery
from forkrun.plan.model import EntryRange, Units

SKIP = RecoveryConfig(on_bad_event=OnBadEvent.SKIP)
RANGES = (EntryRange(0, 10, 20), EntryRange(2, 0, 5))


def units(n: int) -> Units:
    """Units of lumis 1, 2, … with the entries 10·lumi to 10·lumi + 9 of file 0."""
    numbers = np.arange(n)
    return Units(
        child=np.full(n, -1), run=np.ones(n, dtype=np.int64), lumi=numbers + 1,
        first_range=np.arange(n + 1), file=np.zeros(n, dtype=np.int64),
        first=10 * numbers, last=10 * numbers + 10,
    )  # fmt: skip


def killed(unit: int | None, n_done: int | None = None, event: int = 0) -> Death:
    return Death(0, unit, "killed by signal 11 (SIGSEGV)", None, n_done, event, -11)


def test_a_unit_that_killed_once_is_done_again_by_the_next_child() -> None:
    recovery = Recovery(SKIP, units(5))
    assert not recovery.is_busy
    assert recovery.died(killed(3)) == "unit 3 is processed again"
    recovery.requeue([1])
    assert recovery.is_busy
    assert recovery.assignment() == Assignment(Purpose.WORK, (1, 3))
    assert not recovery.is_busy


def test_units_that_crashed_a_child_together_are_done_again_in_parts_then_alone() -> None:
    recovery = Recovery(SKIP, units(300))
    stretch = tuple(range(300))
    words = recovery.died(replace(killed(0), together=stretch[1:]))
    assert words == "processing 300 units from 0 on again, fewer at a time"
    parts = recovery.assignment()
    assert parts == Assignment(Purpose.WORK, stretch, n_together=5)
    recovery.requeue(stretch[15:])
    recovery.died(replace(killed(15), together=stretch[16:20]))
    alone = recovery.assignment()
    assert alone.first == stretch[15:]
    assert alone.alone == frozenset(stretch[15:20])
    found = recovery.died(killed(18))
    assert found == "unit 18 has crashed its child 2 times: its events are tried one by one"
    recovery.requeue(stretch[19:])
    assert recovery.assignment().purpose is Purpose.PROBE


def test_an_exception_ends_the_job_at_once_or_is_looked_into_at_once() -> None:
    death = replace(killed(2), error=ModuleError("no such jet"))
    with pytest.raises(HopelessError, match="a module raised") as caught:
        Recovery(RecoveryConfig(), units(3)).died(death)
    assert caught.value.bad_event is None
    recovery = Recovery(SKIP, units(3))
    assert "its events are tried one by one" in recovery.died(death)
    with pytest.raises(HopelessError, match="a module raised"):
        recovery.died(replace(death, unit=None))  # in begin_job(), for instance


@pytest.mark.parametrize("works", [False, True])
def test_a_module_that_raises_at_the_first_events_is_to_blame_if_nothing_else_works(
    works: bool,
) -> None:
    recovery = Recovery(SKIP, units(3))
    if works:
        recovery.progressed()
    for event in range(3):
        death = replace(killed(2, 0, event), error=ModuleError("no such jet"))
        recovery.died(death)
        recovery.probed(2, death)
        if event == 2 and not works:
            with pytest.raises(HopelessError, match="at each of 3 events"):
                recovery.probed(2, death)
        else:
            assert "is left out" in recovery.probed(2, death)


def test_an_event_that_kills_by_itself_is_left_out() -> None:
    recovery = Recovery(SKIP, units(5))
    recovery.died(killed(3))
    recovery.assignment()
    recovery.died(killed(3))
    probe = recovery.assignment()
    assert probe == Assignment(Purpose.PROBE, (3,), (EntryRange(0, 30, 40),))
    assert recovery.probed(3, killed(3, 4, event=1234)) == "event 1234 of unit 3 is tried alone"
    assert recovery.assignment().entries == (EntryRange(0, 34, 35),)
    words = recovery.probed(3, killed(3, 0, event=1234))
    assert words == "event 1:4:1234 is left out: killed by signal 11 (SIGSEGV)"
    bad = BadEvent(1, 4, 1234, 0, 34, "killed by signal 11 (SIGSEGV)")
    assert recovery.bad_events == [bad]
    assert recovery.assignment() == Assignment(Purpose.WORK, (3,), (), {3: (bad,)}, frozenset({3}))


def test_a_second_bad_event_of_the_same_unit_is_found_among_the_others() -> None:
    recovery = Recovery(SKIP, units(5))
    for place in (4, 6):
        for _ in range(2):
            recovery.died(killed(3))
        recovery.assignment()
        recovery.probed(3, killed(3, place, event=place))
        recovery.assignment()
        recovery.probed(3, killed(3, 0, event=place))
        left_out = recovery.assignment().left_out[3]
    assert [event.entry for event in left_out] == [34, 37]  # 6 others, without entry 34


def test_stop_ends_the_job_with_the_event() -> None:
    recovery = Recovery(RecoveryConfig(), units(5))
    recovery.died(killed(0))
    recovery.died(killed(0))
    recovery.assignment()
    recovery.probed(0, killed(0, 9, event=7))
    recovery.assignment()
    words = "event 1:1:7 crashes the child that processes it"
    with pytest.raises(HopelessError, match=words) as caught:
        recovery.probed(0, killed(0, 0, event=7))
    assert caught.value.bad_event
    assert caught.value.bad_event.entry == 9


def test_a_unit_whose_events_kill_nobody_is_done_again_but_not_for_ever() -> None:
    recovery = Recovery(SKIP, units(5))

    def kill_twice_and_probe() -> str:
        recovery.died(killed(2))
        recovery.died(killed(2))
        assert recovery.assignment().purpose is Purpose.PROBE
        return recovery.probed(2, None)

    for _ in range(2):
        assert kill_twice_and_probe() == "no event of unit 2 is to blame: it is processed again"
        assert recovery.assignment() == Assignment(Purpose.WORK, (2,))
    with pytest.raises(HopelessError, match="unit 2 has crashed its child 6 times") as caught:
        kill_twice_and_probe()
    assert caught.value.death.child == 0
    assert caught.value.death.words == "killed by signal 11 (SIGSEGV)"


def test_more_bad_events_than_allowed_end_the_job() -> None:
    recovery = Recovery(SKIP.replaced({"max_bad_events": 0}), units(5))
    recovery.died(killed(2))
    recovery.died(killed(2))
    recovery.assignment()
    recovery.probed(2, killed(2, 0))
    recovery.assignment()
    recovery.probed(2, killed(2, 0))
    with pytest.raises(HopelessError, match="more than 0 bad events"):
        recovery.probed(2, None)  # another event does not do the same


def test_a_full_disk_is_nobodys_event() -> None:
    recovery = Recovery(SKIP, units(5))
    full = Death(0, 2, "exit code 4", OutputError("no space left"), exit_code=4)
    assert recovery.died(full) == "unit 2 is processed again"
    assert recovery.died(full) == "unit 2 is processed again"
    with pytest.raises(HopelessError, match="3 times for the same reason"):
        recovery.died(full)


def test_crashes_and_failures_of_the_disk_are_counted_apart() -> None:
    recovery = Recovery(SKIP, units(5))
    full = Death(0, 2, "exit code 4", OutputError("no space left"), exit_code=4)
    recovery.died(full)
    assert recovery.died(killed(2)) == "unit 2 is processed again"
    assert recovery.died(full) == "unit 2 is processed again"
    assert "has crashed its child 2 times" in recovery.died(killed(2))


def test_a_disk_that_is_full_while_events_are_tried_blames_none_of_them() -> None:
    recovery = Recovery(SKIP, units(5))
    full = Death(0, 2, "exit code 4", OutputError("no space left"), exit_code=4)
    for _ in range(2):
        recovery.died(killed(2))
    for _ in range(2):
        assert recovery.assignment().purpose is Purpose.PROBE
        assert recovery.probed(2, full) == "unit 2 is processed again"
        assert recovery.assignment() == Assignment(Purpose.WORK, (2,))
        recovery.died(killed(2))
    assert recovery.bad_events == []
    recovery.assignment()
    with pytest.raises(HopelessError, match="unit 2 failed 3 times for the same reason"):
        recovery.probed(2, full)


def test_a_probe_that_was_interrupted_is_made_again() -> None:
    recovery = Recovery(SKIP, units(5))
    recovery.died(killed(3))
    recovery.died(killed(3))
    probe = recovery.assignment()
    recovery.repeat_probe(3)
    assert recovery.assignment() == probe


def test_children_that_die_before_any_unit_end_the_job_unless_others_get_on() -> None:
    recovery = Recovery(SKIP, units(5))
    for _ in range(5):
        assert recovery.died(killed(None)) == "a new child takes its place"
        recovery.progressed()
    recovery.died(killed(None))
    recovery.died(killed(None))
    with pytest.raises(HopelessError):
        recovery.died(killed(None))


def test_a_wrong_configuration_is_not_tried_again() -> None:
    wrong = Death(0, 2, "exit code 2", ConfigError("no such column"), exit_code=2)
    with pytest.raises(HopelessError, match="it would happen again"):
        Recovery(SKIP, units(5)).died(wrong)


def test_an_event_that_kills_only_after_the_others_is_guilty_if_it_does_so_twice() -> None:
    investigation = Investigation(RANGES)
    assert investigation.died(12, 99, "SIGSEGV") is None
    assert investigation.entries == (EntryRange(2, 2, 3),)
    assert investigation.survived() is None
    assert list(investigation.entries) == list(RANGES)
    assert investigation.died(12, 99, "SIGSEGV") == CrashingEvent(
        EntryRange(2, 2, 3), 99, "SIGSEGV"
    )


@pytest.mark.parametrize("n_done", [None, 3, 15])
def test_a_death_elsewhere_proves_nothing(n_done: int | None) -> None:
    """Before the first event, at another one, after the last one."""
    investigation = Investigation(RANGES)
    investigation.died(12, 99, "SIGSEGV")
    investigation.survived()
    assert isinstance(investigation.died(n_done, 7, "SIGKILL"), OtherCause)


ranges = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(1, 9)), max_size=5
).map(lambda parts: tuple(EntryRange(f, 100 * n + a, 100 * n + a + k)
                          for n, (f, a, k) in enumerate(parts)))  # fmt: skip


def entries(of: tuple[EntryRange, ...]) -> list[tuple[int, int]]:
    return [(r.file, entry) for r in of for entry in range(r.first, r.last)]


@given(ranges, st.data())
def test_ranges_without_events_hold_all_others_in_order(
    of: tuple[EntryRange, ...], data: st.DataObject
) -> None:
    everything = entries(of)
    out = data.draw(st.sets(st.sampled_from(everything))) if everything else set()
    bad = tuple(BadEvent(1, 1, 0, file, entry, "") for file, entry in out)
    assert entries(without(of, bad)) == [place for place in everything if place not in out]


@given(ranges)
def test_every_entry_is_found_by_its_place(of: tuple[EntryRange, ...]) -> None:
    for place, (file, entry) in enumerate(entries(of)):
        assert entry_at(of, place) == EntryRange(file, entry, entry + 1)
    assert entry_at(of, len(entries(of))) is None


def first_event_kills(recovery: Recovery) -> str:
    recovery.died(killed(2))
    recovery.died(killed(2))
    recovery.assignment()
    recovery.probed(2, killed(2, 0, event=7))
    recovery.assignment()
    return recovery.probed(2, killed(2, 0, event=7))


def test_an_event_that_kills_first_is_compared_with_others() -> None:
    recovery = Recovery(SKIP, units(5))
    assert first_event_kills(recovery) == "unit 2: another event is tried, which may do the same"
    assert entries(recovery.assignment().entries) == [(0, 21)]
    recovery.probed(2, killed(2, 0, event=8))
    assert entries(recovery.assignment().entries) == [(0, 22)]
    assert "is left out" in recovery.probed(2, None)
    assert [event.entry for event in recovery.bad_events] == [20]


def test_where_each_event_kills_that_comes_first_none_is_to_blame() -> None:
    recovery = Recovery(SKIP, units(5))
    first_event_kills(recovery)
    for _ in range(2):
        recovery.probed(2, killed(2, 0))
    with pytest.raises(HopelessError, match="no event is to blame, but a module") as caught:
        recovery.probed(2, killed(2, 0))
    assert not caught.value.bad_event


def test_a_crash_in_a_thread_of_a_library_is_no_events_fault() -> None:
    recovery = Recovery(SKIP, units(5))
    recovery.died(killed(2))
    recovery.died(killed(2))
    recovery.assignment()
    elsewhere = replace(killed(2, 4, event=7), is_elsewhere=True)
    assert recovery.probed(2, elsewhere) == "no event of unit 2 is to blame: it is processed again"
