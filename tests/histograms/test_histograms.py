"""Histograms from booking to the ROOT file that ROOT and uproot read."""

from __future__ import annotations

import json
import math
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import boost_histogram as bh
import hist
import numpy as np
import pytest
import uproot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forkrun import Analyzer, _core
from forkrun.errors import ConfigError, InputError, JobError
from forkrun.histograms.booking import BookedHistogram
from forkrun.histograms.parts import encode, read_parts
from forkrun.histograms.root_file import Named, sum_histograms, write_histograms
from forkrun.monitoring.report.memory_detail import read_memory_detail
from forkrun.monitoring.timing.record import write_trace
from forkrun.rundir.directory import RunDirectory
from tests.support.files import write_events
from tests.support.jobs import forkrun, output_digests, write_job
from tests.support.root_histograms import ask_root

MODULES = Path(__file__).with_name("histogram_modules.py")
INF = float("inf")


def taken(histogram: Any, name: str = "h", module: str = "m") -> Named:
    return module, name, BookedHistogram(name, histogram).take(module)


def written(folder: Path, *histograms: Any) -> Path:
    """A file of m/h0, m/h1, …"""
    path = folder / "histograms.root"
    named = [taken(h, f"h{n}") for n, h in enumerate(histograms)]
    assert write_histograms(path, named) == len(named)
    return path


def job_of(folder: Path, lumis: int = 5, **sections: Any) -> dict[str, Any]:
    events = write_events(folder / "in.root", [(1, lumi, 20) for lumi in range(1, lumis + 1)])
    return {
        "source": {"files": [str(events)]},
        "modules": [{"label": "m", "type": f"python:{MODULES}:Variations", "params": {}}],
        "paths": {"p": ["m"]},
        **sections,
    }


# --- axes -----------------------------------------------------------------------------------------
def test_labels_of_categories_are_read_by_root_and_uproot(tmp_path: Path) -> None:
    names = hist.Hist(hist.axis.StrCategory(["nominal", "muUp", "µ→e"], name="v"))
    names.fill(["muUp", "muUp", "nominal", "unknown"])
    axes = hist.Hist.new.IntCat([13, -11], name="id").Reg(2, 0, 2, name="x", label="x [GeV]")
    ids = axes.Weight()
    ids.fill([13, -11, 5], [0.5, 1.5, 0.5], weight=[1, 2, 4])
    path = written(tmp_path, names, ids)
    in_root = ask_root({"file": str(path)})
    assert in_root["m/h0"]["labels"] == [["nominal", "muUp", "µ→e"]]
    assert in_root["m/h0"]["values"] == [0, 1, 2, 0, 1]  # others than the declared: overflow
    assert in_root["m/h1"]["labels"] == [["13", "-11"], None]
    assert in_root["m/h1"]["axes"] == [[2, 0, 2, "id"], [2, 0, 2, "x [GeV]"]]
    with uproot.open(path) as file:
        back = file["m/h0"].to_hist()
        assert list(back.axes[0]) == file["m/h0"].axis().labels() == ["nominal", "muUp", "µ→e"]
        assert back["muUp"] == 2
        both = file["m/h1"].to_hist()
        assert list(both.axes[0]) == [13, -11]
        assert both[{0: bh.loc(-11), 1: 1}].value == 2
        assert both[{0: bh.loc(-11), 1: 1}].variance == 4
        assert file["m/h1"].values(flow=True)[3, 1] == 4  # id 5


AXES: list[tuple[bh.axis.Axis, list[float], list[float]]] = [
    (bh.axis.Regular(2, 0, 2), [-1, 0, 1.5, 2], [0, 1, 2]),
    (bh.axis.Regular(2, 0, 2, underflow=False), [-1, 0, 1.5, 2], [0, 1, 2]),
    (bh.axis.Regular(2, 0, 2, overflow=False), [-1, 0, 1.5, 2], [0, 1, 2]),
    (bh.axis.Regular(2, 0, 2, underflow=False, overflow=False), [-1, 0, 1.5, 2], [0, 1, 2]),
    (bh.axis.Regular(2, 0, 2, circular=True), [-1, 0, 1.5, 2, np.nan], [0, 1, 2]),
    (bh.axis.Regular(2, 1, 100, transform=bh.axis.transform.log), [0.5, 2, 20, 200], [1, 10, 100]),
    (bh.axis.Variable([0, 1, 5]), [-1, 0.5, 2, 7], [0, 1, 5]),
    (bh.axis.Variable([0, 1, 5], circular=True), [-1, 0.5, 2, 7], [0, 1, 5]),
    (bh.axis.Variable([0, 1, INF], underflow=False), [0.5, 2, 7], [0, 1, INF]),
    (bh.axis.Integer(-1, 1), [-2, -1, 0, 1], [-1, 0, 1]),
    (bh.axis.Integer(0, 2, underflow=False, overflow=False), [-1, 0, 1, 5], [0, 1, 2]),
    (bh.axis.Integer(0, 2, circular=True), [-1, 0, 1, 5], [0, 1, 2]),
    (bh.axis.Integer(0, 1, growth=True), [-1, 0, 1], [-1, 0, 1, 2]),
    (bh.axis.Boolean(), [False, True, True], [0, 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("storage", [bh.storage.Int64(), bh.storage.Weight()])
def test_every_axis_is_read_back_with_its_bins_and_flow(tmp_path: Path, storage: Any) -> None:
    histograms = [bh.Histogram(axis, storage=storage) for axis, _, _ in AXES]
    for histogram, (axis, fills, _) in zip(histograms, AXES, strict=True):
        whole = isinstance(axis, bh.axis.Integer | bh.axis.Boolean)
        histogram.fill(np.array(fills, dtype=int if whole else float))
    path = written(tmp_path, *histograms)
    in_root = ask_root({"file": str(path)})
    with uproot.open(path) as file:
        for n, (histogram, (axis, _, edges)) in enumerate(zip(histograms, AXES, strict=True)):
            pads = (int(not axis.traits.underflow), int(not axis.traits.overflow))
            expected = np.pad(histogram.values(flow=True), pads).tolist()
            assert file[f"m/h{n}"].values(flow=True).tolist() == expected, axis
            assert file[f"m/h{n}"].axis().edges() == pytest.approx(edges), axis
            assert in_root[f"m/h{n}"]["values"] == expected
            if INF not in edges:
                assert in_root[f"m/h{n}"]["edges"] == [pytest.approx(edges)]
            varies = isinstance(axis, bh.axis.Variable) or getattr(axis, "transform", None)
            assert in_root[f"m/h{n}"]["has_equal_bins"] == [not varies]


def test_bins_of_three_axes_without_some_flow_bins_are_at_their_places(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    axes = (
        bh.axis.Regular(3, 0, 3, underflow=False),
        bh.axis.StrCategory(["a", "b"], overflow=False),
        bh.axis.Variable([0, 1, 4], overflow=False),
    )
    histogram = bh.Histogram(*axes, storage=bh.storage.Weight())
    names = np.array(["a", "b", "c"])[rng.integers(0, 3, 500)]
    histogram.fill(rng.uniform(-1, 4, 500), names, rng.uniform(-1, 5, 500), weight=rng.random(500))
    with uproot.open(written(tmp_path, histogram)) as file:
        content = file["m/h0"].values(flow=True)
        assert content.shape == (5, 4, 4)
        assert np.array_equal(content[1:, 1:-1, :-1], histogram.values(flow=True))
        assert content.sum() == pytest.approx(histogram.sum(flow=True).value)
        variances = file["m/h0"].variances(flow=True)
        assert np.array_equal(variances[1:, 1:-1, :-1], histogram.variances(flow=True))


# --- storages -------------------------------------------------------------------------------------
@pytest.mark.parametrize("storage", ["Double", "Int64", "AtomicInt64", "Unlimited", "Weight"])
def test_counts_are_as_if_root_had_counted(tmp_path: Path, storage: str) -> None:
    x = np.array([-1, 0.5, 0.5, 1.5, 1.5, 1.5, 9])
    histogram = bh.Histogram(bh.axis.Regular(2, 0, 2), storage=getattr(bh.storage, storage)())
    histogram.fill(x)
    of_us = ask_root({"file": str(written(tmp_path, histogram))})["m/h0"]
    of_root = ask_root({"kind": "TH1D", "axes": [[2, 0, 2]], "fills": [[v] for v in x]})["h"]
    for key in ("class", "values", "errors", "entries", "axes", "has_equal_bins", "moments"):
        assert of_us[key] == of_root[key], key  # all fills are in the centres of bins
    assert of_us["n_sumw2"] == (4 if storage == "Weight" else 0)


def test_weights_have_their_squares_and_effective_entries(tmp_path: Path) -> None:
    x, w = [0.5, 0.5, 1.5, 3.0], [1.0, 3.0, -2.0, 4.0]
    histogram = bh.Histogram(bh.axis.Regular(2, 0, 2), storage=bh.storage.Weight())
    histogram.fill(x, weight=w)
    of_us = ask_root({"file": str(written(tmp_path, histogram))})["m/h0"]
    fills = [list(pair) for pair in zip(x, w, strict=True)]
    of_root = ask_root({"kind": "TH1D", "axes": [[2, 0, 2]], "fills": fills})["h"]
    for key in ("values", "errors", "n_sumw2", "moments"):
        assert of_us[key] == pytest.approx(of_root[key], rel=1e-12), key
    assert of_us["entries"] == sum(w) ** 2 / sum(v * v for v in w)  # their number is not known


def profile_of(n_axes: int, is_weighted: bool) -> tuple[Any, dict[str, Any]]:
    """Filled by us, and how ROOT is to be asked for the same. Coordinates are centres of bins, so
    that the moments are known."""
    rng = np.random.default_rng(n_axes)
    bins = [(3, 0.0, 3.0), (2, -1.0, 1.0), (2, 0.0, 4.0)][:n_axes]
    coordinates = [
        low + (high - low) / n * (rng.integers(-1, n + 1, 60) + 0.5) for n, low, high in bins
    ]
    y, w = rng.normal(5, 2, 60), rng.uniform(0.5, 2, 60)
    storage = bh.storage.WeightedMean() if is_weighted else bh.storage.Mean()
    histogram = bh.Histogram(*(bh.axis.Regular(*b) for b in bins), storage=storage)
    more = {"weight": w} if is_weighted else {}
    for part in (slice(0, 20), slice(20, 60)):
        some = {name: values[part] for name, values in more.items()}
        histogram.fill(*(c[part] for c in coordinates), sample=y[part], **some)
    columns = [*coordinates, y, *([w] if is_weighted else [])]
    kind = ("TProfile", "TProfile2D", "TProfile3D")[n_axes - 1]
    request = {"kind": kind, "axes": bins, "fills": np.array(columns).T.tolist()}
    return histogram, request


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_means_are_profiles_as_if_root_had_filled_them(
    tmp_path: Path, n_axes: int, is_weighted: bool
) -> None:
    histogram, request = profile_of(n_axes, is_weighted)
    path = written(tmp_path, histogram)
    of_us, of_root = ask_root({"file": str(path)})["m/h0"], ask_root(request)["h"]
    assert of_us["class"] == of_root["class"] == request["kind"]
    for key in ("values", "bin_entries"):
        assert of_us[key] == pytest.approx(of_root[key], rel=1e-9, abs=1e-12), key
    # With one fill in a bin the spread is √(Σwy²/Σw - mean²) of equal numbers: √(last bit), or 0.
    assert of_us["errors"] == pytest.approx(of_root["errors"], rel=1e-9, abs=1e-6)
    n_moments = 2 + 2 * n_axes + (n_axes * (n_axes - 1)) // 2 + 2
    assert of_us["moments"][:n_moments] == pytest.approx(of_root["moments"][:n_moments], rel=1e-9)
    weights = np.array(request["fills"])[:, -1]
    effective = weights.sum() ** 2 / (weights**2).sum() if is_weighted else 60
    assert of_us["entries"] == pytest.approx(effective)
    with uproot.open(path) as file:
        back = file["m/h0"].values(flow=True)
        filled = histogram.view(flow=True)["sum_of_weights" if is_weighted else "count"] > 0
        assert back[filled] == pytest.approx(histogram.values(flow=True)[filled])


# --- sums over units ------------------------------------------------------------------------------
def part_file(path: Path, *named: Named) -> Path:
    path.write_bytes(b"".join(encode(named)))
    return path


def summed(folder: Path, empty: Any, *parts: Any) -> Any:
    """The file of the sum of `parts`, each of which began as a copy of `empty`."""
    booked = BookedHistogram("h", empty.copy())
    files = []
    for n, part in enumerate(parts):
        booked.histogram.__setstate__((0, {"_hist": part.copy()._hist}))
        files.append(part_file(folder / f"{n}.bin", ("m", "h", booked.take("m"))))
    path = folder / "histograms.root"
    path.unlink(missing_ok=True)
    write_histograms(path, sum_histograms(files))
    with uproot.open(path) as file:
        return file["m/h"]


def test_parts_of_units_add_up_in_every_storage(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for storage in ("Double", "Int64", "Weight"):
        empty = bh.Histogram(bh.axis.Regular(5, 0, 1), storage=getattr(bh.storage, storage)())
        parts = [empty.copy().fill(rng.random(50)) for _ in range(3)]
        both = parts[0] + parts[1] + parts[2]
        assert np.array_equal(summed(tmp_path, empty, *parts).values(True), both.values(True))
    for is_weighted in (False, True):
        histogram, _ = profile_of(2, is_weighted)
        profile = summed(tmp_path, histogram, histogram, histogram)
        both = histogram + histogram
        filled = both.view()["sum_of_weights" if is_weighted else "count"] > 0
        assert profile.values()[filled] == pytest.approx(both.values()[filled])


def test_categories_that_were_declared_come_first_then_the_others_sorted(tmp_path: Path) -> None:
    empty = bh.Histogram(bh.axis.StrCategory(["z", "nominal"], growth=True), bh.axis.Integer(0, 2))
    one = empty.copy().fill(["muUp", "elDown", "z"], [0, 1, 1])
    two = empty.copy().fill(["aUp", "muUp"], [1, 0])
    for parts in ((one, two), (two, one), (empty, two, one)):
        both = summed(tmp_path, empty, *parts).to_hist()
        assert list(both.axes[0]) == ["z", "nominal", "aUp", "elDown", "muUp"]
        assert both.values().tolist() == [[0, 1], [0, 0], [0, 1], [0, 1], [2, 0]]
    numbers = bh.Histogram(bh.axis.IntCategory([], growth=True))
    of_numbers = [numbers.copy().fill([100, 9]), numbers.copy().fill([-5, 100])]
    both = summed(tmp_path, numbers, *of_numbers).to_hist()
    assert list(both.axes[0]) == [-5, 9, 100]
    assert both.values().tolist() == [1, 1, 2]


def test_categories_that_nothing_was_filled_into_are_one_bin_without_label(tmp_path: Path) -> None:
    histogram = bh.Histogram(bh.axis.StrCategory([], growth=True))
    of_us = ask_root({"file": str(written(tmp_path, histogram))})["m/h0"]
    assert (of_us["axes"][0][:3], of_us["values"], of_us["labels"]) == ([1, 0, 1], [0] * 3, [None])


def test_integers_that_grow_to_both_sides_add_up(tmp_path: Path) -> None:
    empty = bh.Histogram(bh.axis.Integer(0, 1, growth=True), storage=bh.storage.Int64())
    parts = [empty.copy().fill([-2]), empty.copy().fill([1, 1]), empty]
    both = summed(tmp_path, empty, *parts)
    assert both.axis().edges().tolist() == [-2, -1, 0, 1, 2]
    assert both.values().tolist() == [1, 0, 0, 2]


def test_a_unit_has_only_the_categories_that_were_filled_in_it() -> None:
    histogram = hist.Hist.new.StrCat(["nominal"], growth=True, name="v").Double()
    booked = BookedHistogram("h", histogram)
    histogram = booked.histogram
    histogram.fill(["up", "up"])
    first = booked.take("m")
    booked.clear()
    assert booked.take("m").axes[0].bins == ("nominal",)
    histogram.fill("down")
    assert booked.take("m").axes[0].bins == ("nominal", "down")
    assert histogram["down"] == 1
    assert first.axes[0].bins == ("nominal", "up")
    assert first.sums.tolist() == [[0, 2]]


@pytest.mark.long
@pytest.mark.parametrize(
    "distribution", ["guided", pytest.param("contiguous", marks=pytest.mark.long)]
)
def test_children_that_see_other_categories_add_up_in_one_order(
    tmp_path: Path, distribution: str
) -> None:
    file = write_job(tmp_path, job_of(tmp_path))
    for children in (1, 3):
        options = ["--children", children, "--distribution", distribution, "-q"]
        ended = forkrun("run", file, "-o", f"run{children}", *options, cwd=tmp_path)
        assert ended.code == 0, ended.err
        with uproot.open(tmp_path / f"run{children}/output/histograms.root") as opened:
            names, ids = opened["m/names"].to_hist(), opened["m/ids"].to_hist()
            assert list(names.axes[0]) == ["nominal", *(f"lumi{n}" for n in range(4, 9))]
            assert names.values().sum(axis=1).tolist() == [25, 5, 5, 5, 5, 5]
            assert names.variances().sum(axis=1).tolist() == [12.5, 2.5, 2.5, 2.5, 2.5, 2.5]
            assert list(ids.axes[0]) == [13, 95, 96, 97, 98, 99]
            assert ids.values(flow=True).sum() == 100
            assert opened["m/integers"].values().tolist() == [20] * 5
            assert opened["m/integers"].axis().edges().tolist() == [1, 2, 3, 4, 5, 6]
            assert opened["m/mean"].values(flow=True)[2:].tolist() == [10.5, 30.5, 70.5]
    if distribution == "guided":
        assert output_digests(tmp_path / "run1") == output_digests(tmp_path / "run3")


# --- what cannot be written -----------------------------------------------------------------------
R = "hist.axis.Regular(2, 0, 1)"
UNWRITABLE = [
    (f"hist.Hist(*[{R}] * 4, storage=hist.storage.Mean())", "it has 4 axes; 32 at most can be"
     " written to ROOT files, and 3 of a profile"),
    ("hist.Hist(hist.axis.Regular(2, 0, 1, growth=True, label='pt'))", "the axis 'pt' grows"),
    ("hist.Hist(hist.axis.Variable([0, 1], growth=True))", "only Integer, StrCategory and"),
    ("hist.Hist(*[hist.axis.Integer(0, 513)] * 3)", "it takes 1.1 GB"),
    ("hist.Hist(hist.axis.Regular(3, 1e16, 1e16 + 4))", "do not increase"),
    (f"__import__('boost_histogram').Histogram({R},"
     " storage=__import__('boost_histogram').storage.MultiCell(2))", "the storage MultiCell"),
    ("hist.Hist(hist.axis.StrCategory(['a\\0b']))", "contains a NUL character"),
    ("np.zeros(3)", "is a ndarray; book a hist.Hist"),
]  # fmt: skip


@pytest.mark.slow
def test_what_root_cannot_hold_is_found_before_events_are_processed(tmp_path: Path) -> None:
    job = job_of(tmp_path, 1)
    job["modules"] = [
        {
            "label": f"plots{n}",
            "type": f"python:{MODULES}:Booking",
            "params": {"code": code, "name": "my/plot"},
        }
        for n, (code, _) in enumerate(UNWRITABLE)
    ]
    job["paths"] = {"p": [module["label"] for module in job["modules"]]}
    file = write_job(tmp_path, job)
    for command in (["check", file], ["run", file, "-o", "run"]):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 2, ended.err
        for n, (_, words) in enumerate(UNWRITABLE):
            (line,) = [each for each in ended.err.splitlines() if f'module "plots{n}": ' in each]
            assert "histogram 'my/plot'" in line
            assert words in line
    assert not list(tmp_path.glob("run/ledger/*"))


@pytest.mark.parametrize("name", ["", "a//b", "/a", "a/", "..", "a/./b", "a\n", "a;1", "a\0"])
def test_names_that_root_cannot_have_are_errors(name: str) -> None:
    with pytest.raises(ValueError, match=r"histogram"):
        Analyzer().book(name, hist.Hist.new.Reg(1, 0, 1).Double())


def test_a_name_that_is_no_text_is_an_error() -> None:
    number: Any = 3
    with pytest.raises(ConfigError, match=r"self.book\(…\): name takes a text, not 3"):
        Analyzer().book(number, hist.Hist.new.Reg(1, 0, 1).Double())


def test_a_histogram_cannot_be_a_folder_as_well() -> None:
    module = Analyzer()
    module.book("mass/zoom/in", hist.Hist.new.Reg(1, 0, 1).Double())
    module.book("massive", hist.Hist.new.Reg(1, 0, 1).Double())
    with pytest.raises(ValueError, match=r"both a histogram 'mass/zoom' and 'mass/zoom/in'"):
        module.book("mass/zoom", hist.Hist.new.Reg(1, 0, 1).Double())
    assert list(module.booked()) == ["mass/zoom/in", "massive"]


# --- files of units from another user -------------------------------------------------------------
@pytest.fixture
def part(tmp_path: Path) -> Path:
    categories = hist.Hist.new.StrCat(["nominal"], growth=True).Reg(2, 0, 1).Weight()
    categories.fill(["nominal", "up"], [0.1, 0.9])
    regular = hist.Hist.new.Reg(3, 0, 1).Double().fill([0.5])
    return part_file(tmp_path / "a.bin", taken(categories, "cats"), taken(regular, "x"))


def test_what_was_written_is_read(part: Path) -> None:
    (_, name, categories), (_, _, regular) = read_parts(part)
    assert (name, categories.axes[0].bins, categories.axes[0].n_declared) == (
        "cats",
        ("nominal", "up"),
        2,
    )
    assert regular.sums.tolist() == [[0, 0, 1, 0, 0]]


def changed_header(part: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """The same sums behind another header."""
    data = part.read_bytes()
    n_header = int.from_bytes(data[8:16], "little")
    header = json.loads(data[16 : 16 + n_header])
    result = change(header["histograms"][0])
    text = json.dumps(header if result is None else result).encode()
    text += b" " * (-len(text) % 8)
    part.write_bytes(data[:8] + len(text).to_bytes(8, "little") + text + data[16 + n_header :])


def axis_with(number: int = 1, **values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda histogram: histogram["axes"][number].update(values)


HEADERS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda h: h.update(name="../../x"), "cannot be called '../../x'"),
    (lambda h: h.update(module=7), "not a text"),
    (lambda h: h.update(module="\ud800"), "not valid Unicode"),
    (lambda h: h.update(title="\0"), "NUL"),
    (lambda h: h.update(storage="object"), "'object' is not a valid Storage"),
    (lambda h: h.update(code="print()"), "unexpected keys"),
    (lambda h: h.update(axes=[]), "0 axes"),
    (lambda h: h.update(axes=h["axes"] * 2), "of another number of bins"),
    (lambda h: h.update(axes={"kind": "regular"}), "unexpected keys"),
    (lambda h: [], "not a list of histograms"),
    (lambda h: {"histograms": [[[[]]]]}, "unexpected keys"),
    (lambda h: {"histograms": []}, "bytes after the last histogram"),
    (axis_with(kind="spiral"), "'spiral' is not a valid AxisKind"),
    (axis_with(bins=[10**9, 0.0, 1.0]), "16.0 GB|it takes"),
    (axis_with(bins=[10**400, 0.0, 1.0]), "it takes|too large"),
    (axis_with(bins=[2000, 0.0, 1.0]), "m/cats: its sums are of another number of bins"),
    (axis_with(bins=[1, 0.0, 1.0]), "m/cats: its sums are of another number of bins"),
    (axis_with(bins=[-2, 0.0, 1.0]), "at least one bin"),
    (axis_with(bins=[True, 0.0, 1.0]), "at least one bin"),
    (axis_with(bins=[2, math.nan, 1.0]), "at least one bin"),
    (axis_with(bins=[2, 0.0, math.inf]), "do not increase"),
    (axis_with(bins=[2, "0", 1.0]), "not numbers"),
    (axis_with(bins="abc"), "not have the expected form"),
    (axis_with(kind="variable", bins=[0.0, 2.0, 1.0]), "do not increase"),
    (axis_with(kind="integer", bins=[0, 2.0]), "needs integers as its ends"),
    (axis_with(grows=True), "cannot grow"),
    (axis_with(grows=1), "not have the expected form"),
    (axis_with(underflow=2), "not have the expected form"),
    (axis_with(0, bins=["a", "a"]), "occurs twice"),
    (axis_with(0, bins=["a", 1]), "neither all texts nor all integers"),
    (axis_with(0, bins=["a", ["b"]]), "neither all texts nor all integers"),
    (axis_with(0, bins=["a", "b\0"]), "NUL"),
    (axis_with(0, n_declared=3), "fewer categories than were declared"),
    (axis_with(0, n_declared="1"), "fewer categories than were declared"),
    (axis_with(0, overflow=True), "cannot grow"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), HEADERS)
def test_a_header_that_lies_is_an_error_that_names_the_file(
    part: Path, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    changed_header(part, change)
    with pytest.raises(InputError, match=words) as error:
        read_parts(part)
    assert str(error.value).startswith(f"{part}: these are not the histograms of a unit: ")


@pytest.mark.parametrize(
    "content",
    [b"", b"frkhist3", b"frkhist3" + b"\xff" * 8, b"\x80\x05.", b"frkhist3" + bytes(8),
     b"frkhist3" + (200_000).to_bytes(8, "little") + b"[" * 200_000],
)  # fmt: skip
def test_other_files_are_no_histograms(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.bin: these are not the histograms of a unit"):
        read_parts(file)
    with pytest.raises(InputError, match=r"y\.bin: cannot read these histograms: No such file"):
        read_parts(tmp_path / "y.bin")


@given(cut=st.integers(0), byte=st.integers(0), value=st.integers(0, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_damage_is_an_error_or_other_numbers(
    part: Path, cut: int, byte: int, value: int
) -> None:
    whole = part.read_bytes()
    damaged = bytearray(whole)
    damaged[byte % len(whole)] = value
    other = part.with_name("damaged.bin")
    other.write_bytes(damaged)
    with suppress(InputError):
        assert [h.sums.size for _, _, h in read_parts(other)] == [16, 5]
    other.write_bytes(whole[: cut % len(whole)])
    with pytest.raises(InputError, match=r"damaged\.bin"):
        read_parts(other)


def test_a_pickle_in_a_run_directory_is_not_executed(tmp_path: Path) -> None:
    """Its size and checksum are as its ledger says: any user could write such a file."""
    evil, mark = tmp_path / "evil.bin", tmp_path / "executed"
    job = write_job(tmp_path, job_of(tmp_path, 1, merge={"enabled": False}))
    assert forkrun("run", job, "-o", "run", "-q", cwd=tmp_path).code == 0
    evil.write_bytes(pickle.dumps([("m", "names", Evil(str(mark)))]))
    pickle.loads(evil.read_bytes())
    assert mark.exists()  # the bait works
    mark.rmdir()
    for file in (tmp_path / "run").rglob("histograms.*"):
        put_in_place(tmp_path / "run", file, evil.read_bytes())
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 6, ended.err  # what cannot be read is not committed any more
    assert "these are not the histograms of a unit" in ended.err
    assert not mark.exists()


class Evil:
    """Makes a folder where it is unpickled."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.mark,)


def put_in_place(run: Path, file: Path, content: bytes) -> None:
    """As if a child had committed it."""
    file.write_bytes(content)
    for ledger in (run / "ledger").glob("child-*.jsonl"):
        lines = [json.loads(line) for line in ledger.read_text().splitlines()]
        for line in lines:
            line.pop("crc32", None)  # of the line as its child wrote it
            if line["histograms"]["file"] == str(file.relative_to(run)):
                line["histograms"]["n_bytes"] = len(content)
                line["histograms"]["checksum"] = _core.file_checksum(str(file))
        ledger.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_bins_that_two_units_claim_together_cannot_fill_the_memory(tmp_path: Path) -> None:
    empty = bh.Histogram(bh.axis.Integer(0, 1, growth=True), bh.axis.Integer(0, 1, growth=True))
    low, high = empty.copy().fill([0], [0]), empty.copy().fill([0], [0])
    files = [part_file(tmp_path / f"{n}.bin", taken(h)) for n, h in enumerate((low, high))]
    changed_header(files[1], axis_with(0, bins=[10**9, 10**9 + 1]))
    with pytest.raises(JobError, match=r"histogram m/h: its sums of two units .* it takes .* GB"):
        sum_histograms(files)
    changed_header(files[1], axis_with(0, bins=[0, 1], title="y"))
    with pytest.raises(JobError, match=r'their axes "" differ \(.*1\.bin\)'):
        sum_histograms(files)


def test_pickled_objects_in_arrays_of_a_run_directory_are_not_executed(tmp_path: Path) -> None:
    run, mark = tmp_path / "run", tmp_path / "executed"
    (run / "monitoring").mkdir(parents=True)
    (run / "monitoring/unshared-names.json").write_text(
        '{"owners": [], "types": [], "borders": {}}'
    )
    (run / "monitoring/unshared-maps.txt").write_text("")
    bait = np.array([Evil(str(mark))], dtype=object)
    np.save(run / "monitoring/trace-000.npy", bait)
    np.savez(run / "monitoring/unshared-pages.npz", at_fork=bait, child_0=bait)
    np.savez(run / "monitoring/unshared-objects.npz", parts=bait)
    with pytest.raises(InputError, match=r"trace-000\.npy: cannot be read as the calls"):
        write_trace(run, ["m"])
    with pytest.raises(InputError, match=r"unshared-\*: cannot be read"):
        read_memory_detail(RunDirectory(run))
    assert not mark.exists()
    np.load(run / "monitoring/trace-000.npy", allow_pickle=True)
    assert mark.exists()  # the bait works


@pytest.mark.parametrize(
    "records",
    [np.zeros(3), np.zeros((1, 1), dtype=[("start_ns", "i8")]), np.zeros(2, [("node", "i4")])],
)
def test_a_trace_of_other_records_is_an_error(tmp_path: Path, records: Any) -> None:
    (tmp_path / "monitoring").mkdir()
    np.save(tmp_path / "monitoring/trace-000.npy", records)
    with pytest.raises(InputError, match=r"trace-000\.npy: these are not the calls of a child"):
        write_trace(tmp_path, ["m"])
