"""`block.Muon`: the objects of a collection, made of the columns that are touched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import forkrun
from forkrun.modules.objects.collections import Columns, NamingRule
from tests.analysis.objects_file import N_MUONS, write_objects


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_objects(tmp_path / "objects.root")


def seen_by(function: Callable[[Any], Any], file: Path, **sections: Any) -> Any:
    """What a function gives for all events of a file, in a job; and the columns that it read."""
    found: list[Any] = []

    def look(block: Any) -> Any:
        found.append(ak.to_list(function(block)))
        return np.ones(len(block), dtype=bool)

    job = forkrun.Job(file, forking={"distribution": "lumi"}, **sections)
    job.filter(look, label="look")
    result = job.run(children=0, output=file.parent / "run", quiet=True, force=True, plots=False)
    timing = json.loads((result.run_directory / "timing.json").read_text())
    modules = {each.get("label", each.get("name")) for each in timing["modules"]}
    return found[-1], {name for name in modules if name != "look"}


def test_a_field_is_its_column_and_nothing_else_is_read(file: Path) -> None:
    def both(block: Any) -> Any:
        assert ak.all(block.Muon.pt == block["Muon_pt"])
        assert str(block.Muon.pt.type) == str(block["Muon_pt"].type)
        return block.Muon.pt

    values, read = seen_by(both, file)
    assert [len(each) for each in values] == list(N_MUONS)
    assert values[0] == [10, 11]
    assert read == {"Muon_pt"}


def test_vectors_are_added_in_double_precision(file: Path) -> None:
    def masses(block: Any) -> Any:
        muons = block.Muon[ak.num(block.Muon) >= 2]
        mass = (muons[:, 0] + muons[:, 1]).mass
        assert mass.layout.dtype == np.float64
        return mass

    values, read = seen_by(masses, file)
    one, two = ((np.float32(v) for v in (10 + n, 0.1 * n, 0.2 * n, 0.1057)) for n in (0, 1))
    assert values[0] == pytest.approx(_mass(*map(float, one), *map(float, two)), rel=1e-9)
    assert read == {"Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass"}


def _mass(*values: float) -> float:
    pt, eta, phi, mass = np.array(values).reshape(2, 4).T
    px, py, pz = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
    energy = np.sqrt((pt * np.cosh(eta)) ** 2 + mass**2)
    parts = [float(np.sum(each)) for each in (energy, px, py, pz)]
    return float(np.sqrt(parts[0] ** 2 - sum(each**2 for each in parts[1:])))


def test_angles_between_collections_survive_combinations(file: Path) -> None:
    def nearest(block: Any) -> Any:
        muon, jet = ak.unzip(ak.cartesian([block.Muon, block.Jet], nested=True))
        return ak.min(muon.deltaR(jet), axis=2)

    values, read = seen_by(nearest, file)
    assert values[0] == pytest.approx([0.0, np.hypot(0.1, 0.2)], abs=1e-6)
    assert values[2] == [None]
    assert {"Muon_eta", "Muon_phi", "Jet_eta", "Jet_phi"} <= read
    assert "Muon_charge" not in read


def test_an_index_leads_to_an_object_of_another_collection(file: Path) -> None:
    def jets(block: Any) -> Any:
        muons = block.Muon[block.Muon.charge > 0]
        assert ak.all(block.Muon[:, ::-1].jet.pt == block.Muon.jet.pt[:, ::-1])
        return muons.jet.pt

    values, read = seen_by(jets, file)
    assert values == [[100], [], [None], [103], [107], [None]]
    assert {"Muon_jetIdx", "Jet_pt"} <= read


def test_what_is_one_per_event_is_a_collection_too(file: Path) -> None:
    values, read = seen_by(lambda block: block.MET.pt, file)
    assert values == [0, 10, 20, 30, 40, 50]
    assert read == {"MET_pt"}
    met, _ = seen_by(lambda block: block.Muon.deltaphi(block.MET)[:1], file)
    assert met[0] == pytest.approx([0, 0.2])


def test_counting_objects_reads_one_column(file: Path) -> None:
    values, read = seen_by(lambda block: ak.num(block.Muon), file)
    assert values == list(N_MUONS)
    assert read == {"Muon_pt"}


def test_other_names_follow_a_rule(tmp_path: Path) -> None:
    names = {f"Muon_{old}": f"Muons.{new}" for old, new in (("pt", "PT"), ("eta", "Eta"))}
    file = write_objects(tmp_path / "other.root", names)
    rule = {"collections": "{collection}.{field}", "fields": {"PT": "pt"}}
    values, read = seen_by(lambda block: block.Muons.pt, file, source=rule)
    assert values[0] == [10, 11]
    assert read == {"Muons.PT"}


@pytest.mark.parametrize(
    ("rule", "column", "parts"),
    [
        (NamingRule(), "Muon_pt", ("Muon", "pt")),
        (NamingRule(), "HLT_Mu50_v2", ("HLT", "Mu50_v2")),
        (NamingRule(), "nMuon", None),
        (NamingRule(["{collection}AuxDyn.{field}"]), "MuonsAuxDyn.pt", ("Muons", "pt")),
        (NamingRule(["{collection}.f{field}"], {"Pt": "pt"}), "Jets.fPt", ("Jets", "pt")),
        (NamingRule(["{collection}.f{field}", "{collection}_{field}"]), "Jets_id", ("Jets", "id")),
    ],
)  # fmt: skip
def test_a_rule_splits_names(rule: NamingRule, column: str, parts: tuple[str, str] | None) -> None:
    assert rule.split(column) == parts


def test_indices_name_their_collections() -> None:
    types = dict.fromkeys(
        ("Muon_jetIdx", "Muon_genPartIdx", "Jet_muonIdx1", "Jet_pt", "GenPart_genPartIdxMother"),
        "int32[]",
    )
    columns = Columns(types)
    links = [
        getattr(columns.collection(name), "links", None) for name in ("Muon", "Jet", "GenPart")
    ]
    assert links == [
        {"jet": ("jetIdx", "Jet"), "genPart": ("genPartIdx", "GenPart")},
        {"muon1": ("muonIdx1", "Muon")},
        {"genPartMother": ("genPartIdxMother", "GenPart")},
    ]


PFNANO = {
    "FatJetPFCands_jetIdx": "FatJet", "FatJetPFCands_pFCandsIdx": "PFCands",
    "FatJetSVs_jetIdx": "FatJet", "FatJetSVs_sVIdx": "SV", "JetPFCands_jetIdx": "Jet",
    "JetPFCands_pFCandsIdx": "PFCands", "JetSVs_jetIdx": "Jet", "JetSVs_sVIdx": "SV",
    "GenFatJetCands_jetIdx": "GenJetAK8", "GenFatJetCands_pFCandsIdx": "GenCands",
    "GenFatJetSVs_jetIdx": "GenJetAK8", "GenFatJetSVs_sVIdx": "SV", "GenJetCands_jetIdx": "GenJet",
    "GenJetCands_pFCandsIdx": "GenCands", "GenJetSVs_jetIdx": "GenJet", "GenJetSVs_sVIdx": "SV",
    "FatJet_electronIdx3SJ": "Electron", "FatJet_muonIdx3SJ": "Muon", "FatJet_subJetIdx1": "SubJet",
    "FatJet_genJetAK8Idx": "GenJetAK8", "SubJet_subGenJetAK8Idx": "SubGenJetAK8",
    "Muon_jetIdx": "Jet", "Tau_jetIdx": "Jet", "Jet_genJetIdx": "GenJet", "Jet_svIdx1": "SV",
    "GenPart_genPartIdxMother": "GenPart", "GenVisTau_genPartIdxMother": "GenPart",
    "FsrPhoton_muonIdx": "Muon", "LowPtElectron_electronIdx": "Electron",
}  # fmt: skip
"""As coffea's schema for PFNano has them."""


def links_of(columns: Iterable[str]) -> dict[str, str]:
    known = Columns(dict.fromkeys(columns, "int32[]"))
    found: dict[str, str] = {}
    for name in known.names:
        collection = known.collection(name)
        assert collection is not None
        found |= {f"{name}_{key}": target for key, target in collection.links.values()}
    return found


def test_links_of_pfnano_lead_to_the_collections_that_are_meant() -> None:
    everything = [*PFNANO, *(f"{target}_pt" for target in PFNANO.values())]
    assert links_of(everything) == PFNANO


def test_a_link_that_is_not_certain_is_not_made() -> None:
    """The collection that is meant is not in the file, but one whose name is like the index's."""
    uncertain = ("FatJetPFCands_jetIdx", "GenFatJetCands_jetIdx", "GenJetCands_jetIdx",
                 "GenJetSVs_jetIdx", "GenJetCands_pFCandsIdx")  # fmt: skip
    assert links_of([*uncertain, "Jet_pt", "PFCands_pt"]) == {}


@pytest.mark.parametrize("name", ["ref", "refs"])
def test_a_number_named_like_a_reference_is_a_field(tmp_path: Path, name: str) -> None:
    """Delphes' references have the name of what they lead to: Particle.ref."""
    file = write_objects(tmp_path / "a.root", {"Muon_charge": f"Muon_{name}"})
    values, _ = seen_by(lambda block: block[f"Muon_{name}"], file)
    found, _ = seen_by(lambda block: (block.Muon.pt, block.Muon[name])[1], file)
    assert found == values
    assert [len(each) for each in found] == list(N_MUONS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda block: block.Muonn.pt, 'nor a module has "Muonn"; did you mean "Muon"'),
        (lambda block: block.Muon.ptt, "Muon has no field 'ptt'; did you mean \"pt\""),
        (lambda block: block["Muon_ptt"], 'neither the input nor a module has "Muon_ptt"; did you'),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there_is_said_with_the_line(
    file: Path, function: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(forkrun.ConfigError) as error:
        seen_by(function, file)
    assert 'module "look"' in str(error.value)
    assert message in str(error.value)
    assert f"{__file__}, line " in str(error.value)


def test_the_nearest_object_is_found_as_in_coffea(file: Path) -> None:
    def nearest(block: Any) -> Any:
        jets, distance = block.Muon.nearest(block.Jet, return_metric=True)
        near = block.Muon.nearest(block.Jet, threshold=0.25)
        assert ak.to_list(ak.is_none(near.pt, axis=1)) == ak.to_list(
            ak.fill_none(distance >= 0.25, True)
        )
        return jets.pt

    values, read = seen_by(nearest, file)
    assert values[0] == [100, 100]
    assert values[2] == [None]  # no jet
    assert "Jet_mass" in read
    same, _ = seen_by(lambda block: block.Muon[:, :1].delta_r(block.Muon[:, :1]), file)
    assert same[0] == [0]


def test_events_are_chosen_by_a_mask_as_in_coffea(file: Path) -> None:
    def chosen(block: Any) -> Any:
        two = block[ak.num(block.Muon) >= 2]
        both = two[two.MET.pt > 0]
        assert both.event.tolist() == [4, 5, 6][: len(both)]
        leading = both.Muon[:, 0].pt
        return ak.concatenate([leading, np.zeros(len(block) - len(both))])

    values, read = seen_by(chosen, file)
    assert values[:3] == [13, 16, 18]
    assert read == {"Muon_pt", "MET_pt", "event"}


def test_a_vertex_with_a_place_is_a_vector_of_its_momentum(tmp_path: Path) -> None:
    """NanoAOD's SV has x, y and z beside pt, eta, phi and mass."""
    places = {"Jet_pt": "SV_pt", "Jet_eta": "SV_eta", "Jet_phi": "SV_phi", "Jet_mass": "SV_mass"}
    file = write_objects(tmp_path / "sv.root", places)
    job = forkrun.Job(file, forking={"min_unit_events": 10})
    job.define("SV_x", "0 * SV_pt + 1000").define("SV_y", "0 * SV_pt - 1000")
    found: list[Any] = []

    @job.filter
    def look(block: Any) -> Any:
        assert ak.all(block.SV.x - block.SV.y == 2000)
        assert "raised in repr" not in repr(block.SV) + repr(block.SV[0, 0])
        found.append((ak.sum(block.SV, axis=1).mass, (block.SV + block.SV).pt, block.SV.px))
        return block.event > 0

    job.run(children=0, output=tmp_path / "run", quiet=True, plots=False)
    masses, doubled, px = found[-1]
    assert masses[0] == pytest.approx(8)
    assert doubled[0, 0] == pytest.approx(200)
    assert px[0, 0] == pytest.approx(100)
