"""The worked example of LCIO, on a sample of a linear collider."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import forkrun
from forkrun import _core
from forkrun.studies.sample.collider.write import write_collider_sample
from forkrun.studies.sample.settings import SampleSettings

EXAMPLE = Path(__file__).parents[2] / "configs" / "lcio" / "recoil.py"
N_EVENTS = 120


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = SampleSettings(n_events=N_EVENTS)
    (path,) = write_collider_sample(tmp_path_factory.mktemp("sample") / "events.slcio", settings)
    return path


@pytest.mark.slow
def test_the_recoil_mass_peaks_at_those_of_the_higgs_and_the_z_boson(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [str(EXAMPLE), str(sample)])
    job: forkrun.Job = runpy.run_path(str(EXAMPLE))["job"]
    result = job.run(2, output=tmp_path / "run", quiet=True)
    masses = result.histograms["recoil"]
    output = _core.OpenLcio(str(result.output("selected")))
    index = output.index()
    counts, n_selected = masses.values(), len(index["event"])
    assert counts.sum() == n_selected > 0.9 * N_EVENTS
    middle = masses.axes[0].centers
    assert counts[abs(middle - 125) < 2].sum() > 0.6 * n_selected
    assert counts[abs(middle - 91) < 4].sum() > 0.15 * n_selected
    names = {name.partition(".")[0] for name, _ in index["branches"] if "." in name}
    assert {"MCParticle", "PandoraPFOs", "Tracks", "ECalHits", "RunHeader", "parameters"} <= names
    assert not names & {"VXDHits", "TPCCollection", "ECalCollection"}
    recoil = output.read(["parameters.recoil"])["parameters.recoil"][1]
    assert len(recoil) == n_selected
    assert np.histogram(recoil, 60, (80, 140))[0].tolist() == counts.tolist()


@pytest.mark.slow
def test_pointers_lead_to_objects_and_ids_of_particles_have_names(
    sample: Path, tmp_path: Path
) -> None:
    job = forkrun.Job(str(sample))

    @job.define
    def mothers(block: forkrun.EventBlock) -> Any:
        particles = block.MCParticle
        return ak.sum(ak.sum(particles.parents.pdg, axis=2), axis=1)

    @job.define
    def daughters(block: forkrun.EventBlock) -> Any:
        higgs = block.MCParticle[:, 3:4]
        return ak.sum(ak.sum(abs(higgs.daughters.pdg), axis=2), axis=1)

    @job.define
    def momenta(block: forkrun.EventBlock) -> Any:
        hits = block.TPCCollection
        return ak.sum(hits.particle.p, axis=1)

    @job.define
    def degrees(block: forkrun.EventBlock) -> Any:
        found = block.PandoraPFOs
        return ak.sum(ak.sum(found.tracks.ndf, axis=2), axis=1)

    @job.define
    def muons(block: forkrun.EventBlock) -> Any:
        likelihood = block["PandoraPFOs.pid.LikelihoodPID.parameters.muonLikelihood"]
        assert len(block["RunHeader.parameters.Generator"][0]) == 1
        return ak.sum(likelihood, axis=1)

    names = ["mothers", "daughters", "momenta", "degrees", "muons"]
    job.output("new", keep=names, format="parquet")
    result = job.run(1, output=tmp_path / "run", quiet=True)
    parquet = pytest.importorskip("pyarrow.parquet")
    made = parquet.read_table(result.output("new")).to_pydict()
    opened = _core.OpenLcio(str(sample))
    wanted = ["MCParticle.pdg", "MCParticle.parents", "TPCCollection.particle", "Tracks.chi2",
              "PandoraPFOs.particleIDs.parameters"] + [
        f"MCParticle.momentum.{axis}" for axis in "xyz"
    ]  # fmt: skip
    read = opened.read(wanted)
    columns = {name: ak.Array(_lists(column)) for name, column in read.items()}
    pdg, parents = columns["MCParticle.pdg"], columns["MCParticle.parents"]
    assert made["mothers"] == [
        sum(int(of[p]) for each in ps for p in each) for of, ps in zip(pdg, parents, strict=True)
    ]
    assert made["daughters"] == [10] * N_EVENTS
    squares = [columns[f"MCParticle.momentum.{axis}"] ** 2 for axis in "xyz"]
    size = np.sqrt(sum(ak.values_astype(each, "float64") for each in squares))
    expected = ak.sum(size[columns["TPCCollection.particle"]], axis=1)
    assert made["momenta"] == pytest.approx(expected.to_list(), rel=1e-5)
    assert made["degrees"] == (20 * ak.num(columns["Tracks.chi2"])).to_list()
    values = ak.sum(ak.flatten(columns["PandoraPFOs.particleIDs.parameters"], axis=2), axis=1)
    assert made["muons"] == pytest.approx(values.to_list(), rel=1e-5)


def _lists(column: Any) -> Any:
    layout: Any = ak.contents.NumpyArray(column[-1])
    for offsets in reversed(column[:-1]):
        layout = ak.contents.ListOffsetArray(ak.index.Index64(offsets), layout)
    return layout
