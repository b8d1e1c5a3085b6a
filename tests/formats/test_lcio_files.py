"""Every value of real files of LCIO is what LCIO itself reads of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun import _core

Columns = dict[str, Any]
Value = Callable[[str], Any]
"""Values of a member of a collection in an event."""

_COUNTS = {
    "ncontrib": "contributions.energy", "nparents": "parents", "ndaughters": "daughters",
    "nshape": "shape", "npid": "particleIDs.pdg", "nhits": "hits", "nint": "ints",
    "nfloat": "floats", "ndouble": "doubles", "ncharge": "charges", "nadc": "adcs",
    "nstates": "states.d0", "nparam": "parameters",
}  # fmt: skip
_POINTERS = {
    "contrib_particle": "contributions.particle", "parent": "parents", "daughter": "daughters",
    "rawhit": "rawHit", "cluster": "clusters", "hit": "hits", "from": "from", "to": "to",
    "pidused": "particleIDUsed", "track": "tracks", "startvertex": "startVertex",
    "data": "trackerData", "raw": "rawHits",
}  # fmt: skip
_NAMES = {
    "cellid": "cellID", "cellid0": "cellID0", "cellid1": "cellID1", "edep": "eDep",
    "contrib_pdg": "contributions.pdg", "contrib_energy": "contributions.energy",
    "contrib_time": "contributions.time", "contrib_length": "contributions.length",
    "contrib_stepx": "contributions.stepPosition.x", "genstatus": "generatorStatus",
    "simstatus": "simulatorStatus", "x": "position.x", "y": "position.y", "z": "position.z",
    "px": "momentum.x", "py": "momentum.y", "pz": "momentum.z", "vx": "vertex.x",
    "vy": "vertex.y", "vz": "vertex.z", "endx": "endpoint.x", "endy": "endpoint.y",
    "endz": "endpoint.z", "endpx": "momentumAtEndpoint.x", "spinz": "spin.z",
    "pathlength": "pathLength", "energyerror": "energyError", "pid_pdg": "particleIDs.pdg",
    "poserr": "positionError", "itheta": "iTheta", "iphi": "iPhi", "direrr": "directionError",
    "weights": "hits.weight", "cov": "covariance", "refz": "referencePoint.z",
    "goodness": "goodnessOfPID", "raw": "rawData", "adc": "adcs", "edeperror": "eDepError",
    "nholes": "nHoles", "location": "states.location", "subdetholes": "subdetectorHoleNumbers",
    "dedx": "dEdx", "dedxerror": "dEdxError", "rinner": "radiusOfInnermostHit", "d0": "states.d0",
    "phi": "states.phi", "omega": "states.omega", "z0": "states.z0",
    "tanlambda": "states.tanLambda", "param": "parameters", "timestamp": "timeStamp",
    "drphi": "drPhi", "sum": "values", "bytesum": "values",
}  # fmt: skip
_OF_TYPE = {
    ("Track", "cov"): "states.covariance", ("Track", "subdet"): "subdetectorHitNumbers",
    ("Cluster", "subdet"): "subdetectorEnergies", ("TrackerData", "charge"): "charges",
}  # fmt: skip
_PARTS = {
    "u0": ("u", 0), "u1": ("u", 1), "v0": ("v", 0), "v1": ("v", 1), "cx": ("center", 0),
    "cy": ("center", 1), "color0": ("colorFlow", 0), "color1": ("colorFlow", 1),
}  # fmt: skip


def expected_of(kind: str, key: str, value: Value, parameters: Any) -> float:
    """The sum that LCIO's readers print under this key, of our columns."""
    if key in _PARTS:
        name, part = _PARTS[key]
        return float(value(name).astype(np.float64)[:, part].sum())
    if key.endswith("_index1"):
        name = _POINTERS.get(key.removesuffix("_index1"), key.removesuffix("_index1"))
        name = {"ReconstructedParticle": "particles", "Vertex": "associatedParticle"}.get(
            kind, name
        ) if key == "particle_index1" else name  # fmt: skip
        return float((value(name).astype(np.int64) + 1).sum())
    if key in _COUNTS:
        return len(value(_COUNTS[key]))
    if key == "nraw":
        return len(value("rawData" if kind == "TPCHit" else "rawHits"))
    if key == "n" and kind.endswith("Vec"):
        return float("nan") if kind == "LCStrVec" else len(value("values"))
    if key == "energy" and kind == "MCParticle":
        squares = [value(n).astype(np.float64) ** 2 for n in (*_axes("momentum"), "mass")]
        return float(np.sqrt(sum(squares)).sum())
    if key == "pid":
        return _sum(value("particleIDs.likelihood")) + _sum(value("particleIDs.parameters"))
    if key == "ref":
        return sum(_sum(value(name)) for name in _axes("states.referencePoint"))
    if key == "algotype_strlen":
        texts = parameters["string"]["_lcio.VertexAlgorithmTypes"]
        return sum(len(texts[number]) for number in value("algorithmType"))
    return _sum(value(_OF_TYPE.get((kind, key), _NAMES.get(key, key))))


def _axes(vector: str) -> list[str]:
    return [f"{vector}.{axis}" for axis in "xyz"]


def _sum(values: Any) -> float:
    return float(values.view(np.uint8 if values.dtype.kind == "S" else values.dtype).sum(
        dtype=np.float64
    ))  # fmt: skip


def in_event(column: Any, event: int) -> Any:
    """The values of an event."""
    if not isinstance(column, tuple):
        return column[event]
    first, last = column[0][event : event + 2]
    for offsets in column[1:-1]:
        first, last = offsets[first], offsets[last]
    return column[-1][first:last]


def texts_of(column: Any, event: int) -> list[str]:
    outer, ends, characters = column
    borders = ends[outer[event] : outer[event + 1] + 1].tolist()
    return [characters[a:b].tobytes().decode() for a, b in pairwise(borders)]


def compared(columns: Columns, number: int, event: Any) -> Iterator[tuple[str, Any, Any]]:
    """What is compared of an event: name, our value, LCIO's."""
    for name in ("run", "event", "weight"):
        yield name, columns[name][number], event[name]
    yield "timeStamp", columns["timeStamp"][number], event["timestamp"]
    detector = in_event(columns["detector"], number).tobytes().decode()
    yield "detector", detector, event["detector"]
    yield from compared_parameters(columns, number, "", event["params"])
    for collection in event["collections"]:
        prefix, kind = f"{collection['name']}.", collection["type"]

        def value(member: str, prefix: str = prefix) -> Any:
            return in_event(columns[prefix + member], number)

        yield from compared_parameters(columns, number, prefix, collection["params"])
        if collection["subset"]:
            index = value("index").astype(np.int64)
            yield f"{prefix}n", len(index), collection["n"]
            yield f"{prefix}index", (index + 1).sum(), collection.get("index1_sum", 0)
            continue
        for key, wanted in collection["sum"].items():
            found = expected_of(kind, key, value, collection["params"])
            if found == found:  # texts of all objects are one list
                yield f"{prefix}{key}", found, wanted


def compared_parameters(
    columns: Columns, number: int, prefix: str, parameters: Any
) -> Iterator[tuple[str, Any, Any]]:
    for kind, values in parameters.items():
        for name, wanted in values.items():
            full = f"{prefix}parameters.{name}"
            if kind == "string":
                yield full, texts_of(columns[full], number), wanted
            else:
                yield full, in_event(columns[full], number).tolist(), wanted


@pytest.mark.parametrize("name", ["lcio_simjob", "small_all"])
def test_every_value_is_what_lcio_reads(real_data: Path, name: str) -> None:
    folder = real_data / "lcio"
    if not folder.is_dir():
        pytest.skip(f"no files of LCIO in {real_data}")
    with gzip.open(folder / f"{name}.json.gz") as file:
        of_lcio = json.load(file)
    opened = _core.OpenLcio(str(folder / f"{name}.slcio"))
    index = opened.index()
    columns = opened.read([column for column, _ in index["branches"]])
    assert [run for run, *_ in index["runs"]] == [run["run"] for run in of_lcio["runs"]]
    assert len(index["event"]) == of_lcio["n_events"]
    n_compared = 0
    for number, event in enumerate(of_lcio["events"]):
        for what, found, wanted in compared(columns, number, event):
            is_text = np.asarray(wanted).dtype.kind == "U"
            near = wanted if is_text else pytest.approx(wanted, rel=1e-9, abs=1e-9)
            assert found == near, (number, what)
            n_compared += 1
    assert n_compared > 5_000
