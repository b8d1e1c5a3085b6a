"""Files of LCIO, made record by record: of any version, with and without compression."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

NEWEST = (2, 23)
NULL, NOBODY = 0, 0xFFFFFFFF
"""A pointer to nothing, and the number of an object at which nobody points."""
Version = tuple[int, int]


def i(*values: int) -> bytes:
    """Integers of 4 bytes."""
    return struct.pack(f">{len(values)}I", *(value & 0xFFFFFFFF for value in values))


def f(*values: float) -> bytes:
    """Reals of 4 bytes."""
    return struct.pack(f">{len(values)}f", *values)


def d(*values: float) -> bytes:
    """Reals of 8 bytes."""
    return struct.pack(f">{len(values)}d", *values)


def padded(data: bytes) -> bytes:
    """To a multiple of 4."""
    return data + bytes(-len(data) % 4)


def shorts(*values: int) -> bytes:
    """A vector of integers of 2 bytes."""
    return i(len(values)) + padded(struct.pack(f">{len(values)}h", *values))


def text(value: str) -> bytes:
    """A text behind its length."""
    return i(len(value)) + padded(value.encode())


def parameters(values: Mapping[str, Sequence[Any]], version: Version = NEWEST) -> bytes:
    """Those of an event, a run or a collection. Floats are doubles where their name ends with D."""
    if version < (1, 2):
        return b""
    kinds: list[tuple[str, Any]] = [("int", i), ("float", f), ("double", d)]
    kinds = [kind for kind in kinds if kind[0] != "double" or version >= (2, 17)]
    parts = b""
    for kind, pack in kinds:
        own = {name: v for name, v in values.items() if _kind(name, v) == kind}
        parts += i(len(own))
        parts += b"".join(text(name) + i(len(v)) + pack(*v) for name, v in sorted(own.items()))
    own = {name: v for name, v in values.items() if _kind(name, v) == "text"}
    parts += i(len(own))
    for name, v in sorted(own.items()):
        parts += text(name) + i(len(v)) + b"".join(map(text, v))
    return parts


def _kind(name: str, values: Sequence[Any]) -> str:
    if values and isinstance(values[0], str):
        return "text"
    if values and isinstance(values[0], float):
        return "double" if name.endswith("D") else "float"
    return "int"


def block(name: str, content: bytes, version: Version = NEWEST) -> bytes:
    """A part of a record's data."""
    head = i(0xDEADBEEF, version[0] << 16 | version[1], len(name)) + padded(name.encode())
    return i(4 + len(head) + len(content)) + head + content


def record(name: str, data: bytes, is_compressed: bool = True) -> bytes:
    """A record with its head."""
    stored = zlib.compress(data) if is_compressed else data
    own = padded(name.encode())
    head = i(24 + len(own), 0xABADCAFE, is_compressed, len(stored), len(data), len(name))
    return head + own + padded(stored)


class Collection:
    """A collection of an event. `objects`: bytes of each; `is_subset`: these are pointers;
    `head`: between parameters and objects."""

    def __init__(
        self,
        name: str,
        kind: str,
        objects: Sequence[bytes],
        flag: int = 0,
        values: Mapping[str, Sequence[Any]] | None = None,
        is_subset: bool = False,
        head: bytes = b"",
    ) -> None:
        self.name, self.kind, self.objects, self.head = name, kind, objects, head
        self.flag = flag | (1 << 18 if is_subset else 0)
        self.values, self.is_subset = values or {}, is_subset

    def block(self, version: Version) -> bytes:
        """As a part of an event's record."""
        content = i(self.flag) + parameters(self.values, version) + self.head
        return block(self.name, content + i(len(self.objects)) + b"".join(self.objects), version)


def event(
    run: int,
    number: int,
    collections: Sequence[Collection] = (),
    values: Mapping[str, Sequence[Any]] | None = None,
    version: Version = NEWEST,
    is_compressed: bool = True,
) -> bytes:
    """The two records of an event."""
    head = i(run, number) + struct.pack(">q", 1_000 + number) + text("Detector")
    head += i(len(collections))
    for each in collections:
        head += text(each.name) + text(each.kind + ("_References" if each.is_subset else ""))
    head += parameters(values or {}, version)
    data = b"".join(each.block(version) for each in collections)
    header = block("EventHeader", head, version)
    return record("LCEventHeader", header, is_compressed) + record("LCEvent", data, is_compressed)


def run_header(
    run: int, version: Version = NEWEST, is_compressed: bool = True, generator: str = "none"
) -> bytes:
    """The record of a run."""
    content = i(run) + text("Detector") + text("made by a test") + i(1) + text("ECAL")
    content += parameters({"Generator": [generator]}, version)
    return record("LCRunHeader", block("RunHeader", content, version), is_compressed)


def particle(
    tag: int,
    parents: Sequence[int],
    pdg: int,
    momentum: Sequence[float] = (0, 0, 0),
    version: Version = NEWEST,
    endpoint: Sequence[float] | None = None,
) -> bytes:
    """An MCParticle."""
    status = 1 << 31 if endpoint else 0
    data = i(tag, len(parents), *parents, pdg, 1, status) + d(1, 2, 3)
    data += f(0.5) if version >= (1, 3) else b""
    data += f(*momentum, 0.25, -1)
    if endpoint:
        data += d(*endpoint) + (f(7, 8, 9) if version >= (2, 7) else b"")
    return data + (f(0, 0, 1) + i(501, 502) if version >= (1, 52) else b"")


def write(path: Path, records: Iterable[bytes]) -> Path:
    """A file of these records, without those for random access."""
    path.write_bytes(b"".join(records))
    return path


def write_events(path: Path, runs: Mapping[int, range], **more: Any) -> Path:
    """Events of runs, each with as many particles as its number modulo 3 says, and two hits of
    which one points at the first particle."""
    records = []
    for run, numbers in runs.items():
        records.append(run_header(run))
        records += [simple_event(run, number, **more) for number in numbers]
    return write(path, records)


def simple_event(run: int, number: int, **more: Any) -> bytes:
    """An event of `write_events`; its weight is its number."""
    n = number % 3
    particles = [particle(k + 1, [k] if k else [], 11 + k, (number, k, 0.5 * k)) for k in range(n)]
    hits = [i(5) + d(1, 2, 3) + f(0.5, number) + i(p, 0, NOBODY) for p in (min(n, 1), NULL)]
    collections = [
        Collection("MCParticle", "MCParticle", particles),
        Collection("Hits", "SimTrackerHit", hits, values={"CellIDEncoding": ["M:3,S:5"]}),
    ]
    values: dict[str, Any] = {
        "_weight": [float(number)],
        "Names": ["a", str(number)],
        "Numbers": [number, n],
    }
    return event(run, number, collections, values, **more)
