"""The plan: every event exactly once, whatever the input and the settings."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from forkrun._core import EventDigest
from forkrun.config.choices import Distribution, EventOrder
from forkrun.config.datasets import DatasetConfig
from forkrun.config.model import ForkingConfig, JobConfig
from forkrun.config.outputs import OutputConfig
from forkrun.config.source import SourceConfig
from forkrun.errors import ConfigError
from forkrun.index.model import FileIndex, LumiRange, LumiRanges
from forkrun.index.whole_input import with_datasets
from forkrun.plan.make import UnitSizes, make_plan
from forkrun.plan.model import ANY_CHILD, EntryRange, Plan, Unit
from forkrun.plan.select import LumiMask, read_lumi_mask

NO_DIGEST = "0" * 32
SMALL_WHOLE = ForkingConfig(min_unit_events=10)
"""Lumis of the few events of these tests are not cut."""
Sizes = list[list[tuple[int, int, int]]]  # by file: (run, lumi, events)


def index_of(sizes: Sizes) -> list[FileIndex]:
    """Files with ranges of these lumis and sizes, in this order."""
    return [_file(number, lumis) for number, lumis in enumerate(sizes)]


def _file(number: int, lumis: list[tuple[int, int, int]]) -> FileIndex:
    ranges, first = [], 0
    for run, lumi, n_events in lumis:
        digest = f"{run * 1000 + lumi + first:032x}"
        ranges.append(LumiRange(run, lumi, first, first + n_events, digest))
        first += n_events
    return FileIndex(f"{number}.root", str(number), first, (0, first), tuple(ranges), ())


def config_of(distribution: Distribution, children: int, per_turn: int = 1) -> JobConfig:
    forking = ForkingConfig(children=children, distribution=distribution, events_per_turn=per_turn)
    return JobConfig(forking=forking)


def entries_of(plan: Plan) -> list[tuple[int, int]]:
    return [(r.file, e) for unit in plan.units for r in unit.ranges for e in range(r.first, r.last)]


def all_entries(sizes: Sizes) -> list[tuple[int, int]]:
    return [(n, e) for n, lumis in enumerate(sizes) for e in range(sum(s for _, _, s in lumis))]


inputs = st.lists(
    st.lists(
        st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 12)), min_size=0, max_size=6
    ),
    min_size=1,
    max_size=3,
)
settings_of_job = st.builds(
    config_of, st.sampled_from(list(Distribution)), st.integers(0, 7), st.integers(1, 9)
)


@given(inputs, settings_of_job)
def test_every_event_is_planned_exactly_once(sizes: Sizes, config: JobConfig) -> None:
    plan = make_plan(config, index_of(sizes))
    assert Counter(entries_of(plan)) == Counter(all_entries(sizes))
    assert plan.n_events == len(all_entries(sizes)) == int(plan.units.n_events.sum())


@given(inputs, settings_of_job)
def test_events_before_a_unit_are_counted_in_the_order_of_the_input(
    sizes: Sizes, config: JobConfig
) -> None:
    plan = make_plan(config, index_of(sizes))
    places = all_entries(sizes)
    for unit in plan.units:
        first = [places.index((r.file, r.first)) for r in unit.ranges[:1]]
        assert [plan.events_before(unit.number)] == (first or [0])


@given(inputs, settings_of_job)
def test_a_unit_holds_events_of_its_own_lumi_only(sizes: Sizes, config: JobConfig) -> None:
    index = index_of(sizes)
    for unit in make_plan(config, index).units:
        for r in unit.ranges:
            inside = [
                (q.run, q.lumi)
                for q in index[r.file].ranges
                if q.first < r.last and r.first < q.last
            ]
            assert set(inside) == {(unit.run, unit.lumi)}


@given(inputs, settings_of_job)
def test_the_plan_is_pure_and_numbers_its_units_in_order(sizes: Sizes, config: JobConfig) -> None:
    plan = make_plan(config, index_of(sizes))
    assert plan == make_plan(config, index_of(sizes))
    assert [unit.number for unit in plan.units] == list(range(len(plan.units)))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    ("n_lumis", "n_events", "n_turns"),
    [(256, 5, 256), (10_000, 5, 1320), (100_000, 5, 1750), (10_000, 8192, 10_000)],
)
def test_neighbouring_small_lumis_are_dealt_together(
    n_lumis: int, n_events: int, n_turns: int
) -> None:
    sizes = [[(1, lumi, n_events) for lumi in range(n_lumis)]]
    plan = make_plan(config_of(Distribution.LUMI, 2), index_of(sizes))
    assert np.count_nonzero(np.diff(plan.units.child)) + 1 == n_turns
    assert len(plan.units) == n_lumis
    assert plan.events_by_child() == [n_lumis * n_events // 2] * 2


@given(inputs, st.integers(1, 7))
def test_a_lumi_is_never_split_and_lumis_are_dealt_evenly(sizes: Sizes, children: int) -> None:
    plan = make_plan(config_of(Distribution.LUMI, children), index_of(sizes))
    lumis = [(unit.run, unit.lumi) for unit in plan.units if unit.ranges]
    assert len(set(lumis)) == len(lumis) == plan.n_lumis
    loads = plan.events_by_child() or []
    largest = max(unit.n_events for unit in plan.units)
    assert max(loads) - min(loads) <= largest


def test_the_largest_lumis_are_dealt_first() -> None:
    index = index_of([[(1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1), (1, 5, 4)]])
    plan = make_plan(config_of(Distribution.LUMI, 2), index)
    assert [(unit.lumi, unit.child) for unit in plan.units] == [(n, n < 5) for n in range(1, 6)]


@given(inputs, st.integers(1, 7), st.integers(1, 9))
def test_round_robin_gives_each_child_its_turns(sizes: Sizes, children: int, per_turn: int) -> None:
    plan = make_plan(config_of(Distribution.ROUND_ROBIN, children, per_turn), index_of(sizes))
    child_of = {
        (r.file, e): unit.child for unit in plan.units for r in unit.ranges for e in range(*r[1:])
    }
    sequence = [child_of[entry] for entry in all_entries(sizes)]
    assert sequence == [n // per_turn % children for n in range(len(sequence))]


@given(inputs, st.integers(1, 7))
def test_contiguous_gives_each_child_one_stretch_of_equal_size(sizes: Sizes, children: int) -> None:
    plan = make_plan(config_of(Distribution.CONTIGUOUS, children), index_of(sizes))
    size = -(-plan.n_events // children)
    expected = [max(0, min(size, plan.n_events - child * size)) for child in range(children)]
    assert plan.events_by_child() == expected


@given(inputs, st.integers(0, 40), st.one_of(st.none(), st.integers(0, 40)))
def test_skip_and_max_cut_the_sequence_of_events(sizes: Sizes, skip: int, most: int | None) -> None:
    source = SourceConfig(skip_events=skip, max_events=most)
    config = JobConfig(source=source, forking=ForkingConfig(distribution=Distribution.CONTIGUOUS))
    plan = make_plan(config, index_of(sizes))
    expected = all_entries(sizes)[skip:]
    expected = expected if most is None else expected[:most]
    assert sorted(entries_of(plan)) == expected


@given(inputs)
def test_the_digest_is_the_sum_over_whole_ranges(sizes: Sizes) -> None:
    index = index_of(sizes)
    total = EventDigest()
    for file in index:
        for r in file.ranges:
            total = total + EventDigest(r.last - r.first, r.digest)
    assert make_plan(JobConfig(), index).digest == total.hex


def ordered(order: str) -> JobConfig:
    return JobConfig(forking=SMALL_WHOLE, source=SourceConfig(order=EventOrder(order)))


def lumis_in(plan: Plan) -> list[tuple[int, int]]:
    return [(unit.run, unit.lumi) for unit in plan.units]


IN_PLACES: Sizes = [[(1, 7, 3), (1, 8, 2), (1, 7, 1)], [(1, 7, 2)]]
"""A lumi in several places, of which the last two follow each other over the end of a file."""


def test_events_are_planned_in_the_order_of_the_input_wherever_pieces_of_their_lumis_are() -> None:
    plan = make_plan(JobConfig(forking=SMALL_WHOLE), index_of(IN_PLACES))
    assert list(plan.units) == [
        Unit(0, ANY_CHILD, 1, 7, (EntryRange(0, 0, 3),)),
        Unit(1, ANY_CHILD, 1, 8, (EntryRange(0, 3, 5),)),
        Unit(2, ANY_CHILD, 1, 7, (EntryRange(0, 5, 6), EntryRange(1, 0, 2))),
    ]
    assert (plan.n_lumis, plan.order) == (2, "input")


@pytest.mark.parametrize(
    "config",
    [
        ordered("lumi"),
        JobConfig(forking=SMALL_WHOLE, outputs=(OutputConfig(label="by_lumi", per_lumi=True),)),
        config_of(Distribution.LUMI, 1),
    ],
    ids=["order", "per_lumi", "distribution"],
)
def test_a_lumi_in_several_places_is_one_where_it_is_to_be_whole(config: JobConfig) -> None:
    plan = make_plan(config, index_of(IN_PLACES))
    pieces = (EntryRange(0, 0, 3), EntryRange(0, 5, 6), EntryRange(1, 0, 2))
    assert [(unit.lumi, unit.ranges) for unit in plan.units] == [
        (7, pieces),
        (8, (EntryRange(0, 3, 5),)),
    ]
    assert plan.order == "lumi"


@given(inputs, settings_of_job)
def test_lumis_that_are_whole_in_the_input_have_the_same_units_in_both_orders(
    sizes: Sizes, config: JobConfig
) -> None:
    lumis = [(run, lumi) for lumis in sizes for run, lumi, _ in lumis]
    places = [n for n, lumi in enumerate(lumis) if n == 0 or lumis[n - 1] != lumi]
    whole = [[each for each in of_file if lumis.count(each[:2]) == 1] for of_file in sizes]
    sizes = sizes if len(places) == len(set(lumis)) else whole
    source = SourceConfig(order=EventOrder.LUMI)
    gathered = make_plan(config.replaced({"source": source}), index_of(sizes))
    assert make_plan(config, index_of(sizes)).units == gathered.units


@pytest.mark.parametrize(
    ("sizes", "is_reordered"),
    [
        ([[(1, 1, 5), (1, 2, 5)], [(1, 3, 5)]], False),
        ([[(1, 1, 5), (1, 2, 5), (1, 1, 5)]], True),
        ([[(1, 1, 5), (1, 2, 5)], [(1, 1, 5)]], True),
    ],
    ids=["as stored", "within a file", "another file in between"],
)
def test_a_plan_says_whether_it_goes_back_in_the_input(sizes: Sizes, is_reordered: bool) -> None:
    index = index_of(sizes)
    assert make_plan(ordered("lumi"), index).units.are_out_of_order == is_reordered
    assert not make_plan(ordered("input"), index).units.are_out_of_order


def test_lumis_of_different_datasets_are_never_one(tmp_path: Path) -> None:
    index = [
        replace(file, path=str(tmp_path / file.path))
        for file in index_of([[(1, 1, 2), (1, 2, 2)], [(1, 2, 3), (1, 1, 3)]])
    ]
    for file in index:
        Path(file.path).touch()
    datasets = tuple(DatasetConfig(name=f"data_{f.uuid}", files=(f.path,)) for f in index)
    for order, expected in {
        "input": [(1, 1), (1, 2), (1, 2), (1, 1)],
        "lumi": [(1, 1), (1, 2), (1, 2), (1, 1)],
        "sorted": [(1, 1), (1, 2), (1, 1), (1, 2)],
    }.items():
        config = ordered(order).replaced({"datasets": datasets})
        plan = make_plan(config, with_datasets(index, datasets, ()))
        assert lumis_in(plan) == expected
        assert plan.n_lumis == 4


@pytest.mark.parametrize("n_events", [80, 640, 3072])
def test_each_of_few_events_can_be_a_child_s_last(n_events: int) -> None:
    plan = make_plan(JobConfig(), index_of([[(1, 1, n_events)]]))
    assert plan.units.n_events.max() <= max(1, -(-n_events * 33 // 32 // 3072) * 5 // 4)
    assert plan.units.n_events[-1] == 1


def test_the_order_of_the_input_is_refused_where_lumis_are_to_be_whole() -> None:
    config = ordered("input").replaced({"outputs": (OutputConfig(label="by_lumi", per_lumi=True),)})
    with pytest.raises(ConfigError, match=r'source.order: output "by_lumi", per_lumi needs "lumi"'):
        make_plan(config, index_of(IN_PLACES))


def test_lumis_can_be_sorted() -> None:
    index = index_of([[(2, 1, 1), (1, 9, 1), (1, 3, 1)]])
    assert lumis_in(make_plan(JobConfig(), index)) == [(2, 1), (1, 9), (1, 3)]
    assert lumis_in(make_plan(ordered("sorted"), index)) == [(1, 3), (1, 9), (2, 1)]


def test_no_event_at_all_gives_one_empty_unit() -> None:
    for n_files in (1, 2):
        sizes: list[list[tuple[int, int, int]]] = [[] for _ in range(n_files)]
        plan = make_plan(config_of(Distribution.ROUND_ROBIN, 3), index_of(sizes))
        assert list(plan.units) == [Unit(0, 0, 0, 0, ())]
        assert plan.busy_children() == [0]


def test_the_mask_selects_lumis_with_both_ends() -> None:
    mask = LumiMask.of({1: [[5, 6], [2, 3], [3, 4]], 2: [[1, 1]]})
    accepted = [(run, lumi) for run in (1, 2, 3) for lumi in range(9) if mask.accepts(run, lumi)]
    assert accepted == [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 1)]
    plan = make_plan(
        JobConfig(forking=SMALL_WHOLE), index_of([[(1, 1, 5), (1, 2, 4), (3, 1, 2)]]), mask
    )
    assert list(plan.units) == [Unit(0, ANY_CHILD, 1, 2, (EntryRange(0, 5, 9),))]


def test_ranges_of_a_mask_that_overlap_or_touch_are_one(tmp_path: Path) -> None:
    file = tmp_path / "mask.json"
    file.write_text('{"001": [[7, 9], [1, 2], [3, 4], [2, 3], [6, 6]], "2": []}')
    assert read_lumi_mask(str(file)).ranges == {1: ((1, 4), (6, 9)), 2: ()}


def test_the_mask_may_go_beyond_what_lumis_can_be() -> None:
    most = 2**32 - 1
    mask = LumiMask.of({3: [[-5, 2], [9, 10**12]], most: [[most, most]], 10**20: [[1, 2]]})
    lumis = [(3, 0), (3, 2), (3, 3), (3, 9), (3, most), (4, 0), (most, most - 1), (most, most)]
    found = mask.accepts(*zip(*lumis, strict=True)).tolist()
    assert found == [True, True, False, True, True, False, False, True]
    assert not LumiMask.of({}).accepts([0, 1], [0, 1]).any()


borders = st.integers(0, 12)


@pytest.mark.slow
@given(st.dictionaries(st.integers(0, 3), st.lists(st.tuples(borders, borders).map(sorted))))
def test_the_mask_accepts_what_is_in_a_range(ranges: dict[int, list[list[int]]]) -> None:
    for run, lumi in itertools.product(range(5), range(14)):
        good = any(first <= lumi <= last for first, last in ranges.get(run, ()))
        assert LumiMask.of(ranges).accepts(run, lumi) == good


@given(inputs)
def test_columns_of_ranges_hold_what_the_index_holds(sizes: Sizes) -> None:
    index = index_of(sizes)
    ranges = LumiRanges.of(index)
    columns = (ranges.file, ranges.run, ranges.lumi, ranges.first, ranges.last)
    digests = ("".join(f"{part:08x}" for part in parts) for parts in ranges.digest)
    assert list(zip(*(c.tolist() for c in columns), digests, strict=True)) == [
        (number, *r) for number, file in enumerate(index) for r in file.ranges
    ]


@given(inputs, inputs)
def test_bytes_of_a_file_are_the_same_if_its_ranges_are(one: Sizes, other: Sizes) -> None:
    by_file = [
        (file.ranges, bytes(held))
        for sizes in (one, other)
        for file, held in zip(
            index_of(sizes), LumiRanges.of(index_of(sizes)).bytes_by_file(len(sizes)), strict=True
        )
    ]
    for (mine, held), (theirs, held_too) in itertools.product(by_file, by_file):
        assert (mine == theirs) == (held == held_too)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not valid JSON"),
        ("[]", "write"),
        ('{"a": []}', "'a' is not a run number"),
        ('{"1": [[3, 2]]}', r"run 1: \[3, 2\] is not a range"),
        ('{"1": [3]}', "run 1: 3 is not a range"),
        ('{"1": 3}', "run 1: 3 is not a range"),
        ('{"1": {"2": 3}}', "run 1: {'2': 3} is not a range"),
        ('{"1": [[1, 1]], "1": [[3, 3]]}', 'the key "1" occurs twice in one object'),
        ('{"001": [[1, 1]], "1": [[3, 3]]}', 'run 1 is listed twice, as "001" and "1"; join'),
        ('{"a": [], "1": [[1]]}', r"(?s)'a' is not a run number.*run 1: \[1\] is not a range"),
    ],
)
def test_a_wrong_mask_says_where(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "mask.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        read_lumi_mask(str(file))


@pytest.mark.slow
@given(inputs, st.sampled_from([None, 1, 5]), st.sampled_from([None, 1, 4]))
def test_guided_units_do_not_depend_on_the_number_of_children(
    sizes: Sizes, least: int | None, most: int | None
) -> None:
    plans = []
    for children in (0, 1, 7, 300):
        forking = ForkingConfig(children=children, min_unit_events=least, max_unit_events=most)
        plans.append(make_plan(JobConfig(forking=forking), index_of(sizes)))
    assert all(plan.units == plans[0].units for plan in plans)
    assert most is None or plans[0].units.n_events.max(initial=0) <= most
    assert Counter(entries_of(plans[0])) == Counter(all_entries(sizes))


def planned(file: FileIndex, **forking: int) -> Plan:
    return make_plan(JobConfig(forking=ForkingConfig(**forking)), [file])


def one_lumi(n_events: int, cluster: int) -> FileIndex:
    clusters = (*range(0, n_events, cluster), n_events)
    return FileIndex("a", "a", n_events, clusters, (LumiRange(1, 1, 0, n_events, NO_DIGEST),), ())


def test_guided_units_are_large_at_first_and_small_at_the_end() -> None:
    sizes = planned(one_lumi(10_000_000, 10_000_000)).units.n_events
    first = 10_000_000 * (1 + 1 / 32) / (12 * 256)
    assert sizes[0] == pytest.approx(first, rel=0.25)
    assert sizes[-1] == pytest.approx(first / 33, rel=0.25)
    tenths = [part.mean() for part in np.array_split(sizes, 10)]
    assert all(later < earlier for earlier, later in itertools.pairwise(tenths))


@given(st.integers(1, 10**9), st.integers(1, 10**6))
@settings(max_examples=20)
def test_one_large_lumi_has_units_for_256_children_and_not_many_more(
    n_events: int, cluster: int
) -> None:
    cluster = max(cluster, n_events // 10_000)
    sizes = planned(one_lumi(n_events, cluster)).units.n_events
    assert min(n_events // 13, 2_400) <= len(sizes) <= 25_000
    assert sizes.sum() == n_events
    assert sizes.max() <= max(n_events / (9 * 256) + 1, 13)


@given(st.integers(1, 400), st.integers(1, 3_000), st.integers(20_000, 200_000))
@settings(max_examples=20)
def test_every_border_of_a_cluster_within_reach_is_one_of_units(
    least: int, cluster: int, n_events: int
) -> None:
    """Where clusters are at least as large as the units that are wanted."""
    units = planned(one_lumi(n_events, cluster), min_unit_events=least).units
    largest = max(n_events * (1 + 1 / 32) / (12 * 256), least)
    if cluster > 2 * largest:
        assert set(range(0, n_events - 2 * cluster, cluster)) <= set(units.first.tolist())


def test_small_lumis_stay_whole_and_large_ones_are_cut_where_clusters_begin() -> None:
    ranges = (LumiRange(1, 1, 0, 900, NO_DIGEST), LumiRange(1, 2, 900, 903, NO_DIGEST))
    clusters = (*range(0, 903, 75), 903)
    file = FileIndex("a.root", "a", 903, clusters, ranges, ())
    units = planned(file, min_unit_events=75).units
    cut = [(r.first, r.last) for unit in units if unit.lumi == 1 for r in unit.ranges]
    assert cut == [(first, first + 75) for first in range(0, 900, 75)]
    assert [unit.n_events for unit in units if unit.lumi == 2] == [3]


@pytest.mark.slow
def test_a_hundred_thousand_lumis_are_planned_within_seconds() -> None:
    index = index_of([[(1, lumi, 10) for lumi in range(100_000)]])
    start_s = time.process_time()
    plan = make_plan(config_of(Distribution.LUMI, 8), index)
    assert len(plan.units) == 100_000
    assert time.process_time() - start_s < 10


@pytest.mark.parametrize(
    ("n_left", "most"),
    [
        (12 * 256 * 1000, 1290),  # 1.25 times ⌈1000 + 1000 / 32⌉
        (12 * 256 * 100, 165),  # 1.25 times ⌈100 + 1000 / 32⌉
        (0, 125),  # the least
    ],
)
def test_a_lumi_is_one_unit_up_to_a_quarter_over_the_wanted_size(n_left: int, most: int) -> None:
    sizes = UnitSizes(12 * 256 * 1000, least=100)
    assert sizes.whole(np.array([n_left])).tolist() == [most]


def test_no_unit_exceeds_the_limit_that_was_set() -> None:
    assert UnitSizes(12 * 256 * 1000, most=500).whole(np.array([12 * 256 * 1000])).tolist() == [500]
    assert UnitSizes(0).limit == 1
