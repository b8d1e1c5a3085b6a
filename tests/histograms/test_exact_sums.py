"""Sums of booked histograms are those of all fills, rounded once."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import boost_histogram as bh
import hist
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkrun import _core
from forkrun.errors import JobError
from forkrun.histograms.booking import BookedHistogram
from forkrun.histograms.parts import encode, read_parts
from forkrun.histograms.root_file import sum_histograms
from tests.support.files import write_events
from tests.support.jobs import forkrun, output_digests, write_job

MODULES = Path(__file__).with_name("histogram_modules.py")
INF = float("inf")


def booked(histogram: Any) -> tuple[Any, BookedHistogram]:
    made = BookedHistogram("h", histogram)
    return made.histogram, made


def exact(values: Any) -> float:
    return math.fsum(np.asarray(values).tolist())


def wild_numbers(random: np.random.Generator, n: int, decades: int) -> npt.NDArray[np.float64]:
    """With signs, over so many orders of magnitude."""
    exponents = random.uniform(-decades / 2, decades / 2, n)
    return random.choice([-1, 1], n) * 10.0**exponents


# --- the sums -------------------------------------------------------------------------------------
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50), st.randoms())
@settings(deadline=None)
def test_any_numbers_are_summed_as_fsum_does(values: list[float], random: Any) -> None:
    try:
        expected = math.fsum(values)
    except OverflowError:
        expected = None
    one, many = _core.ExactSums(1, 1), _core.ExactSums(1, 1)
    for value in values:
        one.add([0], [[value]])
    random.shuffle(values)
    many.add([0] * len(values), np.array(values)[np.newaxis])
    sums = [many, one, _core.ExactSums.unpacked(one.packed(), 1, 1)]
    results = [each.rounded()[0, 0].item() for each in sums]
    if expected is not None:
        assert results == [expected] * 3
    else:
        assert len({*results}) == 1


@given(st.integers(0, 2**32), st.sampled_from([1, 10, 60, 300]), st.integers(1, 4))
@settings(deadline=None, max_examples=30)
def test_grouping_and_order_do_not_matter(seed: int, decades: int, n_sums: int) -> None:
    random = np.random.default_rng(seed)
    n, n_cells = 500, 7
    cells = random.integers(0, n_cells, n)
    values = np.stack([wild_numbers(random, n, decades) for _ in range(n_sums)])
    whole, parts = _core.ExactSums(n_sums, n_cells), _core.ExactSums(n_sums, n_cells)
    whole.add(cells, values)
    for part in np.array_split(random.permutation(n), random.integers(1, 30)):
        sums = _core.ExactSums(n_sums, n_cells)
        sums.add(cells[part], values[:, part])
        parts.merge(_core.ExactSums.unpacked(sums.packed(), n_sums, n_cells))
    expected = [[exact(row[cells == cell]) for cell in range(n_cells)] for row in values]
    assert whole.rounded().tolist() == parts.rounded().tolist() == expected
    assert whole.packed().tolist() == parts.packed().tolist()


def test_what_does_not_fit_is_an_error() -> None:
    sums = _core.ExactSums(2, 3)
    for cells, values in (([3], [[1], [1]]), ([0], [[1]]), ([0], [1, 1]), ([-1], [[1], [1]])):
        with pytest.raises((ValueError, IndexError, TypeError)):
            sums.add(cells, values)
    with pytest.raises(ValueError, match="differ in size"):
        sums.merge(_core.ExactSums(2, 4))
    with pytest.raises(IndexError, match="cell 2 of 2"):
        sums.move_cells([0, 1, 2], 2)
    with pytest.raises(IndexError):
        sums.clear_cells([3])
    assert sums.empty


# --- bins -----------------------------------------------------------------------------------------
NUMBERS = st.floats(-2, 12) | st.sampled_from([0.0, 1.0, 5.0, 9.999999999999998, 10.0, INF, -INF])
FLOAT_AXES: list[Callable[[], Any]] = [
    *(
        lambda u=u, o=o: bh.axis.Regular(7, 0.1, 10, underflow=u, overflow=o)
        for u in (True, False)
        for o in (True, False)
    ),
    lambda: bh.axis.Regular(3, -1, 9.7, circular=True),
    lambda: bh.axis.Regular(4, 0.1, 10, transform=bh.axis.transform.log),
    lambda: bh.axis.Regular(4, 0.1, 10, transform=bh.axis.transform.Pow(0.5)),
    lambda: bh.axis.Variable([0, 1, 5, 10]),
    lambda: bh.axis.Variable([0, 1, 5, 10], underflow=False, overflow=False),
    lambda: bh.axis.Variable([0, 1, 5, 10], underflow=False),
    lambda: bh.axis.Variable([0, 1, 5, 10], overflow=False),
    lambda: bh.axis.Variable([-1, 7], overflow=False),
    lambda: bh.axis.Variable([n**1.5 for n in range(30)]),
    lambda: bh.axis.Variable([0, 1, 5, 10], circular=True),
]
INTEGER_AXES: list[Callable[[], Any]] = [
    lambda: bh.axis.Integer(2, 6),
    lambda: bh.axis.Integer(2, 6, underflow=False),
    lambda: bh.axis.Integer(2, 6, overflow=False),
    lambda: bh.axis.Integer(2, 6, circular=True),
    lambda: bh.axis.Integer(2, 3, growth=True),
    lambda: bh.axis.IntCategory([5, 1, -2]),
    lambda: bh.axis.IntCategory([5, 1], overflow=False),
    lambda: bh.axis.IntCategory([5], growth=True),
    lambda: bh.axis.IntCategory([], growth=True),
    lambda: bh.axis.Boolean(),
]


def compare_with_boost(axes: list[Any], columns: list[Any], n: int) -> None:
    """Counts of boost_histogram are the sums of fills with weight 1 here."""
    plain = bh.Histogram(*axes, storage=bh.storage.Weight())
    ours, _ = booked(plain.copy())
    plain.fill(*columns)
    ours.fill(*columns, weight=np.ones(n))
    assert ours.axes == plain.axes
    assert np.array_equal(ours.view(flow=True), plain.view(flow=True))


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("make", FLOAT_AXES)
@given(values=st.lists(NUMBERS | st.just(math.nan), min_size=1, max_size=40))
@settings(deadline=None, max_examples=40)
def test_numbers_are_in_the_bins_of_boost_histogram(
    make: Callable[[], Any], values: list[float]
) -> None:
    compare_with_boost([make()], [np.array(values)], len(values))
    compare_with_boost([make()], [values[0]], 1)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("make", INTEGER_AXES)
@given(values=st.lists(st.integers(-5, 12), min_size=1, max_size=40))
@settings(deadline=None, max_examples=40)
def test_integers_are_in_the_bins_of_boost_histogram(
    make: Callable[[], Any], values: list[int]
) -> None:
    for kind in (np.int64, np.int8):
        compare_with_boost([make()], [np.array(values, dtype=kind)], len(values))
    compare_with_boost([make()], [values[0]], 1)
    x = np.linspace(0, 10, len(values))
    regular = bh.axis.Regular(3, 0, 9)
    compare_with_boost([make(), regular, make()], [np.array(values), x, values[0]], len(values))


@given(st.lists(st.sampled_from(["nominal", "up", "µ", "", "down"]), min_size=1, max_size=20))
@settings(deadline=None, max_examples=40)
def test_texts_are_in_the_bins_of_boost_histogram(values: list[str]) -> None:
    for growth in (True, False):
        axis = bh.axis.StrCategory(["nominal", "down"], growth=growth)
        compare_with_boost([axis], [values], len(values))
        compare_with_boost([axis], [np.array(values, dtype=object)], len(values))
        compare_with_boost([axis], [values[0]], 1)


# --- fills as users write them --------------------------------------------------------------------
def test_a_booked_histogram_is_of_its_class() -> None:
    h, _ = booked(hist.Hist.new.Reg(4, 0, 1, name="x").Weight())
    assert isinstance(h, hist.Hist)
    h.fill(x=0.1, weight=3)
    h.fill(0.1)
    assert h[0] == bh.accumulators.WeightedSum(4, 10)
    assert repr(h).startswith("Hist(")
    plain = [h.copy(), h * 1, h.project("x"), h[:], copy.copy(h), pickle.loads(pickle.dumps(h)),
             hist.Hist(h), type(h)(h)]  # fmt: skip
    for other in plain:
        assert type(other) is hist.Hist
        assert other == h
        other.fill(0.1, weight=0.1)
    assert h[0].value == 4
    named, _ = booked(hist.NamedHist.new.Reg(4, 0, 1, name="x").Double())
    assert isinstance(named, hist.NamedHist)
    named.fill(x=[0.1, 0.2], weight=0.5)
    assert named.values().tolist() == [1, 0, 0, 0]


def test_the_histogram_that_was_given_stays_as_it_is() -> None:
    given = hist.Hist.new.Reg(4, 0, 1, name="x", label="x [GeV]").Weight()
    h, b = booked(given)
    h.fill(0.1, weight=3)
    assert type(given) is hist.Hist
    assert given.empty(flow=True)
    assert h.axes[0].label == "x [GeV]"
    b.clear()
    given.fill(0.1)
    with pytest.raises(JobError, match="m/h: its module fills the histogram given to book"):
        b.take("m")


def test_counts_that_have_weights_have_no_variances() -> None:
    h, _ = booked(hist.Hist.new.Reg(2, 0, 2, name="x").Double())
    h.fill(np.array([0.5, 1.5]))
    assert h.variances().tolist() == [1, 1]
    h.fill(np.array([0.5]), weight=np.array([2.0]))
    assert h.variances() is None


def test_arguments_of_every_form() -> None:
    h, _ = booked(
        hist.Hist.new.StrCat(["a"], growth=True, name="c").Reg(2, 0, 2, name="x").Weight()
    )
    h.fill("a", ak.Array([0.5, 1.5]), weight=ak.Array([1.0, 2.0]))
    h.fill(["a", "b"], x=0.5, weight=0.25, threads=2)
    h.fill(x=[1.5], c="b", weight=[8])
    h.fill("b", ak.flatten(ak.Array([[0.5], [], [1.5, 1.5]])), weight=16)
    assert h.values().tolist() == [[1.25, 2], [16.25, 40]]
    assert list(h.axes[0]) == ["a", "b"]
    for arguments in (("a", [0.5, 1.5], [1, 2, 3]), ("a", 0.5, [1, 2]), ("a", [[0.5]], 1)):
        with pytest.raises(ValueError, match=r"spans|1D"):
            h.fill(*arguments[:2], weight=arguments[2])
    with pytest.raises(TypeError):
        h.fill("a", weight=1)
    with pytest.raises((TypeError, ValueError)):
        h.fill(3.5, 0.5, weight=1)
    with pytest.raises(TypeError):
        h.fill("a", 0.5, weight=1, sample=2)
    assert h.sum().value == 59.5


@pytest.mark.parametrize("storage", ["Double", "Unlimited", "Weight", "Mean", "WeightedMean"])
def test_fills_in_any_grouping_give_the_sums_of_products(storage: str) -> None:
    random = np.random.default_rng(5)
    n = 3000
    x, y = random.uniform(-0.2, 1.2, n), wild_numbers(random, n, 30)
    w = wild_numbers(random, n, 30)
    storage_of = getattr(bh.storage, storage)
    sample = {"sample": y} if "Mean" in storage else {}
    bins = np.digitize(x, [0, 0.25, 0.5, 0.75, 1])
    columns = {"w": w, "w2": w * w, "wy": w * y, "wy2": w * y * y}
    results = []
    for n_parts in (1, 13):
        h, b = booked(hist.Hist(hist.axis.Regular(4, 0, 1), storage=storage_of()))
        for part in np.array_split(random.permutation(n), n_parts):
            h.fill(x[part], weight=w[part], **{k: v[part] for k, v in sample.items()})
        sums = b.take("m")
        results.append(sums.exact.packed().tolist())
        for name, row in zip(sums.storage.sums, sums.sums, strict=True):
            assert row.tolist() == [exact(columns[name][bins == k]) for k in range(6)]
    assert results[0] == results[1]


@pytest.mark.parametrize("storage", ["Mean", "WeightedMean"])
@given(
    seed=st.integers(0, 2**32),
    decades=st.sampled_from([0, 3, 8, 60]),
    one_small_in=st.sampled_from([3, 300, 10**9]),
    kind=st.sampled_from([np.float64, np.float32]),
)
@settings(deadline=None, max_examples=25)
def test_columns_of_samples_are_summed_as_fsum_does(
    storage: str, seed: int, decades: int, one_small_in: int, kind: type
) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 6000))
    x: npt.NDArray[Any] = random.uniform(-0.2, 1.2, n).astype(kind)
    w, y = (wild_numbers(random, n, decades) * random.uniform(-1, 1, n) for _ in range(2))
    y[random.integers(0, one_small_in, n) == 0] *= 1e-15
    w, y = w.astype(kind), y.astype(kind)
    h, b = booked(hist.Hist(hist.axis.Regular(3, 0, 1), storage=getattr(bh.storage, storage)()))
    for part in np.array_split(np.arange(n), random.integers(1, 4)):
        h.fill(x[part], weight=w[part], sample=y[part])
    w, y = w.astype(np.float64), y.astype(np.float64)
    columns = [w, w * w, w * y, w * y * y] if storage == "WeightedMean" else [w, w * y, w * y * y]
    bins = bh.axis.Regular(3, 0, 1).index(x.astype(np.float64)) + 1
    expected = [[exact(column[bins == n]) for n in range(5)] for column in columns]
    assert b.take("m").sums.tolist() == expected


def test_a_profile_is_filled_with_samples_and_others_without() -> None:
    profile, _ = booked(hist.Hist.new.Reg(2, 0, 1).Mean())
    plain, _ = booked(hist.Hist.new.Reg(2, 0, 1).Weight())
    x = np.array([0.1, 0.7])
    with pytest.raises((TypeError, KeyError), match="sample"):
        profile.fill(x)
    with pytest.raises((TypeError, KeyError), match="sample"):
        plain.fill(x, sample=x)
    with pytest.raises(ValueError, match="spans"):
        profile.fill(x, sample=np.ones(3))
    profile.fill(x, sample=[2.0, 4.0], weight=2.0)
    profile.fill(x, sample=np.array([4.0, 4.0]))
    assert profile.counts().tolist() == [3, 3]
    assert profile.values().tolist() == [8 / 3, 4]


def test_profiles_show_means_and_variances() -> None:
    for storage in (bh.storage.Mean(), bh.storage.WeightedMean()):
        plain = bh.Histogram(bh.axis.Regular(2, 0, 2), storage=storage)
        ours, _ = booked(plain.copy())
        for h in (plain, ours):
            h.fill([0.5, 0.6, 1.5, 0.7], sample=[1.0, 2.0, 3.0, 6.0])
        assert np.allclose(ours.values(), plain.values())
        assert np.allclose(ours.variances(), plain.variances(), equal_nan=True)
        assert np.array_equal(ours.counts(), plain.counts())


def test_what_is_not_finite_does_not_spoil_other_bins() -> None:
    h, b = booked(hist.Hist.new.Reg(5, 0, 5).Weight())
    h.fill([0, 1, 2, 2, 3, 4, 4], weight=[INF, -INF, INF, -INF, math.nan, 0.1, 0.2])
    assert h.values().tolist()[:2] == [INF, -INF]
    assert np.isnan(h.values()[2:4]).all()
    assert h.values()[4] == exact([0.1, 0.2])
    assert b.take("m").exact.n_not_finite == 10


# --- what is written otherwise --------------------------------------------------------------------
def test_cells_that_are_written_keep_what_was_written() -> None:
    h, b = booked(hist.Hist.new.Reg(4, 0, 4).Weight())
    h.fill([0, 1, 2], weight=0.1)
    h.fill(0)
    h[1] = bh.accumulators.WeightedSum(5, 6)
    h.view()["value"][2] += 1
    h.fill([0, 1, 2, 3], weight=0.1)
    assert h.values().tolist() == [1.2, 5.1, 1.2000000000000002, 0.1]
    h[...] = np.zeros((4, 2))
    h.fill(3, weight=2)
    assert b.take("m").sums[0].tolist() == [0, 0, 0, 0, 2, 0]
    h.reset()
    assert b.take("m").exact.empty


def test_histograms_are_added_exactly() -> None:
    for storage in (bh.storage.Weight(), bh.storage.Double()):
        ours, b = booked(bh.Histogram(bh.axis.StrCategory([], growth=True), storage=storage))
        ours.fill("b")
        for _ in range(10):
            part = bh.Histogram(bh.axis.StrCategory(["a"]), storage=storage)
            ours += bh.Histogram(bh.axis.StrCategory(["a"], growth=True), storage=storage).fill(
                "a", weight=0.1
            )
            ours.fill("c", weight=0.1)
        assert part.shape == (1,)
        assert b.take("m").sums[0].tolist() == [1, exact([0.1] * 10), exact([0.1] * 10)]


def test_counts_are_exact_where_no_weights_are() -> None:
    for storage in (bh.storage.Int64(), bh.storage.AtomicInt64(), bh.storage.Double()):
        h, b = booked(bh.Histogram(bh.axis.Regular(4, 0, 4), storage=storage))
        h.fill([0, 1, 1], threads=2)
        assert b.take("m").sums[0].tolist() == [0, 1, 2, 0, 0, 0]


# --- units ----------------------------------------------------------------------------------------
@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=15)
def test_categories_that_units_meet_in_any_order_add_up_to_the_same(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 200
    names, ids = random.choice(list("abcdef"), n), random.integers(-3, 4, n)
    x, w = random.random(n), wild_numbers(random, n, 60)
    packed = []
    for _ in range(2):
        total = None
        for part in np.array_split(random.permutation(n), random.integers(1, 9)):
            h = (
                hist.Hist.new.StrCat(["b"], growth=True)
                .Int(0, 1, growth=True)
                .Reg(3, 0, 1)
                .Weight()
            )
            h, b = booked(h)
            for some in np.array_split(part, 3):
                h.fill(names[some], ids[some], x[some], weight=w[some])
            unit = b.take("m")
            if total is None:
                total = unit
            else:
                total.add(unit)
        assert total is not None
        packed.append(total.in_order().exact.packed().tolist())
    assert packed[0] == packed[1]


def test_an_empty_histogram_takes_no_room_in_a_file(tmp_path: Path) -> None:
    h, b = booked(hist.Hist.new.Reg(1000, 0, 1).Reg(1000, 0, 1).Weight())
    assert sum(len(bytes(piece)) for piece in encode([("m", "h", b.take("m"))])) < 1000
    h.fill(0.5, 0.5, weight=0.1)
    pieces = encode([("m", "h", b.take("m"))])
    assert sum(len(bytes(piece)) for piece in pieces) < 1100
    file = tmp_path / "a.bin"
    file.write_bytes(b"".join(bytes(piece) for piece in pieces))
    (_, _, read), (_, _, summed) = read_parts(file)[0], sum_histograms([file, file])[0]
    assert (read.sums.sum(), summed.sums[0].sum()) == (0.1 + 0.1 * 0.1, 0.2)


@pytest.mark.long
def test_a_job_writes_the_same_bytes_for_any_blocks_units_and_children(tmp_path: Path) -> None:
    events = write_events(tmp_path / "in.root", [(1, lumi, 40) for lumi in range(1, 6)])
    digests = set()
    for n, (block_size, children, distribution) in enumerate(
        [(7, 1, "lumi"), (1000, 2, "guided"), (3, 2, "contiguous"), (1, 1, "guided")]
    ):
        job = {
            "source": {"files": [str(events)]},
            "threads": {"block_size": block_size},
            "modules": [{"label": "m", "type": f"python:{MODULES}:Weighted", "params": {}}],
            "paths": {"p": ["m"]},
        }
        file = write_job(tmp_path, job)
        options = ["--children", children, "--distribution", distribution, "-q"]
        ended = forkrun("run", file, "-o", f"run{n}", *options, cwd=tmp_path)
        assert ended.code == 0, ended.err
        digests.add(tuple(sorted(output_digests(tmp_path / f"run{n}").items())))
    assert len(digests) == 1
