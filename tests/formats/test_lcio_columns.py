"""Columns of files of LCIO, of every type and version."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun import _core
from forkrun.errors import InputError
from forkrun.formats import format_of
from tests.support.lcio_files import (
    NOBODY,
    NULL,
    Collection,
    Version,
    d,
    event,
    f,
    i,
    particle,
    record,
    shorts,
    text,
    write,
    write_events,
)


def read(path: Path, names: list[str] | None = None) -> dict[str, Any]:
    file = _core.OpenLcio(str(path))
    return file.read(names or [name for name, _ in file.index()["branches"]])


def values_of(column: Any) -> Any:
    """The innermost values as a list; texts as such."""
    values = column[-1] if isinstance(column, tuple) else column
    if values.dtype.kind == "S":
        ends = column[-2].tolist()
        return [values[a:b].tobytes().decode() for a, b in pairwise(ends)]
    return values.tolist()


def of_collection(
    tmp_path: Path, collection: Collection, version: Version, **more: Any
) -> dict[str, Any]:
    file = write(tmp_path / "one.slcio", [event(1, 2, [collection], version=version, **more)])
    read_columns = read(file)
    names = [name for name in read_columns if name.startswith(f"{collection.name}.")]
    return {name.partition(".")[2]: values_of(read_columns[name]) for name in names}


def test_events_have_ids_a_weight_and_parameters_and_objects_their_members(
    tmp_path: Path,
) -> None:
    file = write_events(tmp_path / "a.slcio", {1: range(5), 7: range(5, 7)})
    assert format_of(str(file)).name == "lcio"
    read_columns = read(file)
    assert read_columns["run"].tolist() == [1] * 5 + [7] * 2
    assert read_columns["event"].tolist() == list(range(7))
    assert read_columns["luminosityBlock"].tolist() == [1] * 7
    assert read_columns["weight"].tolist() == [1, 1, 2, 3, 4, 5, 6]  # 0 is no weight
    assert read_columns["timeStamp"].tolist() == list(range(1000, 1007))
    assert values_of(read_columns["detector"]) == ["Detector"] * 7
    assert values_of(read_columns["parameters.Names"])[2:4] == ["a", "1"]
    assert values_of(read_columns["Hits.parameters.CellIDEncoding"]) == ["M:3,S:5"] * 7
    offsets, pdg = read_columns["MCParticle.pdg"]
    assert (offsets.tolist(), pdg.tolist()) == (
        [0, 0, 1, 3, 3, 4, 6, 6], [11, 11, 12, 11, 11, 12],
    )  # fmt: skip
    assert values_of(read_columns["MCParticle.momentum.x"]) == [1, 2, 2, 4, 5, 5]
    assert read_columns["MCParticle.colorFlow"][1].shape == (6, 2)
    assert values_of(read_columns["Hits.particle"]) == [
        -1, -1, 0, -1, 0, -1, -1, -1, 0, -1, 0, -1, -1, -1,
    ]  # fmt: skip
    first, last = _core.OpenLcio(str(file)).read(["event", "Hits.time"], 3, 5).values()
    assert (first.tolist(), last[1].tolist()) == ([3, 4], [3, 3, 4, 4])


def test_daughters_are_those_that_name_the_particle_as_parent(tmp_path: Path) -> None:
    one = [particle(1, [], 23), particle(2, [1], 13), particle(NOBODY, [1, 3], -13)]
    other = [particle(3, [2], 22)]
    collections = [Collection("A", "MCParticle", one), Collection("B", "MCParticle", other)]
    file = write(tmp_path / "a.slcio", [event(1, 1, collections)])
    found = read(file)
    ids = {name: _core_id(name) for name in "AB"}
    outer, ends, daughters = found["A.daughters"]
    assert (outer.tolist(), ends.tolist(), daughters.tolist()) == ([0, 3], [0, 2, 3, 3], [1, 2, 0])
    assert values_of(found["A.daughters_collectionID"]) == [ids["A"], ids["A"], ids["B"]]
    assert values_of(found["B.daughters"]) == [2]
    assert values_of(found["A.parents"]) == [0, 0, 0]
    assert values_of(found["A.parents_collectionID"]) == [ids["A"], ids["A"], ids["B"]]


def _core_id(name: str) -> int:
    from forkrun.modules.objects.relations import id_of

    return id_of(name)


def test_a_subset_and_a_relation_lead_to_objects_of_other_collections(tmp_path: Path) -> None:
    collections = [
        Collection("MC", "MCParticle", [particle(2, [], 11), particle(1, [], 13)]),
        Collection("Good", "MCParticle", [i(1), i(2), i(NULL)], is_subset=True),
        Collection("Link", "LCRelation", [i(1, 2) + f(0.5)], flag=1 << 31),
        Collection("Plain", "LCRelation", [i(2, 9)]),
    ]
    found = read(write(tmp_path / "a.slcio", [event(1, 1, collections)]))
    assert values_of(found["Good.index"]) == [1, 0, -1]
    assert values_of(found["Good.collectionID"]) == [_core_id("MC")] * 2 + [0]
    assert values_of(found["Link.from"]) == [1]
    assert values_of(found["Link.to"]) == [0]
    assert values_of(found["Link.weight"]) == [0.5]
    assert values_of(found["Plain.weight"]) == [1]
    assert values_of(found["Plain.to"]) == [-1]


LONG, STEP, ID1 = 1 << 31, 1 << 28, 1 << 29
CASES: list[tuple[str, int, Version, bytes, Mapping[str, Any]]] = [
    (
        "MCParticle", 0, (1, 2), particle(1, [], 5, (1, 2, 3), (1, 2)),
        {"pdg": [5], "time": [0], "mass": [0.25], "momentum.z": [3], "spin.z": [0]},
    ),
    (
        "MCParticle", 0, (2, 6), particle(1, [], 5, (1, 2, 3), (2, 6), (4, 5, 6)),
        {"endpoint.y": [5], "momentumAtEndpoint.x": [0], "colorFlow": [[501, 502]]},
    ),
    (
        "SimCalorimeterHit", LONG | STEP, (2, 11),
        i(1) + f(2, 3, 4, 5) + i(2, 0) + f(1, 2, 3) + i(11) + f(6, 7, 8)
        + i(0) + f(1.5, 2, 3) + i(13) + f(6, 7, 9) + i(NOBODY),
        {"cellID1": [0], "position.z": [5], "contributions.energy": [1, 1.5],
         "contributions.length": [3, 3], "contributions.stepPosition.z": [8, 9]},
    ),
    (
        "SimCalorimeterHit", STEP, (1, 51), i(1) + f(2) + i(1, 0) + f(1, 2) + i(11, NOBODY),
        {"contributions.pdg": [11], "contributions.stepPosition.x": [0], "position.x": [0]},
    ),
    (
        "SimCalorimeterHit", 0, (0, 8), i(1, 4) + f(2) + i(1, 0) + f(1, 2),
        {"cellID1": [4], "contributions.time": [2], "contributions.pdg": [0]},
    ),
    (
        "SimTrackerHit", 1 << 30, (1, 6), i(1) + d(1, 2, 3) + f(4, 5) + i(0) + f(6, 7, 8) + i(1),
        {"position.z": [3], "eDep": [4], "momentum.z": [8], "pathLength": [0]},
    ),
    (
        "SimTrackerHit", 1 << 30 | ID1, (2, 8),
        i(1, 2) + d(1, 2, 3) + f(4, 5) + i(0) + f(6, 7, 8, 9) + i(10, 1),
        {"cellID1": [2], "pathLength": [9], "quality": [10]},
    ),
    ("RawCalorimeterHit", ID1 | 1 << 27 | 1 << 28, (2, 0), i(1, 2, 3, 4), {"timeStamp": [4]}),
    ("RawCalorimeterHit", 1 << 28, (1, 2), i(1, 3, 7), {"amplitude": [3]}),
    (
        "CalorimeterHit", LONG | 1 << 27 | 1 << 26, (1, 10),
        i(1) + f(2, 3, 4, 5, 6, 7) + i(8, 0, NOBODY),
        {"energyError": [3], "time": [4], "position.x": [5], "type": [8], "rawHit": [-1]},
    ),
    ("CalorimeterHit", 1 << 27, (1, 2), i(1) + f(2), {"energy": [2], "time": [0]}),
    (
        "TrackerHit", 1 << 31, (1, 52),
        i(1, 2, 3) + d(4, 5, 6) + f(*range(6), 7, 8, 9) + i(10, 0, NOBODY),
        {"cellID1": [2], "covariance": [[0, 1, 2, 3, 4, 5]], "eDepError": [8], "quality": [10]},
    ),
    (
        "TrackerHit", 0, (1, 2), d(4, 5, 6) + f(*range(6), 7, 9) + i(NULL, NOBODY),
        {"type": [0], "eDep": [7], "eDepError": [0], "time": [9], "rawHits": [-1]},
    ),
    (
        "TrackerHitPlane", 0, (2, 0),
        i(1, 3) + d(4, 5, 6) + f(1, 2, 3, 4, 5, 6, 7, 8, 9) + i(10, 1, NULL, NOBODY),
        {"u": [[1, 2]], "v": [[3, 4]], "dv": [6], "time": [9], "quality": [10]},
    ),
    (
        "TrackerHitZCylinder", 0, (2, 0),
        i(1, 3) + d(4, 5, 6) + f(1, 2, 3, 4, 7, 8, 9) + i(10, 0, NOBODY),
        {"center": [[1, 2]], "drPhi": [3], "dz": [4], "eDep": [7]},
    ),
    ("TPCHit", 1 << 31, (2, 0), i(1) + f(2, 3) + i(4, 2, 5, 6, NOBODY), {"rawData": [5, 6]}),
    ("TPCHit", 0, (1, 1), i(1) + f(2, 3) + i(4), {"rawData": [], "quality": [4]}),
    (
        "TrackerRawData", 1 << 31, (2, 0), i(1, 2, 3) + shorts(-1, 2, 3) + i(NOBODY),
        {"cellID1": [2], "time": [3], "adcs": [-1, 2, 3]},
    ),
    ("TrackerData", 0, (2, 0), i(1) + f(2) + i(2) + f(3, 4) + i(NOBODY), {"charges": [3, 4]}),
    (
        "TrackerPulse", 1 << 30, (1, 13), i(1) + f(2, 3, 4, 5, 6) + i(7, NULL, NOBODY),
        {"covariance": [[4, 5, 6]], "quality": [7], "trackerData": [-1]},
    ),
    ("TrackerPulse", 1 << 30, (1, 12), i(1) + f(2, 3) + i(7, 0, NOBODY), {"covariance": [[0] * 3]}),
    (
        "Track", 1 << 31, (2, 22),
        i(1, 1, 4) + f(*range(5), *range(15), 7, 8, 9) + f(1.5) + i(2) + f(3, 4) + i(6) + f(5)
        + i(2, 10, 11, 1, 12, 0, 1, NULL, NOBODY),
        {"states.location": [4], "states.tanLambda": [4], "states.covariance": [*range(15)],
         "states.referencePoint.z": [9], "nHoles": [6], "subdetectorHitNumbers": [10, 11],
         "subdetectorHoleNumbers": [12], "tracks": [], "hits": [-1]},
    ),
    (
        "Track", 0, (1, 8),
        i(1) + f(*range(5), *range(15), 7, 8, 9) + f(1.5) + i(2) + f(3, 4, 5) + i(0, 0, NOBODY),
        {"states.d0": [0], "states.location": [0], "ndf": [2], "nHoles": [0], "hits": []},
    ),
    (
        "Cluster", 1 << 31, (2, 0),
        i(1) + f(2, 3, 4, 5, 6, *range(6), 7, 8, 9, 10, 11) + i(2) + f(1, 2)
        + i(1) + f(0.5) + i(1, 22, 3, 2) + f(4, 5) + i(0, 1, NULL) + f(0.25) + i(1) + f(6, )
        + i(NOBODY),
        {"energyError": [3], "directionError": [[9, 10, 11]], "shape": [1, 2],
         "particleIDs.pdg": [22], "particleIDs.nParameters": [2], "particleIDs.parameters": [4, 5],
         "hits": [-1], "hits.weight": [0.25], "subdetectorEnergies": [6]},
    ),
    (
        "Cluster", 0, (1, 2),
        i(1) + f(2, 4, 5, 6, *range(6), 7, 8, 9, 10, 11, *range(6), 1, 1, 1) + i(0, 1) + f(6)
        + i(NOBODY),
        {"energyError": [0], "shape": [0, 1, 2, 3, 4, 5], "particleIDs.pdg": [],
         "subdetectorEnergies": [6]},
    ),
    (
        "ReconstructedParticle", 0, (2, 0),
        i(1) + f(1, 2, 3, 4, *range(10), 5, 6, 7, 8, 9)
        + i(2) + f(0.5) + i(1, 211, 3, 0, 1) + f(0.25) + i(1, 13, 4, 1) + f(9) + i(2)
        + i(2) + f(0.75) + i(0, 0, 0, NULL, NOBODY),
        {"momentum.z": [3], "energy": [4], "covariance": [[*range(10)]], "mass": [5],
         "particleIDs.likelihood": [0.5, 0.25], "particleIDs.nParameters": [0, 1],
         "particleIDs.parameters": [9], "particleIDUsed": [1], "goodnessOfPID": [0.75],
         "startVertex": [-1]},
    ),
    (
        "ReconstructedParticle", 0, (1, 7),
        i(1) + f(1, 2, 3, 4, *range(10), 5, 6, 7, 8, 9) + i(0, NULL) + f(0.75) + i(0, 0, 0, NOBODY),
        {"particleIDUsed": [-1], "startVertex": [-1], "referencePoint.z": [9]},
    ),
    (
        "Vertex", 0, (2, 0),
        b"\1\0\0\0" + i(3) + f(1, 2, 4, 5, 6, *range(6)) + i(1) + f(7) + i(NULL, NOBODY),
        {"primary": [1], "algorithmType": [3], "probability": [2], "position.z": [6],
         "parameters": [7], "associatedParticle": [-1]},
    ),
    (
        "LCGenericObject", 0, (2, 0), i(2, 1, 1, 4, 5) + f(6) + d(7) + i(NOBODY),
        {"ints": [4, 5], "floats": [6], "doubles": [7]},
    ),
    ("LCIntVec", 0, (1, 2), i(2, 4, 5), {"values": [4, 5]}),
    ("LCFloatVec", 0, (1, 3), i(1) + f(4) + i(NOBODY), {"values": [4]}),
    (
        "LCStrVec", 0, (2, 0), i(2) + text("abc") + text("") + i(NOBODY),
        {"values": ["abc", ""]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "flag", "version", "data", "expected"),
    CASES,
    ids=[f"{kind} {version[0]}.{version[1]} {flag:x}" for kind, flag, version, *_ in CASES],
)
def test_objects_of_each_type_are_read_as_their_version_and_flags_say(
    tmp_path: Path,
    kind: str,
    flag: int,
    version: Version,
    data: bytes,
    expected: Mapping[str, Any],
) -> None:
    once = of_collection(tmp_path, Collection("C", kind, [data], flag), version)
    assert {name: once[name] for name in expected} == expected
    pair = Collection("C", kind, [data, data], flag)
    twice = of_collection(tmp_path, pair, version, is_compressed=False)
    assert {name: twice[name] for name in expected} == {n: v * 2 for n, v in expected.items()}


def test_generic_objects_of_one_size_have_their_counts_before_them(tmp_path: Path) -> None:
    objects = [i(4, 5) + d(7) + i(NOBODY)] * 2
    fixed = Collection("C", "LCGenericObject", objects, flag=1 << 31, head=i(2, 0, 1))
    found = of_collection(tmp_path, fixed, (2, 23))
    assert (found["ints"], found["floats"], found["doubles"]) == ([4, 5, 4, 5], [], [7, 7])


def test_collections_may_be_absent_from_events_and_records_of_other_kinds_are_passed_over(
    tmp_path: Path,
) -> None:
    some = Collection("C", "LCIntVec", [i(1, 8, NOBODY)])
    records = [
        event(1, 1), record("Other", i(1, 2)), event(1, 2, [some]),
        event(1, 3, [Collection("New", "SomethingElse", [i(1)])]),
    ]  # fmt: skip
    found = read(write(tmp_path / "a.slcio", records))
    outer, ends, values = found["C.values"]
    assert (outer.tolist(), ends.tolist(), values.tolist()) == ([0, 0, 1, 1], [0, 1], [8])
    assert not any(name.startswith("New.") for name in found)


def damaged(of: bytes, place: int, value: bytes) -> bytes:
    return of[:place] + value + of[place + len(value) :]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda e: e[:-4], "truncated"),
        (lambda e: e[:20], "the file ends within the head of a record"),
        (lambda e: damaged(e, 4, i(7)), "no record of LCIO begins here"),
        (lambda e: damaged(e, 20, i(99)), "the head of the record is damaged"),
        (lambda e: damaged(e, 16, i(1 << 30)), "cannot become"),
        (lambda e: damaged(e, e.index(b"LCEv", 30) + 24, b"xxxx"), "damaged"),
        (lambda e: event(-1, 2), "numbers below 0"),
        (lambda e: event(1, 2, version=(0, 7)), "before version 0.8"),
        (lambda e: e + event(1, 3, [Collection("C", "LCIntVec", [i(9, 1)])]), 'collection "C"'),
        (lambda e: e + event(1, 3, [Collection("C", "LCIntVec", [i(-1)])]), "event 3 of run 1"),
        (lambda e: e + event(1, 3, [Collection("C", "LCFloatVec", [])]), "of type LCFloatVec"),
        (lambda e: e + record("LCEvent", b""), "no LCEventHeader before it"),
    ],
)
def test_damage_is_an_error_that_says_where(tmp_path: Path, make: Any, said: str) -> None:
    good = event(1, 2, [Collection("C", "LCIntVec", [i(1, 8, NOBODY)])])
    file = write(tmp_path / "bad.slcio", [make(good)])
    with pytest.raises(InputError, match=r"bad\.slcio") as caught:
        read(file)
    assert said in str(caught.value)


def test_lumis_are_made_of_event_numbers(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.slcio", {1: range(5)})
    index = _core.OpenLcio(str(file)).index(2)
    assert index["lumi"].tolist() == [1, 1, 2, 2, 3]
    assert _core.OpenLcio(str(file)).read(["event/2"])["event/2"].tolist() == [1, 1, 2, 2, 3]
    assert np.array_equal(index["run"], np.ones(5))
