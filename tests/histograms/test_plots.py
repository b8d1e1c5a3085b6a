"""Final plots have the sums that the histograms have."""

from __future__ import annotations

import sys
from typing import Any

import hist
import numpy as np
import pytest

import forkrun
from forkrun.cli import main
from forkrun.histograms.final.templates import Sample, samples_of, total_of

DATASETS = ["data", "top", "dy"]


def filled() -> Any:
    """By dataset and variation, values beyond the axis among them."""
    histogram = hist.Hist(
        hist.axis.Regular(3, 0, 3, name="x"),
        hist.axis.StrCategory(DATASETS, name="dataset"),
        hist.axis.StrCategory(["nominal", "jes_up", "jes_down", "pdf_up"], name="variation"),
        storage=hist.storage.Weight(),
    )
    for dataset, weight in zip(DATASETS, (1.0, 0.5, 2.0), strict=True):
        for variation, shift in (("nominal", 0), ("jes_up", 1), ("jes_down", -1), ("pdf_up", 0)):
            values = np.array([-1, 0.5, 0.5, 1.5, 9]) + shift * (dataset != "data")
            histogram.fill(values, dataset, variation, weight=weight)
    return histogram


@pytest.mark.parametrize("overflow", [False, True])
def test_samples_are_the_datasets_with_their_variations(overflow: bool) -> None:
    data, top, dy = samples_of(filled(), ["data"], overflow=overflow)
    assert [(each.name, each.is_data) for each in (data, top, dy)] == [
        ("data", True), ("top", False), ("dy", False),
    ]  # fmt: skip
    own = [3, 1, 1] if overflow else [2, 1, 0]
    assert data.values.tolist() == own
    assert top.values.tolist() == [0.5 * n for n in own]
    assert dy.variances.tolist() == [4.0 * n for n in own]
    up = [1, 2, 2] if overflow else [1, 2, 1]
    down = [4, 0, 1] if overflow else [1, 0, 0]
    assert {n: v.tolist() for n, v in top.varied.items()} == {
        "jes_up": [0.5 * n for n in up], "jes_down": [0.5 * n for n in down],
        "pdf_up": [0.5 * n for n in own],
    }  # fmt: skip


def test_the_band_has_statistics_and_each_source_once_in_all_datasets_alike() -> None:
    def sample(name: str, n: float, up: float, down: float) -> Sample:
        varied = {"jes_up": np.array([up]), "jes_down": np.array([down])}
        return Sample(name, False, np.array([n]), np.array([n]), varied)

    other = Sample("c", False, np.array([5.0]), np.array([5.0]), {"mu_up": np.array([9.0])})
    band = total_of([sample("a", 10, 13, 9), sample("b", 20, 21, 18), other])
    assert band.values.tolist() == [35]
    assert band.up[0] == pytest.approx(np.sqrt(35 + (3 + 1) ** 2 + 4**2))
    assert band.down[0] == pytest.approx(np.sqrt(35 + (1 + 2) ** 2))


def test_a_profile_has_nothing_to_stack() -> None:
    profile = hist.Hist(hist.axis.Regular(2, 0, 1), storage=hist.storage.Mean())
    with pytest.raises(forkrun.ConfigError, match="means"):
        samples_of(profile)


@pytest.fixture
def result(run_of_samples: forkrun.Result) -> Any:
    return run_of_samples


@pytest.mark.slow
def test_a_job_of_data_and_simulation_is_a_stack_with_points_and_a_ratio(result: Any) -> None:
    figure = result.plot("x", text="Private", labels={"dy": "Drell-Yan"})
    stack, ratio = figure.axes
    h = result.histograms["x"]
    names = [each.name for each in samples_of(h, ["data"])]
    nominal = {name: h[{"dataset": name, "variation": "nominal"}].values() for name in names}
    tops = [patch.get_data()[0].tolist() for patch in stack.patches if hasattr(patch, "get_data")]
    assert tops == [nominal["top"].tolist(), (nominal["top"] + nominal["dy"]).tolist()]
    labels = [text.get_text() for text in stack.get_legend().get_texts()]
    assert labels == ["top", "Drell-Yan", "Uncertainty", "Data"]
    points = stack.containers[-1].lines[0].get_ydata()
    assert points.tolist() == [n for n in nominal["data"].tolist() if n]
    is_there = nominal["data"] > 0
    wanted = nominal["data"][is_there] / (nominal["top"] + nominal["dy"])[is_there]
    assert ratio.lines[0].get_ydata() == pytest.approx(wanted)
    assert ratio.get_xlabel() == "X [GeV]"
    assert "0.1 fb" in " ".join(text.get_text() for text in stack.texts)


@pytest.mark.slow
def test_what_is_asked_for_is_drawn_in_its_place(result: Any) -> None:
    (lines,) = result.plot("x", stack=False, ratio=False, log=True, style="atlas").axes
    assert lines.get_yscale() == "log"
    assert [text.get_text() for text in lines.get_legend().get_texts()] == ["top", "dy", "Data"]
    assert len(result.plot("two").axes) == 2  # with the scale of colours
    assert result.plot("plain")._repr_png_().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_command_writes_files(result: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = result.run_directory
    assert main(["plot", str(run), "x", "pl*", "--format", "svg"]) == 0
    written = [run / "plots" / "x.svg", run / "plots" / "plain.svg"]
    assert capsys.readouterr().out.split() == [str(file) for file in written]
    assert all(b"<svg" in file.read_bytes() for file in written)
    assert main(["plot", str(run), "plian"]) == 2
    assert 'no histogram "plian"; did you mean "plain"' in capsys.readouterr().err


@pytest.mark.slow
def test_what_cannot_be_drawn_says_why(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(forkrun.ConfigError, match='unknown histogram "xx"'):
        result.plot("xx")
    with pytest.raises(forkrun.ConfigError, match="unknown style"):
        result.plot("x", style="CDF")
    for wrong in ({"colour": "red"}, {"log": 1}, {"stack": "no"}, {"text": 3}, {"order": 3},
                  {"luminosity": "59.7"}, {"labels": "a"}, {"style": None}):  # fmt: skip
        with pytest.raises(forkrun.ConfigError, match=next(iter(wrong))):
            result.plot("x", **wrong)
    monkeypatch.delitem(sys.modules, "forkrun.histograms.final.plot", raising=False)
    monkeypatch.setitem(sys.modules, "mplhep", None)
    with pytest.raises(forkrun.ConfigError, match=r"plots need mplhep: pip install"):
        result.plot("x")
