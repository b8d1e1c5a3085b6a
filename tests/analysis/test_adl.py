"""The eight ADL queries of configs/adl give what independent code gives, event for event: uproot
reads the files, and loops over plain Python numbers compute in double precision."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uproot

from tests.support.jobs import ROOT, environment
from tests.support.jobs import forkrun as command

Event = dict[str, Any]
COLLECTIONS, COORDINATES = ("Jet", "Muon", "Electron"), ("pt", "eta", "phi", "mass")
COLUMNS = (
    "MET_pt", "MET_phi", "Jet_btagDeepFlavB",
    *(f"{name}_{key}" for name in COLLECTIONS for key in COORDINATES),
    "Muon_charge", "Muon_pdgId", "Electron_pdgId",
)  # fmt: skip
REAL = ("nano_dy.root", "nano_dimuon.root", "nanoAOD_2015_CMS_Open_Data_ttbar.root")


class Particle(NamedTuple):
    pt: float
    eta: float
    phi: float
    mass: float
    tag: float = 0.0


def particles(event: Event, name: str, tag: str = "") -> list[Particle]:
    keys = ["pt", "eta", "phi", "mass", *([tag] if tag else [])]
    return [
        Particle(*map(float, each))
        for each in zip(*(event[f"{name}_{k}"] for k in keys), strict=True)
    ]


def total(*parts: Particle) -> tuple[float, float]:
    """Transverse momentum and mass of all together."""
    px = math.fsum(p.pt * math.cos(p.phi) for p in parts)
    py = math.fsum(p.pt * math.sin(p.phi) for p in parts)
    pz = math.fsum(p.pt * math.sinh(p.eta) for p in parts)
    energy = math.fsum(math.sqrt((p.pt * math.cosh(p.eta)) ** 2 + p.mass**2) for p in parts)
    return math.hypot(px, py), math.sqrt(max(energy**2 - px**2 - py**2 - pz**2, 0))


def angle(a: float, b: float) -> float:
    return math.remainder(a - b, 2 * math.pi)


def q5(event: Event) -> bool:
    muons = particles(event, "Muon", "charge")
    return any(a.tag != b.tag and 60 < total(a, b)[1] < 120 for a, b in combinations(muons, 2))


def q6(event: Event) -> tuple[list[float], list[float]]:
    trijets = list(combinations(particles(event, "Jet", "btagDeepFlavB"), 3))
    if not trijets:
        return [], []
    best = min(trijets, key=lambda three: abs(total(*three)[1] - 172.5))
    return [total(*best)[0]], [max(jet.tag for jet in best)]


def q7(event: Event) -> float:
    leptons = [p for n in ("Muon", "Electron") for p in particles(event, n) if p.pt > 10]
    return math.fsum(
        jet.pt
        for jet in particles(event, "Jet")
        if jet.pt > 30
        and all(math.hypot(jet.eta - p.eta, angle(jet.phi, p.phi)) > 0.4 for p in leptons)
    )


def q8(event: Event) -> list[float]:
    leptons = [p for n in ("Muon", "Electron") for p in particles(event, n, "pdgId")]
    pairs = [pair for pair in combinations(leptons, 2) if pair[0].tag == -pair[1].tag]
    if len(leptons) < 3 or not pairs:
        return []
    best = min(pairs, key=lambda pair: abs(total(*pair)[1] - 91.2))
    leading = max((p for p in leptons if p not in best), key=lambda p: p.pt)
    cosine = math.cos(angle(leading.phi, float(event["MET_phi"])))
    return [math.sqrt(2 * leading.pt * float(event["MET_pt"]) * (1 - cosine))]


def fills(event: Event) -> dict[str, list[float]]:
    met, jets = float(event["MET_pt"]), particles(event, "Jet")
    pt, btag = q6(event)
    return {
        "q1_met": [met],
        "q2_jet_pt": [jet.pt for jet in jets],
        "q3_central_jet_pt": [jet.pt for jet in jets if abs(jet.eta) < 1],
        "q4_met": [met] if sum(jet.pt > 40 for jet in jets) >= 2 else [],
        "q5_met": [met] if q5(event) else [],
        "q6_pt": pt,
        "q6_btag": btag,
        "q7_sum_pt": [q7(event)],
        "q8_transverse_mass": q8(event),
    }


def expected(file: Path, binning: Callable[[str], tuple[int, float, float]]) -> dict[str, Any]:
    """Contents by query, flow bins included."""
    contents: dict[str, Any] = {}
    for event in events(file):
        for name, values in fills(event).items():
            n, low, high = binning(name)
            bins = contents.setdefault(name, [0] * (n + 2))
            for value in values:
                place = math.floor((value - low) / (high - low) * n) + 1
                bins[min(max(place, 0), n + 1)] += 1
    return contents


def events(file: Path) -> Iterator[Event]:
    with uproot.open(file) as opened:
        columns = opened["Events"].arrays(COLUMNS, library="np")
    for number in range(len(columns["MET_pt"])):
        yield {name: column[number] for name, column in columns.items()}


def queries(file: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The job of configs/adl for a file."""
    path = ROOT / "configs/adl/queries.py"
    monkeypatch.setattr(sys, "argv", [str(path), str(file)])
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    spec = importlib.util.spec_from_file_location("adl_queries", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.job


def compare(file: Path, run: Path, job: Any, children: int) -> dict[str, int]:
    """Number of fills by query."""
    job.configure(threads={"block_size": 1000}, forking={"distribution": "lumi"})
    result = job.run(children=children, output=run, quiet=True, plots=False)

    def binning(name: str) -> tuple[int, float, float]:
        (axis,) = result.histograms[name].axes
        return len(axis), axis.edges[0], axis.edges[-1]

    wanted = expected(file, binning)
    assert sorted(result.histograms) == sorted(wanted)
    for name, bins in wanted.items():
        assert result.histograms[name].values(flow=True).tolist() == bins, name
    return {name: sum(bins) for name, bins in wanted.items()}


def test_they_are_at_most_68_lines_without_toml() -> None:
    folder = ROOT / "configs/adl"
    assert [file.name for file in folder.iterdir() if file.name != "__pycache__"] == ["queries.py"]
    assert len((folder / "queries.py").read_text().splitlines()) <= 68


@pytest.mark.long
def test_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sample.root"
    shape = ["--events", 2000, "--runs", 1, "--lumis", 2]
    assert command("sample", file, *shape, "--quiet", cwd=tmp_path).code == 0
    n_fills = compare(file, tmp_path / "run", queries(file, monkeypatch), 2)
    assert n_fills["q1_met"] == 2000
    assert min(n_fills.values()) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [REAL[0], *(pytest.param(name, marks=pytest.mark.long) for name in REAL[1:])]
)
def test_real_files(
    name: str, real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = real_data / name
    n_fills = compare(file, tmp_path / "run", queries(file, monkeypatch), 0)
    assert n_fills["q1_met"] > 0
