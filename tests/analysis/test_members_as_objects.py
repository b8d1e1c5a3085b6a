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
    def of_one(block: forkrun.EventBlock) -> Any:
        return block.rec.header.weight + block.rec.where.x

    job.output("new", keep=["chosen", "far", "told", "of_one"])
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
        assert ak.array_equal(made["of_one"].array(), parts[0] + parts[1])


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


def test_relations_of_edm4hep_lead_to_the_objects_that_they_name(
    real_data: Path, tmp_path: Path
) -> None:
    path = real_data / "objects/p8_ee_WW_ecm240_edm4hep.root"
    if not path.exists():
        pytest.skip(f"no such file: {path}")
    source = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    job = forkrun.Job(path, tree="events", source=source)

    @job.define
    def of_parents(block: forkrun.EventBlock) -> Any:
        return ak.sum(block.Particle.parents.PDG, axis=-1)

    @job.define
    def pt(block: forkrun.EventBlock) -> Any:
        return block.ReconstructedParticles.pt

    job.output("new", keep=["of_parents", "pt"])
    result = job.run(1, output=tmp_path / "run", **QUIET)
    with uproot.open(path) as file:
        events = file["events"]
        names = {n: f"Particle.{n}" for n in ("PDG", "parents_begin", "parents_end")}
        pdg, begin, end = (events[name].array().to_list() for name in names.values())
        index = events["_Particle_parents.index"].array().to_list()
        x, y = (events[f"ReconstructedParticles.momentum.{axis}"].array() for axis in "xy")
    expected = [
        [sum(pdg[e][k] for k in index[e][b:n]) for b, n in zip(begin[e], end[e], strict=True)]
        for e in range(len(pdg))
    ]
    with uproot.open(result.output("new")) as file:
        assert file["events"]["of_parents"].array().to_list() == expected
        found = file["events"]["pt"].array()
    assert ak.all(abs(ak.flatten(found - (x**2 + y**2) ** 0.5)) < 1e-4)
