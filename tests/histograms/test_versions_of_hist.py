"""What booked histograms need of hist and boost_histogram beside their documented interfaces."""

from __future__ import annotations

import importlib.metadata
import inspect
import tomllib
from collections.abc import Callable
from pathlib import Path

import boost_histogram as bh
import hist
import pytest
from packaging.requirements import Requirement

VERSIONS = f"hist {hist.__version__} with boost_histogram {bh.__version__}"
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"

NEEDED: dict[str, Callable[[], bool]] = {
    "Histogram._hist, a slot": lambda: inspect.ismemberdescriptor(bh.Histogram._hist),
    "Histogram._generate_axes_()": lambda: len(made()._generate_axes_()) == 1,
    "Histogram._family, of classes": lambda: hist.Hist._family is hist,
    "Histogram._clone(histogram)": lambda: type(hist.Hist._clone(made())) is hist.Hist,
    "Histogram._export_bh_(other)": lambda: is_called_on_conversion("_export_bh_"),
    "Histogram._variance_known": lambda: made()._variance_known is True,
    "low and width behind in the state of a regular axis": lambda: (
        made().axes[0]._ax.__getstate__()[-2:] == (0.1, 9.9)
    ),
    "the fields of means": lambda: (
        set(fields(bh.storage.Mean())) == {"count", "value", "_sum_of_deltas_squared"}
    ),
    "the fields of weighted means": lambda: (
        set(fields(bh.storage.WeightedMean()))
        == {
            "sum_of_weights",
            "sum_of_weights_squared",
            "value",
            "_sum_of_weighted_deltas_squared",
        }
    ),
}


def made() -> hist.Hist:
    return hist.Hist(hist.axis.Regular(3, 0.1, 10))


def fields(storage: bh.storage.Storage) -> tuple[str, ...]:
    view = bh.Histogram(bh.axis.Regular(1, 0, 1), storage=storage).view()
    return view.dtype.names or ()


def is_called_on_conversion(name: str) -> bool:
    called: list[object] = []
    kind = type("Kind", (bh.Histogram,), {name: classmethod(lambda _, other: called.append(other))})
    bh.Histogram(kind(bh.axis.Regular(1, 0, 1)))
    return len(called) == 1


@pytest.mark.parametrize("name", NEEDED)
def test_the_installed_versions_have_what_booked_histograms_need(name: str) -> None:
    assert NEEDED[name](), f"{VERSIONS}: this is not as it was: {name}"


@pytest.mark.parametrize("package", ["hist", "boost-histogram"])
def test_the_installed_version_is_one_of_those_that_were_tried(package: str) -> None:
    listed = tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"]
    wanted = {r.name: r.specifier for r in map(Requirement, listed)}[package]
    assert any(each.operator == "<" for each in wanted)
    assert importlib.metadata.version(package) in wanted, VERSIONS
