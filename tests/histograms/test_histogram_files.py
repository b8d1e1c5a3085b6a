"""Histograms of many axes are sparse in the file; and the same in JSON, by the schema of UHI."""

from __future__ import annotations

import json
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import boost_histogram as bh
import hist
import numpy as np
import pytest
import uproot
from boost_histogram.serialization import from_uhi

from forkrun import _core
from forkrun.errors import OutputError
from forkrun.histograms.booking import BookedHistogram
from forkrun.histograms.parts import Named, encode, read_parts
from forkrun.histograms.root_file import write_histograms, write_uhi
from tests.server.root_program import call_root
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, write_job

MODULES = Path(__file__).with_name("histogram_modules.py")


def taken(histogram: Any, fills: dict[str, Any], sparse: bool = False) -> Named:
    booked = BookedHistogram("h", histogram, sparse)
    booked.histogram.fill(**fills)
    return "m", "h", booked.take("m")


def _read_sparse(request: dict[str, Any]) -> dict[str, Any]:
    """Class, title, labels, entries, and bins, values and errors of what is stored."""
    import ROOT

    file = ROOT.TFile.Open(request["file"])
    h = file.Get(request["name"])
    found = {"class": h.ClassName(), "entries": h.GetEntries(), "cells": []}
    axes = [h.GetAxis(n) for n in range(h.GetNdimensions())]
    found["titles"] = [axis.GetTitle() for axis in axes]
    found["edges"] = [[axis.GetBinLowEdge(i) for i in (1, axis.GetNbins() + 1)] for axis in axes]
    found["label"] = axes[-1].GetBinLabel(1)
    content = h.GetBinContent.__overload__("Long64_t,Int_t*")  # PyROOT takes 0 for a null pointer
    error = h.GetBinError.__overload__("Long64_t")
    for number in range(h.GetNbins()):
        coordinates = array("i", [0] * len(axes))
        value = content(number, coordinates)
        found["cells"].append([coordinates.tolist(), value, error(number)])
    file.Close()
    return found


def test_a_histogram_of_four_axes_has_its_filled_bins_in_the_file(tmp_path: Path) -> None:
    names = ("x", "y", "z", "v")
    axes = [hist.axis.Regular(20, 0, 2, name=name, label=f"{name} [GeV]") for name in names[:2]]
    axes += [hist.axis.Variable([0, 1, 5], name="z"), hist.axis.StrCategory(["up"], name="v")]
    histogram = hist.Hist(*axes, storage=hist.storage.Weight())
    fills = {"x": [0.05, 1.95, 0.05], "y": [0.15, 5, 0.15], "z": [0.5, 2, 0.5]}
    named = taken(histogram, {**fills, "v": ["up", "other", "up"], "weight": [3.0, -0.5, 4.0]})
    write_histograms(tmp_path / "h.root", [named])
    found = call_root(_read_sparse, {"file": str(tmp_path / "h.root"), "name": "m/h"})
    assert found["class"] == "THnSparseT<TArrayD>"
    assert found["titles"] == ["x [GeV]", "y [GeV]", "z", "v"]
    assert found["edges"] == [[0, 2], [0, 2], [0, 5], [0, 1]]
    assert found["label"] == "up"
    assert found["cells"] == [[[1, 2, 1, 1], 7.0, 5.0], [[20, 21, 2, 2], -0.5, 0.5]]
    assert found["entries"] == pytest.approx(6.5**2 / 25.25)


@pytest.mark.slow
def test_one_axis_is_sparse_if_the_module_says_so(tmp_path: Path) -> None:
    named = taken(hist.Hist.new.Reg(1000, 0, 1, name="x").Double(), {"x": [0.5, 0.5, 2]}, True)
    (tmp_path / "part").write_bytes(b"".join(encode([named])))
    back = read_parts(tmp_path / "part")
    write_histograms(tmp_path / "h.root", back)
    found = call_root(_read_sparse, {"file": str(tmp_path / "h.root"), "name": "m/h"})
    assert found["cells"] == [[[501], 2.0, pytest.approx(2**0.5)], [[1001], 1.0, 1.0]]
    plain = taken(hist.Hist.new.Reg(1000, 0, 1, name="x").Double(), {"x": [0.5]})[2]
    with pytest.raises(ValueError, match="titles or storages differ"):
        plain.add(back[0][2])
    with pytest.raises(ValueError, match="no sparse profile"):
        BookedHistogram("h", hist.Hist.new.Reg(3, 0, 1).Mean(), sparse=True)


_WRITE = """
import sys
from pathlib import Path
import numpy as np
from forkrun import _core
axes = [("x", np.linspace(0, 1, 3), True, ["a", "b"])]
sums = np.arange(8.0).reshape(2, 4)
for number, is_sparse in enumerate((False, True)):
    path = f"{sys.argv[1]}/{number}.root"
    _core.write_histograms(path, [("m/h", "title", axes, "weights", sums, is_sparse)])
print("libCling" in Path("/proc/self/maps").read_text())
"""


def test_writing_starts_no_interpreter(tmp_path: Path) -> None:
    """ROOT's takes longer to start than a small job takes."""
    done = subprocess.run(
        [sys.executable, "-c", _WRITE, tmp_path],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
    with uproot.open(tmp_path / "0.root") as file:
        assert file["m/h"].values().tolist() == [1.0, 2.0]
        assert file["m/h"].axis().labels() == ["a", "b"]


_EXTEND = """
import sys
import ROOT
file = ROOT.TFile.Open(sys.argv[1], "UPDATE")
file.Map()
file.Get("m/h0").Print()
file.ShowStreamerInfo()
file.WriteTObject(ROOT.TNamed("note", "added"))
file.Close()
"""


@pytest.mark.slow
def test_root_reads_and_extends_a_file_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "h.root"
    shape = hist.Hist.new.Reg(3, 0, 1, name="x")
    profile = taken(shape.Mean(), {"x": [0.5], "sample": [2.0]})[2]
    write_histograms(path, [taken(shape.Weight(), {"x": [0.5]}), ("m", "h0", profile)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _EXTEND, path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert "TH1.Print Name  = h0" in done.stdout
    with uproot.open(path) as file:
        assert file["note"].member("fTitle") == "added"
        assert file["m/h0"].classname == "TProfile"
        assert file["m/h"].classname == "TH1D"


def test_what_is_more_than_an_object_can_have_is_an_error_before_it_is_read(tmp_path: Path) -> None:
    axes: list[Any] = [("x", np.linspace(0, 1, 511), True, []) for _ in range(3)]
    sums = np.zeros(512**3)  # 1 GB, which take no memory while they are not touched
    with pytest.raises(OutputError, match=r'histogram "m/h" has 10737\d+ bytes, .* 1 GB'):
        _core.write_histograms(str(tmp_path / "h.root"), [("m/h", "", axes, "counts", sums, False)])


STORAGES = [hist.storage.Double, hist.storage.Weight, hist.storage.Mean, hist.storage.WeightedMean]


@pytest.mark.parametrize("storage", STORAGES)
def test_what_hist_reads_of_the_json_is_what_was_filled(tmp_path: Path, storage: Any) -> None:
    axes = (
        hist.axis.Regular(3, 0, 3, underflow=False, name="x", label="x [GeV]"),
        hist.axis.Integer(-1, 2, name="n"),
        hist.axis.Variable([0, 1, 4], name="y"),
        hist.axis.StrCategory(["a", "b"], name="v"),
        hist.axis.IntCategory([13], growth=True, name="id"),
    )[: 3 if "Mean" in storage.__name__ else 5]
    random = np.random.default_rng(1)
    fills: dict[str, Any] = {
        "x": random.uniform(-1, 4, 500),
        "n": random.integers(-2, 3, 500),
        "y": random.uniform(-1, 5, 500),
        "v": random.choice(["a", "b", "c"], 500).tolist(),
        "id": random.choice([13, 11], 500),
    }
    fills = {axis.name: fills[axis.name] for axis in axes}
    if storage is not hist.storage.Double:
        fills["weight"] = random.choice([0.5, 1.5], 500)
    if "Mean" in storage.__name__:
        fills["sample"] = random.normal(size=500)
    if storage is hist.storage.Mean:
        fills["weight"] = None
    histogram = hist.Hist(*axes, storage=storage())
    write_uhi(tmp_path / "h.json", [taken(histogram, fills)])
    histogram.fill(**fills)
    back = from_uhi(json.loads((tmp_path / "h.json").read_text())["m/h"])
    assert hist.Hist(back).axes[0].label == "x [GeV]"
    assert isinstance(back.axes[1], bh.axis.Integer)
    assert [axis.extent for axis in back.axes] == [axis.extent for axis in histogram.axes]
    assert np.allclose(back.values(flow=True), histogram.values(flow=True), equal_nan=True)
    filled = np.asarray(histogram.counts(flow=True)) > 2
    theirs, ours = histogram.variances(flow=True), back.variances(flow=True)
    assert filled.any()
    assert np.allclose(np.asarray(ours)[filled], np.asarray(theirs)[filled])


@pytest.mark.slow
def test_a_job_writes_the_json_if_it_is_asked_to(tmp_path: Path) -> None:
    events = write_events(tmp_path / "in.root", [(1, lumi, 25) for lumi in range(1, 5)])
    job = {
        "source": {"files": [str(events)]},
        "modules": [{"label": "w", "type": f"python:{MODULES}:Weighted", "params": {}}],
        "paths": {"p": ["w"]},
        "merge": {"histograms_json": True},
    }
    file, files = write_job(tmp_path, job), []
    for children in (1, 3):
        ended = forkrun(
            "run", file, "-o", f"run{children}", "--children", children, "-q", cwd=tmp_path
        )
        assert ended.code == 0, ended.err
        files.append((tmp_path / f"run{children}/output/histograms.json").read_bytes())
    assert files[0] == files[1]
    read = json.loads(files[0])
    assert sorted(read) == ["w/double", "w/names", "w/profile", "w/weights"]
    assert from_uhi(read["w/double"]).axes[0].extent == 5
