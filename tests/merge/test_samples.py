"""Samples of what is written are read back and compared with what it was made of."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.cli import main
from forkrun.errors import VerificationError
from forkrun.merge import merge_files
from tests.server.root_program import call_root

N_CLUSTERS, N_EVENTS = 12, 4000
Columns = list[tuple[str, str]]
COLUMNS: Columns = [("run", "uint32"), ("luminosityBlock", "uint32"), ("event", "uint64")]
COLUMNS += [("x", "float64"), ("y", "float64"), ("Jet_pt", "float32[]")]
COLUMNS += [("wide", "float32[256]")]


def write(path: Path) -> Path:
    """Clusters of 4,000 events, not compressed, so that baskets of a branch are of one size, and so
    large that they are copied as they are; what a filter leaves of them makes two clusters."""
    writer = _core.TreeWriter(str(path), "Events", COLUMNS, "none")
    for cluster in range(N_CLUSTERS):
        event = np.arange(cluster * N_EVENTS, (cluster + 1) * N_EVENTS, dtype=np.uint64)
        offsets = np.arange(N_EVENTS + 1, dtype=np.int64) * 2
        writer.write(
            {
                "run": np.ones(N_EVENTS, np.uint32),
                "luminosityBlock": np.ones(N_EVENTS, np.uint32),
                "event": event,
                "x": event.astype(np.float64),
                "y": -event.astype(np.float64),
                "wide": np.broadcast_to(event[:, None].astype(np.float32), (N_EVENTS, 256)),
                "Jet_pt": (offsets, np.repeat(event, 2).astype(np.float32)),
            }
        )
    writer.close()
    return path


def exchange(
    path: str | Path, branch: str, one: int, other: int, branch_of_other: str = ""
) -> None:
    """Puts what two baskets begin with in the place of each other, behind their headers."""
    places = [content_of(path, branch, one), content_of(path, branch_of_other or branch, other)]
    n_bytes = min(n for _, n in places)
    with open(path, "r+b") as opened:
        contents = []
        for place, _ in places:
            opened.seek(place)
            contents.append(opened.read(n_bytes))
        for (place, _), content in zip(places, reversed(contents), strict=True):
            opened.seek(place)
            opened.write(content)


def content_of(path: str | Path, branch: str, number: int) -> tuple[int, int]:
    """Place and size of what a basket holds."""
    with uproot.open(path) as file:
        found = file["Events"][branch]
        key = found.basket_key(number % found.num_baskets)
        return key.fSeekKey + key.fKeylen, key.fNbytes - key.fKeylen


FAULTS: list[partial[None]] = [
    partial(exchange, branch="x", one=0, other=1),
    partial(exchange, branch="wide", one=0, other=-1),
    partial(exchange, branch="x", one=0, other=0, branch_of_other="y"),
    partial(exchange, branch="x", one=5, other=6),
    partial(exchange, branch="Jet_pt", one=0, other=1),
    partial(exchange, branch="new", one=0, other=1),
    partial(exchange, branch="new", one=0, other=0, branch_of_other="x"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files of 50 MB."""
    folder = tmp_path_factory.mktemp("samples")
    return [write(folder / "a.root"), write(folder / "b.root")]


def run(tmp_path: Path, file: Path, **output: object) -> int:
    job = {
        "source": {"files": [str(file)]},
        "modules": [
            {"label": "most", "type": "expression:event % 5 != 1", "kind": "filter"},
            {"label": "new", "type": "expression:2.0 * x", "kind": "producer"},
        ],
        "paths": {"p": ["most"]},
        "outputs": [{"label": "out", **output}],
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    return main(["run", str(tmp_path / "job.json"), "-q", "--children", "0",
                 "-o", str(tmp_path / "run"), "--no-plots"])  # fmt: skip


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("output", [{}, {"paths": ["p"], "compression": "none"}])
@pytest.mark.parametrize("fault", FAULTS)
def test_an_output_whose_baskets_are_exchanged_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    files: list[Path], output: dict[str, object], fault: partial[None],
) -> None:  # fmt: skip
    make = partial(_core.OutputToMake, on_written=fault)
    monkeypatch.setattr(_core, "OutputToMake", make)
    monkeypatch.setattr("forkrun.merge.output.COMPRESSION", "none")
    assert run(tmp_path, files[0], **output) == 6
    error = capfd.readouterr().err
    broken = {fault.keywords["branch"], fault.keywords.get("branch_of_other")}
    assert any(f'branch "{branch}": entry ' in error for branch in broken)
    assert not list((tmp_path / "run/output").glob("out.root*"))


def test_without_a_fault_they_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[Path]
) -> None:
    written: list[str] = []
    make = partial(_core.OutputToMake, on_written=written.append)
    monkeypatch.setattr(_core, "OutputToMake", make)
    assert run(tmp_path, files[0], paths=["p"]) == 0


def write_histograms(path: str) -> None:
    """200 events of run 1, lumi 1 with histograms, which ROOT reads and fills anew."""
    import array

    import ROOT

    file = ROOT.TFile(path, "RECREATE", "", 0)
    tree = ROOT.TTree("Events", "t")
    numbers = {name: array.array("I", [1]) for name in ("run", "luminosityBlock")}
    event = array.array("Q", [0])
    for name, value in numbers.items():
        tree.Branch(name, value, f"{name}/i")
    tree.Branch("event", event, "event/l")
    histogram = ROOT.TH1F("h", "", 5, 0, 5)
    tree.Branch("histogram", histogram, 4000, 0)
    for number in range(200):
        event[0] = number
        histogram.SetBinContent(1, number)
        tree.Fill()
    tree.Write()
    file.Close()


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("fault", [None, partial(exchange, branch="histogram", one=0, other=1)])
def test_objects_that_root_fills_are_compared_with_what_it_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    fault: partial[None] | None,
) -> None:  # fmt: skip
    path = tmp_path / "h.root"
    call_root(write_histograms, str(path))
    output = {"label": "out", "compression": "none"}
    (tmp_path / "job.json").write_text(
        json.dumps({"source": {"files": [str(path)]}, "outputs": [output]})
    )
    if fault:
        monkeypatch.setattr(_core, "OutputToMake", partial(_core.OutputToMake, on_written=fault))
    code = main(["run", str(tmp_path / "job.json"), "-q", "--children", "0",
                 "-o", str(tmp_path / "run"), "--no-plots"])  # fmt: skip
    error = capfd.readouterr().err
    assert code == (6 if fault else 0), error
    if fault:
        assert f'branch "{fault.keywords["branch"]}": entry 0 ' in error


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize(
    ("recluster", "compression"),
    [
        ("never", None),
        ("always", "zstd:1"),
        pytest.param("never", "zstd:1", marks=pytest.mark.long),
        pytest.param("always", None, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("fault", FAULTS[:5])
def test_a_merged_file_whose_baskets_are_exchanged_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[Path], recluster: str,
    compression: str | None, fault: partial[None],
) -> None:  # fmt: skip
    out = tmp_path / "out.root"

    def on_written() -> None:
        (path,) = tmp_path.glob("out.root.*.part")
        fault(str(path))

    monkeypatch.setattr(_core, "merge_trees", partial(_core.merge_trees, on_written=on_written))
    with pytest.raises(VerificationError, match=r'branch ".*": entry \d+'):
        merge_files(files, out, recluster=recluster, compression=compression)
    assert not out.exists()
