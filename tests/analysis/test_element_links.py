"""ElementLinks of ATLAS lead to the objects that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

import forkrun
from forkrun.modules.objects.element_links import key_of
from tests.analysis.links_file import N_EVENTS, write_links

SOURCE: dict[str, Any] = {
    **dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), ""),
    "collections": "{collection}AuxDyn.{field}",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_links(tmp_path_factory.mktemp("links") / "a.root")


@pytest.mark.slow
def test_links_lead_into_the_container_that_their_key_names(file: Path, tmp_path: Path) -> None:
    job = forkrun.Job(file, tree="CollectionTree", source=SOURCE)

    @job.define
    def truth(block: forkrun.EventBlock) -> Any:
        return ak.fill_none(block.AnalysisElectrons.truthParticle.pt, -1)

    @job.define
    def n_tracks(block: forkrun.EventBlock) -> Any:
        return ak.num(block.AnalysisElectrons.trackParticles, axis=2)

    @job.define
    def charge(block: forkrun.EventBlock) -> Any:
        chosen = block.AnalysisElectrons[block.AnalysisElectrons.pt > 100]
        return ak.sum(chosen.trackParticles.charge, axis=-1)

    job.output("new", keep=["truth", "n_tracks", "charge"])
    result = job.run(2, output=tmp_path / "run", quiet=True, plots=False)
    with uproot.open(result.output("new")) as new:
        found = new["CollectionTree"].arrays(["truth", "n_tracks", "charge"])
    for i in range(N_EVENTS):
        electrons = range(i % 4)
        into = [(100.0 * i, 100.0 * i + 10, None, None)[(i + k) % 4] for k in electrons]
        expected = [-1 if begin is None else begin + k for k, begin in enumerate(into)]
        assert found["truth"][i].to_list() == expected
        assert found["n_tracks"][i].to_list() == [(i + k) % 3 for k in electrons]
        charges = [sum(i - (j + k) for j in range((i + k) % 3)) for k in electrons]
        assert found["charge"][i].to_list() == (charges if 10 * i > 100 else [])


def test_columns_that_links_need_are_named_where_they_are_not_read(
    file: Path, tmp_path: Path
) -> None:
    job = forkrun.Job(file, tree="CollectionTree", source=SOURCE)
    column = "AnalysisElectronsAuxDyn.truthParticleLink"

    @job.define(consumes=("AnalysisElectronsAuxDyn.pt", "TruthMuonsAuxDyn.pt"))
    def truth(block: forkrun.EventBlock) -> Any:
        return ak.fill_none(block.AnalysisElectrons.truthParticle.pt, 0)

    job.output("new", keep=["truth"])
    with pytest.raises(forkrun.ForkrunError, match=f"{column}.m_persIndex, {column}.m_persKey"):
        job.run(1, output=tmp_path / "run", quiet=True, plots=False)


@pytest.mark.parametrize(
    ("container", "class_id", "key"),
    [
        ("AnalysisMuons", 1178459224, 0x3A6B126F),
        ("egammaClusters", 1219821989, 0x15788D1F),
        ("InDetTrackParticles", 1287425431, 0x1D3890DB),
        ("TruthBottom", 1237340765, 779635413),
    ],
)
def test_keys_are_those_of_athena(container: str, class_id: int, key: int) -> None:
    assert key_of(container, class_id) == key
