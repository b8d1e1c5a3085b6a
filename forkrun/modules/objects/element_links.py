"""ElementLinks of ATLAS: an index, and a key that identifies the container of the object. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from forkrun.modules.objects.relations import Relation

_CLASS_IDS = {
    "CaloCluster": 1219821989, "CaloRings": 1146041125, "DiTauJet": 1281324766,
    "Electron": 1087532415, "FlowElement": 1158384067, "IParticle": 1241842700,
    "Jet": 1244316195, "Muon": 1178459224, "MuonSegment": 1129401482,
    "NeutralParticle": 1293931985, "Particle": 1141859363, "PFO": 1177172577,
    "Photon": 1105575213, "TauJet": 1177172564, "TauTrack": 1306133771,
    "TrackParticle": 1287425431, "TrigComposite": 1333228823, "TruthParticle": 1237340765,
    "TruthVertex": 1239726567, "Vertex": 1092961325, "BTagging": 1264356158,
    "BTagVertex": 1158124735,
}  # fmt: skip
"""Class ids of containers such as `xAOD::JetContainer`: keys are made of a class id and a name."""
_KEY_BITS = (1 << 30) - 1
_POLYNOMIAL = 0x95AC9329AC4BC9B5
_KEY, _INDEX = ".m_persKey", ".m_persIndex"
_OWN_NAMES = {"childLinks": "children"}


def element_links(
    name: str,
    columns: Mapping[str, str],
    types: Mapping[str, str],
    containers: Mapping[str, str],
) -> Iterator[tuple[str, Relation]]:
    """Relations for links: `btaggingLink` leads to the `btagging` of a jet, `trackParticleLinks` to
    `trackParticles`, `GhostTrack` to `ghostTrack`. `columns`: of the collection `name`, by field;
    `types`: of all columns; `containers`: one column of each collection."""
    links = [field.removesuffix(_KEY) for field in columns if field.endswith(_KEY)]
    keys = keys_of(tuple(containers.values())) if links else {}
    for link in links:
        if index := columns.get(link + _INDEX):
            to, ids = _name_of(link), columns[link + _KEY]
            targets = sorted(containers, key=lambda each: _likeness(name, to, each), reverse=True)
            places = [targets.index(each) for each in containers]
            own = {key: places[number] for key, number in keys.items()}
            yield to, Relation(index, targets, ids=ids, keys=own, is_list="[][]" in types[index])


def _name_of(link: str) -> str:
    name = _OWN_NAMES.get(link) or re.sub(r"Link(s?)$", r"\1", link)
    return name[0].lower() + name[1:]


def _likeness(name: str, to: str, target: str) -> float:
    """Similarity of a collection to the one expected for a link with this name; decides where no
    object has a link."""
    if to in ("parents", "children"):
        return float(target == name)
    words = [word.lower() for word in re.findall("[A-Z]?[a-z]+", to.removesuffix("s"))]
    like = [word in target.lower() for word in words]
    return sum(like) + 0.5 * sum(like[:1]) - (target == name)


@lru_cache(maxsize=16)
def keys_of(columns: tuple[str, ...]) -> Mapping[int, int]:
    """Numbers of the containers by their possible keys. `columns`: one of each container,
    `AnalysisJetsAuxDyn.pt`, or `AnalysisJetsAuxDyn:pt` in RNTuples."""
    names = [re.sub(r"Aux(Dyn)?$", "", re.split("[.:]", column)[0]) for column in columns]
    return {
        key: number
        for number, name in enumerate(names)
        for key in (key_of(name, class_id) for class_id in _CLASS_IDS.values())
    }


def key_of(container: str, class_id: int) -> int:
    """The `m_persKey` of links into a container: the lowest 30 bits of a 64-bit CRC of its name and
    class id."""
    crc = _extended(0xFFFFFFFFFFFFFFFF, container.encode())
    return _extended(crc, class_id.to_bytes(4, "little").rstrip(b"\0")) & _KEY_BITS


def _extended(crc: int, data: bytes) -> int:
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def _entry(number: int) -> int:
    for _ in range(8):
        number = number >> 1 ^ (_POLYNOMIAL if number & 1 else 0)
    return number


_TABLE = [_entry(number) for number in range(256)]
