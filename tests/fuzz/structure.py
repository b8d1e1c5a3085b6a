"""Every number of a file's directory structure, with its place: what readers go by to find trees,
RNTuples and events. Shares no code with what it tests."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from forkrun import _core
from forkrun.formats.lcio import LCIO
from tests.fuzz.fuzz import is_fault
from tests.fuzz.lcio_damage import is_lcio
from tests.fuzz.lcio_structure import numbers_of_lcio
from tests.fuzz.records import records
from tests.fuzz.rntuple_structure import numbers_of_rntuple
from tests.fuzz.trial import Outcome, Source, digests_beside, digests_of, digests_of_lcio, try_files
from tests.fuzz.walk import Data, Number, Walk

_LARGE = 1000
"""Added to the version of a key or folder with places of 64 bits; a million to that of a file."""
_FOLDERS = ("TDirectory", "TDirectoryFile")
_MOST_BYTES = 1 << 24
"""Of a file in which RNTuples are looked for."""
_AT_ONCE = 100
"""Mutants that one process is given."""


def numbers_of_root(data: Data) -> list[Number]:
    """Those of a file of ROOT: its header, folders, lists of keys, keys, the list of its free room,
    and RNTuples."""
    found = [number for walk in _walks(data) for number in walk.found.values()]
    if len(data) < _MOST_BYTES and b"ROOT::RNTuple" in data[:]:
        found += numbers_of_rntuple(data, records(data[:]))
    return found


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


def numbers_of(data: Data) -> list[Number]:
    """Those of a file of any format."""
    return numbers_of_lcio(data) if is_lcio(data[:8]) else numbers_of_root(data)


def mutants(file: Path) -> list[Mutant]:
    """Every number of a file with one more and less, none, all bits, and each bit by itself."""
    with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
        return [mutant for number in numbers_of(data) for mutant in _mutants(number, data)]


def _mutants(number: Number, data: Data) -> Iterator[Mutant]:
    old, n_bits = number.value(data), 8 * number.size
    most = (1 << n_bits) - 1
    bits = {f"bit {bit}": old ^ (1 << bit) for bit in range(n_bits)}
    values = {"+1": (old + 1) & most, "-1": (old - 1) & most, "0": 0, "all bits": most, **bits}
    for how, value in values.items():
        if value != old:
            yield Mutant(number, how, value)


def source_of(file: Path, tables: Sequence[str] = ()) -> Source:
    """What an undamaged file holds: the events, and other tables."""
    if file.suffix == LCIO.suffix:
        return Source(file, ("", "", ""), digests_of_lcio(file))
    ids = ("run", "luminosityBlock", "event")
    index = _core.index_tree(str(file), "Events", *ids)
    return Source(
        file, ids, digests_of(file, index), beside=digests_beside(file, tables) if tables else {}
    )


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


def wrong(outcome: Outcome, unseen: Collection[tuple[str, str]] = ()) -> dict[str, str]:
    """Steps that lost something, changed it, or ended as they must not; `unseen`: what may be."""
    return {
        step: how
        for step, how in outcome.steps.items()
        if (step, how) not in unseen
        if how in ("differs", "unreadable") or is_fault(step, how)
    }
