"""Exact fills rest on names of hist and boost-histogram that are their own affair. A version that
lacks one, or has it otherwise, is named here, before anything else of histograms fails."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from typing import Any

import boost_histogram as bh
import hist
import pytest

from tests.support.jobs import ROOT

VERSIONS = f"hist {version('hist')}, boost-histogram {version('boost-histogram')}"
OF_CLASSES = ("_hist", "_clone", "_export_bh_", "_generate_axes_", "_family")
OF_CONTENT = ("_storage_type", "axis", "fill", "rank", "reset", "size", "view")
OF_AXES = (
    "bin", "edges", "extent", "index", "size", "traits_growth", "traits_overflow",
    "traits_underflow", "value",
)  # fmt: skip
AXES = (
    "boolean", "integer_growth", "category_int", "category_str_growth",
    *(f"{kind}_{flow}" for kind in ("regular", "variable")
      for flow in ("none", "uflow", "oflow", "uoflow")),
)  # fmt: skip


@pytest.mark.parametrize("name", ["hist", "boost-histogram"])
def test_versions_are_pinned_from_above(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (needed,) = [each for each in project["dependencies"] if re.split("[<>=]", each)[0] == name]
    assert "<" in needed, f"{needed}: a version to come may have other private names"


@pytest.mark.parametrize("kind", [hist.Hist, hist.NamedHist, bh.Histogram])
def test_classes_have_the_names_that_exact_fills_rest_on(kind: Any) -> None:
    missing = [name for name in OF_CLASSES if not hasattr(kind, name)]
    assert not missing, f"{VERSIONS}: {kind.__name__} has no {', '.join(missing)}"
    assert hasattr(bh.Histogram._hist, "__set__"), f"{VERSIONS}: _hist is no slot any more"


def test_contents_and_axes_have_the_names_that_exact_fills_rest_on() -> None:
    core: Any = bh._core
    content = bh.Histogram(bh.axis.Regular(4, 0, 2))._hist
    of_content = [name for name in OF_CONTENT if not hasattr(content, name)]
    of_axes = [name for name in OF_AXES if not hasattr(content.axis(0), name)]
    of_core = [name for name in AXES if not hasattr(core.axis, name)]
    missing = [*of_content, *of_axes, *of_core]
    assert not missing, f"{VERSIONS}: there is no {', '.join(missing)}"
    assert core.hist.any_double([], core.storage.double()).rank() == 0, VERSIONS


def test_a_regular_axis_tells_its_low_edge_and_its_width() -> None:
    content = bh.Histogram(bh.axis.Regular(4, 0.5, 2))._hist
    assert content.axis(0).__getstate__()[-2:] == (0.5, 1.5), VERSIONS


def test_storages_are_of_one_class_of_the_core_each() -> None:
    for kind in (bh.storage.Double, bh.storage.Int64, bh.storage.Unlimited, bh.storage.Mean):
        content = bh.Histogram(bh.axis.Regular(1, 0, 1), storage=kind())._hist
        assert content._storage_type is kind.__bases__[0], f"{VERSIONS}: {kind.__name__}"
