"""`block.Hits` where the input's columns are members of objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

import forkrun
from tests.support.members_file import write_members, write_records

QUIET: dict[str, Any] = {"quiet": True, "plots": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects")
    write_members(folder / "members.root")
    write_records(folder / "records.root")
    return folder


def test_members_within_objects_are_fields_of_fields(folder: Path, tmp_path: Path) -> None:
    job = forkrun.Job(folder / "members.root")
    job.define("chosen", "sum(Hits[Hits.pt > 30].at.x)")

    @job.define
    def far(block: forkrun.EventBlock) -> Any:
        hits = block.Hits[block.Hits.at.y > 0.1]
        return ak.sum(hits.ids[..., 0], axis=1)

    @job.define(consumes=("Hits.pt", "Hits.at.x"))
    def told(block: forkrun.EventBlock) -> Any:
        assert block.Hits.fields == ["pt", "at"]
        return ak.sum(block.Hits.pt - block.Hits.at.x, axis=1)

    @job.define
    def linkedto(block: forkrun.EventBlock) -> Any:
        return block.rec.header.weight + block.rec.where.x

    job.output("new", keep=["chosen", "far", "told", "linkedto"])
    result = job.run(1, output=tmp_path / "run", **QUIET)
    with uproot.open(folder / "members.root") as file, uproot.open(result.output("new")) as new:
        tree, made = file["Events"], new["Events"]
        hits = {n: tree[f"Hits/Hits.{n}"].array() for n in ("pt", "at.x", "at.y", "ids[3]")}
        chosen = ak.sum(hits["at.x"][hits["pt"] > 30], axis=1)
        assert ak.array_equal(made["chosen"].array(), chosen)
        far_ids = hits["ids[3]"][hits["at.y"] > 0.1][..., 0]
        assert ak.array_equal(made["far"].array(), ak.sum(far_ids, axis=1))
        assert ak.array_equal(made["told"].array(), ak.sum(hits["pt"] - hits["at.x"], axis=1))
        parts = [tree[f"rec/{n}"].array() for n in ("header/header.weight", "where/where.x")]
        assert ak.array_equal(made["linkedto"].array(), parts[0] + parts[1])


@pytest.mark.slow
def test_vectors_of_root_are_lorentz_vectors(folder: Path, tmp_path: Path) -> None:
    source = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    job = forkrun.Job(folder / "records.root", source=source)
    job.define("mass", "vector.mass")

    @job.define
    def pt(block: forkrun.EventBlock) -> Any:
        return block.vectors.pt

    job.output("new", keep=["mass", "pt"])
    result = job.run(1, output=tmp_path / "run", **QUIET)
    with uproot.open(result.output("new")) as file:
        found = file["Events"].arrays(["mass", "pt"])
    squares = [(i + 3) ** 2 - i * i - 5 for i in range(250)]
    assert ak.all(abs(found["mass"] ** 2 - squares) < 1e-6)
    expected = ak.Array([[(i * i + 1) ** 0.5] * (i % 3) for i in range(250)])
    assert ak.all(ak.num(found["pt"]) == ak.num(expected))
    assert ak.all(abs(ak.flatten(found["pt"] - expected)) < 1e-9)


IDS = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")


def real(real_data: Path, name: str) -> Path:
    path = real_data / "objects" / name
    if not path.exists():
        pytest.skip(f"no such file: {path}")
    return path


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("block_size", [1, 0])
@pytest.mark.parametrize("n_tried", [0, 1, 2, 1000])
def test_events_without_related_objects_do_not_decide_where_they_are(
    real_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_tried: int,
    block_size: int,
) -> None:
    """Wherever the time of a trial ends, and whichever events a call is for. `n_tried` 0: a filter
    leaves none of those that are tried."""
    monkeypatch.setattr("forkrun.schedule.trial.find_reads.MOST_EVENTS", max(n_tried, 1))
    path = real(real_data, "p8_ee_WW_ecm240_edm4hep.root")
    job = forkrun.Job(path, tree="events", source=IDS, threads={"block_size": block_size})

    @job.define
    def muons(events: forkrun.EventBlock) -> Any:
        muon = events.Muon_objIdx.object
        return ak.fill_none(muon.energy, -1) + 0 * ak.fill_none(muon.pt, 0)

    @job.define
    def tracked(events: forkrun.EventBlock) -> Any:
        tracks = events.Muon_objIdx.object.tracks
        return ak.fill_none(ak.sum(tracks.chi2 > 0, axis=-1), 0)

    if not n_tried:
        job.filter("event > 0")
    job.output("new", keep=["muons", "tracked"])
    result = job.run(0, output=tmp_path / "run", **QUIET)
    first = 0 if n_tried else 1
    with uproot.open(path) as file:
        tree = file["events"]
        index = tree["Muon_objIdx.index"].array()
        energy = tree["ReconstructedParticles.energy"].array()
        begin, end = (tree[f"ReconstructedParticles.tracks_{e}"].array() for e in ("begin", "end"))
    with uproot.open(result.output("new")) as file:
        found = file["events"].arrays()
    assert ak.num(index)[0] == 0
    assert ak.array_equal(found["muons"], energy[index][first:], dtype_exact=False)
    n_tracks = (end - begin)[index]
    assert ak.sum(n_tracks) > 0
    assert ak.all(found["tracked"] <= n_tracks[first:], axis=None)


@pytest.mark.slow
def test_relations_of_edm4hep_lead_to_the_objects_that_they_name(
    real_data: Path, tmp_path: Path
) -> None:
    """In whichever collections these are: `collectionID` tells."""
    path = real(real_data, "p8_ee_WW_ecm240_edm4hep.root")
    job = forkrun.Job(path, tree="events", source=IDS)

    @job.define
    def parental(block: forkrun.EventBlock) -> Any:
        return ak.sum(block.Particle.parents.PDG, axis=-1)

    @job.define
    def pt(block: forkrun.EventBlock) -> Any:
        return block.ReconstructedParticles.pt

    @job.define
    def clustered(block: forkrun.EventBlock) -> Any:
        return ak.sum(block.ReconstructedParticles.clusters.energy, axis=-1)

    @job.define
    def linkedto(block: forkrun.EventBlock) -> Any:
        links = block.MCRecoAssociations
        return ak.fill_none(getattr(links, "from").energy * 0 + links.to.PDG, 0)

    @job.define
    def muons(block: forkrun.EventBlock) -> Any:
        return ak.fill_none(block.Muon_objIdx.object.energy, -1)

    @job.define
    def vertices(block: forkrun.EventBlock) -> Any:
        return ak.sum(~ak.is_none(block.Jet.decayVertex, axis=1), axis=1)

    names = ["parental", "pt", "clustered", "linkedto", "muons", "vertices"]
    job.output("new", keep=names)
    result = job.run(1, output=tmp_path / "run", **QUIET)
    with uproot.open(path) as file:
        all_of = file["events"].arrays(library="np")
        x, y = (file["events"][f"ReconstructedParticles.momentum.{axis}"].array() for axis in "xy")
    n_events = len(all_of["Particle.PDG"])

    def related(name: str, to: str, values: Any) -> Any:
        """Sums over those that each object is related to."""
        return [
            [
                sum(values(e, k) for k in range(begin, end))
                for begin, end in zip(
                    all_of[f"{name}.{to}_begin"][e], all_of[f"{name}.{to}_end"][e], strict=True
                )
            ]
            for e in range(n_events)
        ]

    def parent(e: int, k: int) -> Any:
        return all_of["Particle.PDG"][e][all_of["_Particle_parents.index"][e][k]]

    of_ids = {2071688295: "EFlowPhoton", 2358544021: "EFlowNeutralHadron"}

    def cluster(e: int, k: int) -> Any:
        before = "_ReconstructedParticles_clusters"
        kind = of_ids[all_of[f"{before}.collectionID"][e][k]]
        return all_of[f"{kind}.energy"][e][all_of[f"{before}.index"][e][k]]

    with uproot.open(result.output("new")) as file:
        found = file["events"].arrays(names)
    assert found["parental"].to_list() == related("Particle", "parents", parent)
    assert ak.all(abs(ak.flatten(found["pt"] - (x**2 + y**2) ** 0.5)) < 1e-4)
    clusters = ak.Array(related("ReconstructedParticles", "clusters", cluster))
    assert ak.all(abs(ak.flatten(found["clustered"] - clusters)) < 1e-4)
    for e in range(n_events):
        to, part = all_of["_MCRecoAssociations_to.index"][e], all_of["Muon_objIdx.index"][e]
        assert found["linkedto"][e].to_list() == all_of["Particle.PDG"][e][to].tolist()
        energies = all_of["ReconstructedParticles.energy"][e]
        assert found["muons"][e].to_list() == energies[part].tolist()
    assert found["vertices"].to_list() == [0] * n_events


@pytest.mark.slow
def test_vector_members_of_edm4hep_are_lists_of_the_objects(
    real_data: Path, tmp_path: Path
) -> None:
    """Of numbers, and of components with fields within fields."""
    path = real(real_data, "p8_ee_WW_ecm240_edm4hep.root")
    job = forkrun.Job(path, tree="events", source=IDS)

    @job.define
    def states(block: forkrun.EventBlock) -> Any:
        return ak.num(block.EFlowTrack.trackStates, axis=2)

    @job.define
    def sums(block: forkrun.EventBlock) -> Any:
        of = block.EFlowTrack[block.EFlowTrack.chi2 >= 0].trackStates
        return ak.sum(of.D0 + of.referencePoint.x + of.covMatrix.values[..., 5], axis=-1)

    ends = (f"ParticleIDs.parameters_{end}" for end in ("begin", "end"))

    @job.define(consumes=("_ParticleIDs_parameters", *ends))
    def likely(block: forkrun.EventBlock) -> Any:
        return ak.fill_none(ak.firsts(block.ParticleIDs.parameters, axis=2), -9)

    job.output("new", keep=["states", "sums", "likely"])
    result = job.run(1, output=tmp_path / "run", **QUIET)
    with uproot.open(path) as file:
        tree, state = file["events"], "_EFlowTrack_trackStates"
        begin, end = (tree[f"EFlowTrack.trackStates_{end}"].array() for end in ("begin", "end"))
        parts = [f"{state}.D0", f"{state}.referencePoint.x", f"{state}.covMatrix.values[21]"]
        d0, x, matrix = (tree[name].array() for name in parts)
        values = ak.to_list(d0 + x + matrix[..., 5])
        expected = [
            [sum(each[b:e]) for b, e in zip(begins, ends, strict=True)]
            for each, begins, ends in zip(values, begin, end, strict=True)
        ]
        of_ids = [
            tree[f"ParticleIDs.parameters_{end}"].array().to_list() for end in ("begin", "end")
        ]
        has = tree["_ParticleIDs_parameters"].array()
        likely_ones = [
            [has[e][b] if b < end else -9 for b, end in zip(*each, strict=True)]
            for e, each in enumerate(zip(*of_ids, strict=True))
        ]
    with uproot.open(result.output("new")) as file:
        found = file["events"].arrays(["states", "sums", "likely"])
    assert ak.array_equal(found["states"], end - begin, dtype_exact=False)
    assert ak.all(abs(ak.flatten(found["sums"] - ak.Array(expected))) < 1e-4)
    assert found["likely"].to_list() == likely_ones


@pytest.mark.slow
def test_references_of_delphes_lead_to_the_objects_with_their_number(
    real_data: Path, tmp_path: Path
) -> None:
    path = real(real_data, "delphes.root")
    job = forkrun.Job(path, tree="Delphes", source=IDS)

    @job.define
    def trackpid(block: forkrun.EventBlock) -> Any:
        return ak.fill_none(block.Track.particle.PID, 0)

    @job.define
    def counted(block: forkrun.EventBlock) -> Any:
        return ak.num(block.Jet.constituents, axis=2)

    @job.define
    def within(block: forkrun.EventBlock) -> Any:
        return ak.sum(block.Jet.particles.PT, axis=-1)

    names = ["trackpid", "counted", "within"]
    job.output("new", keep=names)
    result = job.run(1, output=tmp_path / "run", **QUIET)
    with uproot.open(path) as file, uproot.open(result.output("new")) as new:
        tree, found = file["Delphes"], new["Delphes"].arrays(names)
        uid, pid, pt = (tree[f"Particle.{n}"].array().to_list() for n in ("fUniqueID", "PID", "PT"))
        refs = tree["Track.Particle"].array().to_list()
        of_jet, in_jet = (
            [[each["refs"] for each in event] for event in tree[f"Jet.{name}"].array().to_list()]
            for name in ("Constituents", "Particles")
        )
    for e, numbers in enumerate(uid):
        at = {number & 0xFFFFFF: k for k, number in enumerate(numbers)}
        assert found["trackpid"][e].to_list() == [pid[e][at[r["ref"] & 0xFFFFFF]] for r in refs[e]]
        assert found["counted"][e].to_list() == [len(jet) for jet in of_jet[e]]
        expected = [sum(pt[e][at[ref & 0xFFFFFF]] for ref in jet) for jet in in_jet[e]]
        assert abs(found["within"][e] - ak.Array(expected)).to_numpy().max(initial=0) < 1e-2
