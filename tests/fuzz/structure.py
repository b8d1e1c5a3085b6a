"""Every number of a file's directory structure, with its place: what readers go by to find trees,
RNTuples and events. Shares no code with what it tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Literal, NamedTuple

from forkrun import _core
from tests.fuzz.fuzz import is_fault
from tests.fuzz.trial import Outcome, Source, digests_beside, digests_of, try_files

_LARGE = 1000
"""Added to the version of a key or folder with places of 64 bits; a million to that of a file."""
_FOLDERS = ("TDirectory", "TDirectoryFile")
_AT_ONCE = 100
"""Mutants that one process is given."""
Order = Literal["big", "little"]
Data = bytes | mmap


class Number(NamedTuple):
    """A number: `name` says of what, `size` in bytes."""

    name: str
    place: int
    size: int
    order: Order = "big"

    def value(self, data: Data) -> int:
        """Without a sign."""
        return int.from_bytes(data[self.place : self.place + self.size], self.order)


class Walk:
    """Reads numbers one after the other and notes their places."""

    def __init__(self, data: Data, at: int, of: str, order: Order = "big") -> None:
        self.data, self.at, self.of, self.order = data, at, of, order
        self.found: dict[str, Number] = {}
        self.texts: list[str] = []

    def number(self, name: str, size: int) -> int:
        self.found[name] = Number(f"{self.of}: {name}", self.at, size, self.order)
        self.at += size
        return self.found[name].value(self.data)

    def numbers(self, **sizes: int) -> None:
        for name, size in sizes.items():
            self.number(name, size)

    def text(self, name: str) -> None:
        length = self.number(f"length of {name}", 1)
        if length == 255:
            length = self.number(f"long length of {name}", 4)
        self.at += length
        self.texts.append(self.data[self.at - length : self.at].decode("latin-1"))

    def __getitem__(self, name: str) -> int:
        return self.found[name].value(self.data)


def numbers_of_root(data: Data) -> list[Number]:
    """Those of a file of ROOT: its header, folders, lists of keys, keys, and the list of its free
    room."""
    return [number for walk in _walks(data) for number in walk.found.values()]


def _walks(data: Data) -> Iterator[Walk]:
    header = Walk(data, 4, "file")
    wide = 8 if header.number("fVersion", 4) >= 1_000_000 else 4
    header.numbers(fBEGIN=4, fEND=wide, fSeekFree=wide, fNbytesFree=4, nfree=4, fNbytesName=4)
    header.numbers(fUnits=1, fCompress=4, fSeekInfo=wide, fNbytesInfo=4, fVersionOfUUID=2)
    yield header
    top = key_at(data, header["fBEGIN"], "top folder: record")
    top.text("name")
    top.text("title")
    yield top
    yield from _folder(data, header["fBEGIN"] + header["fNbytesName"], "top folder")
    yield key_at(data, header["fSeekInfo"], "descriptions of classes: record")
    yield from _free_room(data, header["fSeekFree"], header["fNbytesFree"])


def key_at(data: Data, at: int, of: str) -> Walk:
    """A key; its texts are class, name and title."""
    key = Walk(data, at, of)
    key.numbers(fNbytes=4, fVersion=2, fObjlen=4, fDatime=4, fKeylen=2, fCycle=2)
    wide = 8 if key["fVersion"] > _LARGE else 4
    key.numbers(fSeekKey=wide, fSeekPdir=wide)
    for name in ("class", "name", "title"):
        key.text(name)
    return key


def _folder(data: Data, at: int, of: str) -> Iterator[Walk]:
    folder = Walk(data, at, of)
    version = folder.number("fVersion", 2)
    folder.numbers(fDatimeC=4, fDatimeM=4, fNbytesKeys=4, fNbytesName=4)
    wide = 8 if version > _LARGE else 4
    folder.numbers(fSeekDir=wide, fSeekParent=wide, fSeekKeys=wide)
    if version % _LARGE > 1:
        folder.numbers(**({"version of UUID": 2} if version % _LARGE > 2 else {}), UUID=16)
    yield folder
    if not folder["fSeekKeys"]:
        return
    own = key_at(data, folder["fSeekKeys"], f"{of}: record of the list of keys")
    yield own
    keys = Walk(data, own.at, f"{of}: list of keys")
    n_keys = keys.number("nkeys", 4)
    yield keys
    at = keys.at
    for number in range(n_keys):
        listed = key_at(data, at, f"{of}: key {number} in the list")
        yield listed
        at = listed.at
        yield key_at(data, listed["fSeekKey"], f"{of}: key {number}")
        kind, name, _ = listed.texts
        if kind in _FOLDERS:
            begin = listed["fSeekKey"] + listed["fKeylen"]
            yield from _folder(data, begin, f"{of}/{name}")


def _free_room(data: Data, at: int, n_bytes: int) -> Iterator[Walk]:
    own = key_at(data, at, "list of free room: record")
    yield own
    rooms = Walk(data, own.at, "list of free room")
    while rooms.at < at + n_bytes:
        version = rooms.number(f"version of room at {rooms.at}", 2)
        wide = 8 if version > _LARGE else 4
        rooms.numbers(**{f"first at {rooms.at}": wide})
        rooms.numbers(**{f"last at {rooms.at}": wide})
    yield rooms


class Mutant(NamedTuple):
    """A number that has another value."""

    number: Number
    how: str
    value: int

    def write(self, file: Path, value: int) -> None:
        """Puts a value into the place of the number."""
        with file.open("r+b") as out:
            out.seek(self.number.place)
            out.write(value.to_bytes(self.number.size, self.number.order))


def mutants(file: Path) -> list[Mutant]:
    """Every number of a file with one more and less, none, all bits, and each bit by itself."""
    with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
        return [mutant for number in numbers_of_root(data) for mutant in _mutants(number, data)]


def _mutants(number: Number, data: Data) -> Iterator[Mutant]:
    old, n_bits = number.value(data), 8 * number.size
    most = (1 << n_bits) - 1
    bits = {f"bit {bit}": old ^ (1 << bit) for bit in range(n_bits)}
    values = {"+1": (old + 1) & most, "-1": (old - 1) & most, "0": 0, "all bits": most, **bits}
    for how, value in values.items():
        if value != old:
            yield Mutant(number, how, value)


def source_of(file: Path, tables: Sequence[str]) -> Source:
    """What an undamaged file holds: the events, and other tables."""
    ids = ("run", "luminosityBlock", "event")
    index = _core.index_tree(str(file), "Events", *ids)
    return Source(file, ids, digests_of(file, index), beside=digests_beside(file, tables))


def run_mutants(
    source: Source, chosen: Sequence[Mutant], folder: Path, limit_s: float = 20
) -> Iterator[tuple[Mutant, Outcome]]:
    """What becomes of each, in one copy of the file that is changed and mended again."""
    copy = folder / f"mutant{source.path.suffix}"
    subprocess.run(["cp", "--sparse=always", source.path, copy], check=True)
    with source.path.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
        sound = [mutant.number.value(data) for mutant in chosen]

    def make(number: int) -> Path:
        if number:
            chosen[number - 1].write(copy, sound[number - 1])
        chosen[number].write(copy, chosen[number].value)
        return copy

    for begin in range(0, len(chosen), _AT_ONCE):
        part = range(begin, min(begin + _AT_ONCE, len(chosen)))
        outcomes = try_files([(source, partial(make, number)) for number in part], limit_s)
        yield from zip([chosen[number] for number in part], outcomes, strict=True)


def wrong(outcome: Outcome) -> dict[str, str]:
    """Steps that lost something, changed it, or ended as they must not."""
    return {
        step: how
        for step, how in outcome.steps.items()
        if how in ("differs", "unreadable") or is_fault(step, how)
    }
