"""Templates of fits have the numbers of the histograms, and the programs that fit read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import forkrun
from forkrun.cli import main
from forkrun.histograms.final.templates import Channel, Sample, write_combine, write_pyhf
from tests.histograms.datacard import read_datacard


def channel(name: str, observed: list[float], *, varies_signal: bool = True) -> Channel:
    def values(*numbers: float) -> Any:
        return np.array(numbers)

    varied = {"jes_up": values(3, 3)} if varies_signal else {}
    signal = Sample("sig", False, values(2, 3), values(1, 4), varied)
    jes = {"jes_up": values(11, 21), "jes_down": values(9.5, 18)}
    background = Sample("bkg", False, values(10, 20), values(4, 9), jes)
    edges = values(0, 1, 3)
    return Channel(name, edges, values(*observed), [background, signal])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pyhf_fits_the_workspace(tmp_path: Path) -> None:
    pyhf = pytest.importorskip("pyhf")
    write_pyhf(tmp_path / "fit.json", [channel("a", [12, 23]), channel("b", [12, 23])], "sig")
    workspace = pyhf.Workspace(json.loads((tmp_path / "fit.json").read_text()))
    model = workspace.model()
    parameters = np.array(model.config.suggested_init())
    assert model.expected_actualdata(parameters).tolist() == [12, 23, 12, 23]
    parameters[model.config.par_slice("jes")] = 1.0
    assert model.expected_actualdata(parameters) == pytest.approx([14, 24, 14, 24])
    parameters[model.config.par_slice("jes")] = -1.0  # the signal is mirrored: 1, 3
    assert model.expected_actualdata(parameters) == pytest.approx([10.5, 21, 10.5, 21])
    parameters[model.config.par_slice("jes")] = 0.0
    parameters[model.config.poi_index] = 2.0
    assert model.expected_actualdata(parameters).tolist() == [14, 26, 14, 26]
    best = pyhf.infer.mle.fit(workspace.data(model), model)
    assert best[model.config.poi_index] == pytest.approx(1, abs=1e-2)
    widths = model.config.param_set("stat_a").sigmas
    assert widths == pytest.approx([np.sqrt(5) / 12, np.sqrt(13) / 23])


def test_combine_gets_a_datacard_and_its_shapes(tmp_path: Path) -> None:
    channels = [channel("a", [12, 24]), channel("b", [1.5, 0.1], varies_signal=False)]
    write_combine(tmp_path / "fit", channels, "sig")
    card = read_datacard(tmp_path / "fit" / "datacard.txt")
    assert card.observed == {"a": 36, "b": 1.6}
    assert card.numbers == {"sig": 0, "bkg": 1}
    assert card.rates == {(c, p): n for c in "ab" for p, n in (("sig", 5), ("bkg", 30))}
    assert card.systematics == {
        ("a", "sig"): ["jes"], ("a", "bkg"): ["jes"], ("b", "sig"): [], ("b", "bkg"): ["jes"],
    }  # fmt: skip
    found = card.histograms
    assert found["a", "sig", ""].values().tolist() == [2, 3]
    assert found["a", "bkg", ""].variances().tolist() == [4, 9]
    assert found["a", "bkg", ""].axis().edges().tolist() == [0, 1, 3]
    assert found["a", "sig", "jesDown"].values().tolist() == [1, 3]
    assert found["a", "data_obs", ""].values().tolist() == [12, 24]
    text = (tmp_path / "fit" / "datacard.txt").read_text()
    assert text.splitlines()[-1] == "* autoMCStats 10"


@pytest.mark.parametrize(("direction", "up"), [("jes_up", 12.0), ("jes_down", 8.0)])
def test_a_single_direction_is_mirrored(tmp_path: Path, direction: str, up: float) -> None:
    varied = {direction: np.array([12.0])}
    sample = Sample("sig", False, np.array([10.0]), np.array([10.0]), varied)
    of_one = Channel("a", np.array([0.0, 1.0]), np.array([10.0]), [sample])
    write_combine(tmp_path, [of_one], "sig")
    with uproot.open(tmp_path / "shapes.root") as file:
        assert file["a/sig_jesUp"].values().tolist() == [up]
        assert file["a/sig_jesDown"].values().tolist() == [20 - up]


@pytest.mark.slow
def test_a_run_is_exported_as_templates(
    run_of_samples: forkrun.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(run_of_samples.run_directory)
    assert main(["export", run, "pyhf", "--signal", "top", "-o", str(tmp_path / "f.json")]) == 0
    workspace = json.loads((tmp_path / "f.json").read_text())
    names = {each["name"]: each for each in workspace["channels"]}
    assert set(names) == {"x", "plain"}
    h = run_of_samples.histograms["x"]
    wanted = {d: h[{"dataset": d, "variation": "nominal"}].values().tolist() for d in ("top", "dy")}
    assert {each["name"]: each["data"] for each in names["x"]["samples"]} == wanted
    observed = {each["name"]: each["data"] for each in workspace["observations"]}
    assert observed["x"] == h[{"dataset": "data", "variation": "nominal"}].values().tolist()
    out = ["-o", str(tmp_path / "card"), "--histogram", "x"]
    assert main(["export", run, "combine", "--signal", "top", *out]) == 0
    card = read_datacard(tmp_path / "card" / "datacard.txt")
    assert {process: n for (_, process), n in card.rates.items()} == {
        name: sum(values) for name, values in wanted.items()
    }
    assert card.observed == {"x": sum(observed["x"])}
    for wrong in (["--signal", "tpo"], [], ["--signal", "top", "--histogram", "y"]):
        assert main(["export", run, "pyhf", *wrong]) == 2
    assert 'no simulated dataset "tpo"; did you mean "top"' in capsys.readouterr().err
