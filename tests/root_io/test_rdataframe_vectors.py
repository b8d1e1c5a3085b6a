"""Columns that RDataFrame has defined and written: its own vectors, in the bytes of std::vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import uproot

import forkrun
from tests.server.root_program import call_root
from tests.support.opened_by_root import open_with_root

pytestmark = pytest.mark.long  # RDataFrame compiles for ten seconds
KINDS = {
    "floats": ("float", "float32[]"), "doubles": ("double", "float64[]"),
    "ints": ("int", "int32[]"), "unsigneds": ("unsigned int", "uint32[]"),
    "longs": ("unsigned long", "uint64[]"), "bytes": ("char", "int8[]"),
    "flags": ("bool", "bool[]"),
}  # fmt: skip
N = 60


def snapshot(path: str, kinds: dict[str, str]) -> None:
    import ROOT

    frame = ROOT.RDataFrame(60)
    for name, value in (("run", "1u"), ("luminosityBlock", "1u"), ("event", "rdfentry_")):
        frame = frame.Define(name, value)
    for name, kind in kinds.items():
        value = f"ROOT::RVec<{kind}>(rdfentry_ % 3, ({kind})(rdfentry_ % 100))"
        frame = frame.Define(name, value)
    frame.Snapshot("Events", path)


def sum_by_root(path: str, column: str) -> float:
    import ROOT

    return float(ROOT.RDataFrame("Events", path).Sum(column).GetValue())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshot") / "snapshot.root"
    call_root(snapshot, str(path), {name: kind for name, (kind, _) in KINDS.items()})
    return path


def test_they_are_columns_like_others(file: Path, tmp_path: Path) -> None:
    job = forkrun.Job(file)
    columns = job.columns()
    assert [columns[name].type for name in KINDS] == [kind for _, kind in KINDS.values()]
    job.filter("event % 2 == 0").hist("ints", (100, -0.5, 99.5)).define("twice", "2 * floats")
    job.output("even")
    result = job.run(children=2, output=tmp_path / "run", quiet=True, plots=False)
    with uproot.open(file) as given, uproot.open(result.output("even")) as made:
        before, after = given["Events"].arrays(), made["Events"].arrays()
    for name in KINDS:
        assert after[name].tolist() == before[name][::2].tolist()
    assert after["twice"].tolist() == (2 * before["floats"][::2]).tolist()
    filled = [value for event in range(0, N, 2) for value in [event] * (event % 3)]
    found = result.histograms["ints"].values()
    assert found.tolist() == np.bincount(filled, minlength=100).tolist()
    open_with_root([Path(result.output("even"))])
    assert call_root(sum_by_root, str(result.output("even")), "floats") == sum(filled)


def test_they_are_merged(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "merged.root"
    assert forkrun.merge_files([file, file], out) == {"Events": 2 * N}
    with uproot.open(file) as given, uproot.open(out) as made:
        before, after = given["Events"].arrays(), made["Events"].arrays()
    for name in KINDS:
        assert after[name].tolist() == 2 * before[name].tolist()
