"""Rows of the cookbook give the same values on both sides: with RDataFrame, with Awkward Array and
vector, and with a plain loop over events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import hist
import numpy as np
import pytest
import uproot
import vector

import forkrun
from tests.server.root_program import call_root
from tests.support.jobs import ROOT as REPOSITORY
from tests.support.jobs import forkrun as command

PAGE = (REPOSITORY / "docs/cookbook.md").read_text(encoding="utf-8")
CODE = re.compile(r"`([^`]+)`")


def rows(head: str) -> list[tuple[str, str]]:
    """Both sides of the table with this head, lines of code joined by newlines."""
    table = PAGE.split(f"| {head} | forkrun |\n")[1].split("\n\n")[0].splitlines()[1:]
    cells = (line.strip("| ").split(" | ") for line in table)
    return [("\n".join(CODE.findall(a)), "\n".join(CODE.findall(b))) for a, b in cells]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cookbook")
    shape = ["--events", 500, "--runs", 1, "--lumis", 1]
    assert command("sample", "sample.root", *shape, "--quiet", cwd=folder).code == 0
    return folder / "sample.root"


Values = dict[str, Any]
"""Events that are left, new columns by name, contents of histograms."""


def forkrun_gives(code: str, sample: Path, folder: Path) -> Values:
    """What a row of code adds to a job: its columns and histograms, and the events left."""
    job = forkrun.Job(sample, name="row")
    exec(code, {"job": job, "ak": ak, "np": np})
    names = re.findall(r'define\("(\w+)"', code) + re.findall(r'redefine\("(\w+)"', code)
    job.output("all_of_it", keep=["event", *dict.fromkeys(names)])
    result = job.run(0, output=folder / "run", quiet=True, plots=False)
    tree = uproot.open(result.output("all_of_it"))["Events"]
    if "output(" in code:
        tree = uproot.open(result.output("skim"))["Events"]
        return {name: tree[name].array().tolist() for name in ("event", "MET_pt")}
    values = {name: tree[name].array().tolist() for name in ("event", *names)}
    for name in re.findall(r'name="(\w+)"', code):
        h = result.histograms[name]
        if "vary(" in code:
            of_each = (h[{"variation": v}] for v in ("nominal", "jes_up", "jes_down"))
            values[name] = [each.values(flow=True).tolist() for each in of_each]
        else:
            values[name] = h.values(flow=True).tolist()
    return values


def compare(found: Values, wanted: Values) -> None:
    assert found["event"] == wanted["event"]
    for name in wanted.keys() - {"event"}:
        assert ak.almost_equal(
            ak.values_astype(ak.Array(found[name]), "float64"),
            ak.values_astype(ak.Array(wanted[name]), "float64"), rtol=2e-6, atol=1e-4,
        ), name  # fmt: skip


def rdataframe_gives_all(codes: list[str], sample: str, folder: str) -> list[Values]:
    """What RDataFrame gives for each; in a process of their own."""
    import os

    os.chdir(folder)
    return [rdataframe_gives(code, sample) for code in codes]


def rdataframe_gives(code: str, sample: str) -> Values:
    import ROOT

    df = ROOT.RDataFrame("Events", sample)
    made = eval(code, {"df": df, "ROOT": ROOT})
    if "Snapshot" in code:
        made = ROOT.RDataFrame("Events", "skim.root")
        return {name: list(made.AsNumpy([name])[name].tolist()) for name in ("event", "MET_pt")}
    if "Histo" not in code:
        names = re.findall(r'(?:D|Red)efine\("(\w+)"', code)
        arrays = made.AsNumpy(["event", *names])
        return {name: [_plain(value) for value in arrays[name]] for name in arrays}
    name = re.findall(r'\(\("(\w+)"', code)[0]
    if "Vary" in code:
        varied = ROOT.RDF.Experimental.VariationsFor(made)
        contents: Any = [_bins(varied[key]) for key in ("nominal", "jes:up", "jes:down")]
    else:
        contents = _bins(made.GetValue())
    return {"event": df.AsNumpy(["event"])["event"].tolist(), name: contents}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else [float(each) for each in value]


def _bins(h: Any) -> list[Any]:
    """Contents with those of flow bins."""
    x = range(h.GetNbinsX() + 2)
    if h.GetDimension() == 1:
        return [h.GetBinContent(i) for i in x]
    return [[h.GetBinContent(i, j) for j in range(h.GetNbinsY() + 2)] for i in x]


@pytest.mark.slow
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_rows_give_what_rdataframe_gives(every: int, sample: Path, tmp_path: Path) -> None:
    """One test: starting ROOT for each row would take most of the time. It compiles each for a
    second."""
    theirs, ours = zip(*rows("RDataFrame")[::every], strict=True)
    wanted = call_root(rdataframe_gives_all, list(theirs), str(sample), str(tmp_path))
    for number, code in enumerate(ours):
        folder = tmp_path / str(number)
        folder.mkdir()
        compare(forkrun_gives(code, sample, folder), wanted[number])


class PackedSelection(dict[str, Any]):
    """As coffea's."""

    add = dict.__setitem__

    def all(self, *names: str) -> Any:
        return np.logical_and.reduce([ak.to_numpy(self[name]) for name in names])


def columnar_gives(code: str, ours: str, sample: Path) -> Values:
    """What the last line gives of events as coffea has them, made by uproot and vector."""
    vector.register_awkward()
    arrays = uproot.open(sample)["Events"].arrays()
    records = {
        name: ak.zip(_fields(arrays, name), with_name="Momentum4D") for name in ("Muon", "Jet")
    }
    met = ak.zip({"pt": arrays["MET_pt"]})
    scalars = {name: arrays[name] for name in ("event", "genWeight")}
    events = ak.zip({**records, "MET": met, **scalars}, depth_limit=1)
    *lines, last = code.splitlines()
    known = {"events": events, "ak": ak, "hist": hist, "selection": PackedSelection()}
    exec("\n".join(lines), known)
    made = eval(last, known)
    if last.startswith("events["):
        return {"event": made.event.tolist()}
    name = re.findall(r'(?:define\(|name=)"(\w+)"', ours)[0]
    is_hist = isinstance(made, hist.Hist)
    return {
        "event": events.event.tolist(),
        name: made.values(flow=True).tolist() if is_hist else made.tolist(),
    }


def _fields(arrays: Any, collection: str) -> dict[str, Any]:
    """In double precision: a mass is a small difference of large numbers, and in single precision
    its last bits depend on the vector instructions of the machine."""
    names = ("pt", "eta", "phi", "mass")
    return {name: ak.values_astype(arrays[f"{collection}_{name}"], np.float64) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(("theirs", "ours"), rows("in a processor"))
def test_a_row_gives_what_a_processor_gives(
    theirs: str, ours: str, sample: Path, tmp_path: Path
) -> None:
    compare(forkrun_gives(ours, sample, tmp_path), columnar_gives(theirs, ours, sample))


def events_of(sample: Path) -> Iterator[dict[str, Any]]:
    arrays = uproot.open(sample)["Events"].arrays(
        ["event", "MET_pt", "Muon_pt", "Muon_eta", "Jet_pt", "Jet_eta"], library="np"
    )
    for values in zip(*arrays.values(), strict=True):
        yield dict(zip(arrays, values, strict=True))


def Collection(event: dict[str, Any], name: str) -> list[SimpleNamespace]:  # noqa: N802
    pairs = zip(event[f"{name}_pt"], event[f"{name}_eta"], strict=True)
    return [SimpleNamespace(pt=pt, eta=eta) for pt, eta in pairs]


def Object(event: dict[str, Any], name: str) -> SimpleNamespace:  # noqa: N802
    return SimpleNamespace(pt=event[f"{name}_pt"])


@pytest.mark.slow
@pytest.mark.parametrize(("theirs", "ours"), rows("for one event"))
def test_a_row_gives_what_a_loop_over_events_gives(
    theirs: str, ours: str, sample: Path, tmp_path: Path
) -> None:
    wanted: Values = {"event": []}
    this = SimpleNamespace(
        out=SimpleNamespace(fillBranch=lambda name, x: wanted.setdefault(name, []).append(x))
    )
    known = {"Collection": Collection, "Object": Object, "self": this}
    for event in events_of(sample):
        is_kept = eval(theirs, {**known, "event": event})
        if is_kept is None or is_kept:
            wanted["event"].append(int(event["event"]))
    compare(forkrun_gives(ours, sample, tmp_path), wanted)


def test_the_cookbook_has_thirty_rows_that_are_run() -> None:
    heads = ("RDataFrame", "in a processor", "for one event")
    assert sum(len(rows(head)) for head in heads) == 30
