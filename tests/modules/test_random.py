"""Random numbers of events: what they depend on, and the forms that they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forkrun
from forkrun import _core
from forkrun.modules.random import BlockRandom
from tests.analysis.objects_file import write_objects
from tests.support import philox

UINT32 = st.integers(0, 2**32 - 1)
UINT64 = st.integers(0, 2**64 - 1)
EVENTS = st.lists(UINT64, min_size=1, max_size=40, unique=True)


def core(
    events: Sequence[int], seed: int = 1, name: str = "m", run: int = 3, lumi: int = 4
) -> _core.BlockRandom:
    return _core.BlockRandom(seed, name, run, lumi, np.array(events, dtype=np.uint64))


def block(events: Sequence[int] = range(100), **where: Any) -> BlockRandom:
    return BlockRandom(core(events, **where))


@given(UINT64, st.text(max_size=20), UINT32, UINT32, UINT64, st.integers(1, 9))
def test_words_are_those_that_the_documentation_tells(
    seed: int, name: str, run: int, lumi: int, event: int, n: int
) -> None:
    words = core([event], seed, name, run, lumi).words(n)
    assert words.tolist() == [philox.word(seed, name, run, lumi, event, i) for i in range(n)]


@given(UINT64)
def test_values_are_made_of_words_as_the_documentation_tells(event: int) -> None:
    words = core([event]).words(4).tolist()
    random = block([event])
    assert random.random().tolist() == [philox.uniform(words[0])]
    assert np.allclose(random.normal(), philox.normal(words[1]), rtol=1e-12, atol=1e-15)
    assert np.allclose(random.exponential(), -np.log(((words[2] >> 11) + 1) / 2**53), rtol=1e-15)
    assert random.integers(-5, 1000).tolist() == [-5 + (words[3] * 1005 >> 64)]


def test_wide_integers_take_two_words() -> None:
    low, n = -(2**62), 2**63 - 2
    first, second = core([7]).words(2).tolist()
    assert block([7]).integers(low, low + n).tolist() == [low + ((first << 64 | second) * n >> 128)]


def draw_all(random: BlockRandom, events: Sequence[int]) -> list[list[float]]:
    """By event, what calls of every kind give, each with its own number of values."""
    ids = np.array(events, dtype=np.uint64)
    counts = (ids % 4).astype(np.int64)
    calls = [
        random.random(),
        random.normal(1.0, ids % 5, size=counts),
        random.poisson(3.5),
        random.poisson(20 + counts, size=2),
        random.integers(10, size=counts),
        random.integers(0, 2**40),
        random.exponential(2.0, size=3),
        random.poisson(random.uniform(0, 30, size=counts)),
        random.random(),
    ]
    values = [[ak.to_list(call[i]) for call in calls] for i in range(len(ids))]
    return [np.hstack(of_event).tolist() for of_event in values]


@pytest.mark.slow
@given(EVENTS, st.data())
def test_any_blocks_of_the_events_give_the_same_numbers(events: list[int], data: Any) -> None:
    whole = dict(zip(events, draw_all(block(events), events), strict=True))
    order = data.draw(st.permutations(events))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(events)))) | {0, len(events)})
    for first, last in pairwise(cuts):
        part = order[first:last]
        assert draw_all(block(part), part) == [whole[event] for event in part]


@given(EVENTS, st.data())
def test_an_event_does_not_see_how_much_others_draw(events: list[int], data: Any) -> None:
    counts = st.lists(st.integers(0, 300), min_size=len(events), max_size=len(events))
    drawn = data.draw(counts)
    random = block(events)
    before = ak.to_list(random.normal(size=np.array(drawn)))
    after = random.random().tolist()
    for event, n, values, last in zip(events, drawn, before, after, strict=True):
        alone = block([event])
        assert alone.normal(size=n).tolist() == [values]
        assert alone.random().tolist() == [last]


def test_a_call_of_many_values_is_as_many_calls_of_one() -> None:
    one, other = block(), block()
    assert np.array_equal(one.normal(size=5), np.stack([other.normal() for _ in range(5)], axis=1))


def test_calls_modules_seeds_runs_and_lumis_give_different_numbers() -> None:
    random = block()
    others = [block(seed=2), block(name="n"), block(run=4), block(lumi=5), block(range(100, 200))]
    drawn = [random.random(), random.random(), *(other.random() for other in others)]
    assert len(np.unique(np.concatenate(drawn))) == 700


COUNTS = np.arange(100) % 3
JAGGED = ak.unflatten(np.arange(COUNTS.sum(), dtype=np.float32), COUNTS)


@pytest.mark.parametrize(
    ("draw", "kind", "counts"),
    [
        (lambda r: r.random(), "float64", None),
        (lambda r: r.random(like=JAGGED), "float64", COUNTS),
        (lambda r: r.random(size=COUNTS), "float64", COUNTS),
        (lambda r: r.random(size=0), "float64", 0),
        (lambda r: r.random(like=ak.zip({"pt": JAGGED, "eta": JAGGED})), "float64", COUNTS),
        (lambda r: r.random(like=np.zeros((100, 4))), "float64", 4),
        (lambda r: r.uniform(-1, COUNTS), "float64", None),
        (lambda r: r.normal(COUNTS, 2, 3), "float64", 3),
        (lambda r: r.normal(np.zeros((100, 2)), 1), "float64", 2),
        (lambda r: r.normal(JAGGED, 0.1 * JAGGED), "float64", COUNTS),
        (lambda r: r.normal(JAGGED[::-1], 1), "float64", COUNTS[::-1]),
        (lambda r: r.exponential(ak.Array(COUNTS), like=JAGGED), "float64", COUNTS),
        (lambda r: r.integers(6), "int64", None),
        (lambda r: r.integers(0, COUNTS + 1, size=2), "int64", 2),
        (lambda r: r.poisson(JAGGED), "int64", COUNTS),
    ],
)
def test_values_have_the_form_that_is_asked_for(
    draw: Callable[[BlockRandom], Any], kind: str, counts: Any
) -> None:
    values = draw(block())
    if counts is None or isinstance(counts, int):
        assert (values.dtype, values.shape) == (kind, (100,) if counts is None else (100, counts))
    else:
        assert np.array_equal(ak.num(values), counts)
        assert str(values.type) == f"100 * var * {kind}"


def test_parameters_are_those_of_their_event_and_value() -> None:
    standard = block().normal(like=JAGGED)
    assert ak.all(block().normal(JAGGED, 2.0) == JAGGED + 2.0 * standard)
    assert ak.all(block().normal(COUNTS, 2.0, like=JAGGED) == COUNTS + 2.0 * standard)
    standard = block().random(size=2)
    width = np.arange(200.0).reshape(100, 2)
    assert np.array_equal(block().uniform(0, width), width * standard)
    assert np.array_equal(block().uniform(0, width[:, :1], size=2), width[:, :1] * standard)
    assert np.array_equal(block().uniform(0, COUNTS, size=2), COUNTS[:, np.newaxis] * standard)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda r: r.normal(0, -1), "a scale must not be negative"),
        (lambda r: r.exponential(-COUNTS), "a scale must not be negative"),
        (lambda r: r.poisson(-1.0), "between 0 and 1e12"),
        (lambda r: r.poisson(np.nan), "between 0 and 1e12"),
        (lambda r: r.integers(3, 3), "contain no value"),
        (lambda r: r.integers(0), "contain no value"),
        (lambda r: r.random(size=2, like=JAGGED), "size or like, not both"),
        (lambda r: r.random(size=-1), "size is a count"),
        (lambda r: r.random(size=2.5), "size is a count"),
        (lambda r: r.random(size=COUNTS[:-1]), "one count for each of 100 events"),
        (lambda r: r.random(like=JAGGED[:-1]), "wanted 100 events"),
        (lambda r: r.random(like=COUNTS), "like is a column of any number of values per event"),
        (lambda r: r.normal(COUNTS[:-1], 1), "does not fit"),
        (lambda r: r.normal(np.zeros((100, 3)), 1, size=2), "does not fit"),
        (lambda r: r.normal(JAGGED, JAGGED[::-1]), "another number of values"),
        (lambda r: r.normal(JAGGED, COUNTS[:-1]), "does not fit"),
        (lambda r: r.normal(JAGGED, np.zeros((100, 2))), "does not fit"),
        (lambda r: r.normal(JAGGED, 1, size=2), "does not fit"),
    ],
)
def test_what_means_nothing_or_does_not_fit_is_an_error(
    draw: Callable[[BlockRandom], Any], message: str
) -> None:
    random = block()
    with pytest.raises(ValueError, match=message):
        draw(random)
    assert np.array_equal(random.random(), block().random()), "an error takes no words"


def test_numpy_generators_are_those_of_their_events() -> None:
    random = block()
    random.random(size=COUNTS)
    shuffled = random.generator(5).permutation(20).tolist()
    alone = block([5])
    alone.random(size=2)
    assert alone.generator(0).permutation(20).tolist() == shuffled
    assert sorted(shuffled) == list(range(20))
    assert alone.generator(0).permutation(20).tolist() != shuffled
    with pytest.raises(IndexError):
        random.generator(100)


def test_a_block_without_events_gives_nothing() -> None:
    empty = block([])
    assert empty.random().shape == (0,)
    assert empty.normal(size=3).shape == (0, 3)
    assert ak.to_list(empty.poisson(size=np.zeros(0, dtype=int))) == []


def test_selected_events_have_the_numbers_that_they_have_among_all(tmp_path: Path) -> None:
    file = write_objects(tmp_path / "objects.root")
    found = {}

    def drawn(events: Any) -> list[Any]:
        muons = events["Muon_pt"]
        return [
            events.random.uniform(), events.random.normal(events["MET_pt"], 1.0, size=2),
            events.random.normal(1.0, 0.1, like=muons), events.random.integers(5, size=1),
            np.array([events.random.generator(n).random() for n in range(len(events))]),
        ]  # fmt: skip

    for name, expression in (("all", "MET_pt >= 0"), ("some", "nMuonGood >= 2")):
        job = forkrun.Job(file, name=name, job={"seed": 7})
        job.define("nMuonGood", "num(Muon_pt)").filter(expression)

        def draw(block: Any, name: str = name) -> None:
            events = block[block.event % 2 == 0]
            assert events.n_events == len(events)
            assert events.iov == 0
            found[name] = drawn(events), events.event

        job.analyzer(draw, label="draw")
        job.run(children=0, output=tmp_path / name, quiet=True, plots=False)
    (every, all_events), (some, events_left) = found["all"], found["some"]
    mask = np.isin(all_events, events_left)
    assert 0 < mask.sum() < len(mask)
    for before, left in zip(every, some, strict=True):
        assert ak.to_list(before[mask]) == ak.to_list(left)
