"""Damage to a ROOT file: bytes that a disk or a network may change, and numbers of the format that
only bad luck would hit. Everything follows from the generator of random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from xxhash import xxh3_64_intdigest

from tests.fuzz.compressed import closed, opened
from tests.fuzz.lcio_damage import damage_content, damage_head, is_lcio
from tests.fuzz.records import Record, header_fields, records

_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
          1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
_ORDINARY = ("TBasket", "RBlob")


@dataclass(frozen=True)
class Original:
    """An undamaged file."""

    name: str
    data: bytes
    records: Sequence[Record]

    @classmethod
    def of(cls, name: str, data: bytes) -> Original:
        """The original with these bytes, and its records."""
        return cls(name, data, [] if is_lcio(data) else records(data))

    @property
    def baskets(self) -> list[Record]:
        """Records of baskets, and of pages."""
        return [r for r in self.records if r.kind in _ORDINARY]

    @cached_property
    def envelopes(self) -> list[slice]:
        """Places of what RNTuples say of themselves, where it is not compressed: type and size, in
        the end a checksum."""
        places = [r.payload for r in self.records if r.kind == "RBlob"]
        numbers = [(p, int.from_bytes(self.data[p][:8], "little")) for p in places]
        return [p for p, n in numbers if n & 0xFFFF in (1, 2, 3) and n >> 16 == p.stop - p.start]

    @property
    def metadata(self) -> list[Record]:
        """Trees, descriptions of classes, lists of keys, other objects."""
        return [r for r in self.records if r.kind not in _ORDINARY]


def mutate(original: Original, seed: int) -> tuple[str, bytes]:
    """Kind of the damage, and the damaged file."""
    draw = random.Random(f"{original.name}:{seed}")
    kinds = KINDS_OF_LCIO if is_lcio(original.data) else KINDS
    kind = draw.choice(sorted(kinds))
    data = bytearray(original.data)
    kinds[kind](original, data, draw)
    return kind, bytes(data)


def _flip(original: Original, data: bytearray, draw: random.Random) -> None:
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _multi(original: Original, data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.randint(2, 200)):
        data[draw.randrange(len(data))] = draw.randrange(256)


def _zero(original: Original, data: bytearray, draw: random.Random) -> None:
    begin = draw.randrange(len(data))
    n = min(draw.choice((1, 16, 512, 4096)), len(data) - begin)
    data[begin : begin + n] = bytes(n)


def _cut(original: Original, data: bytearray, draw: random.Random) -> None:
    if draw.random() < 0.5:
        del data[draw.randrange(len(data)) :]
    else:
        begin = draw.randrange(len(data))
        del data[begin : begin + draw.choice((1, 4, 512, 4096))]


def _duplicate(original: Original, data: bytearray, draw: random.Random) -> None:
    begin = draw.randrange(len(data))
    data[begin:begin] = data[begin : begin + draw.choice((1, 4, 512, 4096))]


def _swap(original: Original, data: bytearray, draw: random.Random) -> None:
    """Two baskets of one size change places, or one takes the place of another."""
    one = draw.choice(original.baskets)
    alike = [r for r in original.baskets if r.n_bytes == one.n_bytes and r.at != one.at]
    other = draw.choice(alike or original.baskets)
    n = min(one.n_bytes, other.n_bytes)
    first, second = data[one.at : one.at + n], data[other.at : other.at + n]
    data[one.at : one.at + n], data[other.at : other.at + n] = second, first


def _change(
    data: bytearray,
    place: int,
    size: int,
    draw: random.Random,
    order: Literal["big", "little"] = "big",
) -> None:
    old = int.from_bytes(data[place : place + size], order)
    new = draw.choice(
        (draw.choice(_EDGES), old + draw.randint(-16, 16), old ^ (1 << draw.randrange(8 * size)),
         draw.getrandbits(8 * size), old * 2, old // 2)
    )  # fmt: skip
    data[place : place + size] = (new % (1 << (8 * size))).to_bytes(size, order)


def _header(original: Original, data: bytearray, draw: random.Random) -> None:
    """A number in the header of the file or of a record."""
    if draw.random() < 0.2:
        fields = header_fields(bytes(data))
    else:
        fields = draw.choice([draw.choice(original.metadata), draw.choice(original.baskets)]).fields
    _change(data, *draw.choice(fields), draw)


def _basket(original: Original, data: bytearray, draw: random.Random) -> None:
    """A number of a basket: key, own header, or the head of its compressed block."""
    record = draw.choice(original.baskets)
    block = [(record.payload.start + i, 1) for i in range(9)]
    _change(data, *draw.choice([*record.fields, *block]), draw)


def _content(original: Original, data: bytearray, draw: random.Random) -> None:
    """Bytes of an object, of a tree above all, that is compressed again."""
    trees = [r for r in original.metadata if r.kind == "TTree"]
    record = draw.choice(trees if trees and draw.random() < 0.8 else original.metadata)
    content = bytearray(opened(bytes(data[record.payload]), record.object_bytes))
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        size = draw.choice((1, 2, 4, 8))
        _change(content, draw.randrange(max(len(content) - size, 1)), size, draw)
    packed = closed(bytes(content), record.n_bytes - record.key_bytes)
    if len(content) == record.n_bytes - record.key_bytes:
        packed = bytes(content)  # is not compressed
    if packed is not None:
        data[record.payload] = packed


def _inside(original: Original, data: bytearray, draw: random.Random) -> None:
    """Bytes of a basket's entries and offsets, that are compressed again; of pages as they are."""
    record = draw.choice(original.baskets)
    content = bytearray(data[record.payload])
    if record.kind != "RBlob":
        content = bytearray(opened(bytes(content), record.object_bytes))
    size = min(draw.choice((1, 4)), len(content))
    _change(content, draw.randrange(max(len(content) - size, 1)), size, draw)
    room = record.n_bytes - record.key_bytes
    packed = bytes(content) if len(content) == room else closed(bytes(content), room)
    if packed is not None:
        data[record.payload] = packed


def _envelope(original: Original, data: bytearray, draw: random.Random) -> None:
    """Bytes of what an RNTuple says of itself, with the checksum that belongs to them; in files
    whose metadata are not compressed, else the last bytes."""
    if not original.envelopes:
        _tail(original, data, draw)
        return
    place = draw.choice(original.envelopes)
    content = bytearray(data[place])
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        size = draw.choice((1, 2, 4, 8))
        _change(content, draw.randrange(8, len(content) - 8 - size), size, draw, "little")
    content[-8:] = xxh3_64_intdigest(bytes(content[:-8])).to_bytes(8, "little")
    data[place] = content


def _tail(original: Original, data: bytearray, draw: random.Random) -> None:
    """What is at the end of a file: lists of keys and of free space, descriptions of classes."""
    begin = max(r.at + r.n_bytes for r in original.baskets)
    for _ in range(draw.choice((1, 1, 4))):
        data[draw.randrange(min(begin, len(data) - 1), len(data))] = draw.randrange(256)


Mutation = Callable[[Original, bytearray, random.Random], None]
KINDS: dict[str, Mutation] = {
    "flip": _flip,
    "multi": _multi,
    "zero": _zero,
    "cut": _cut,
    "duplicate": _duplicate,
    "swap": _swap,
    "header": _header,
    "basket": _basket,
    "content": _content,
    "inside": _inside,
    "tail": _tail,
    "envelope": _envelope,
}
KINDS_OF_LCIO: dict[str, Mutation] = {
    **{kind: KINDS[kind] for kind in ("flip", "multi", "zero", "cut", "duplicate")},
    "header": lambda _, data, draw: damage_head(data, draw, _change),
    "content": lambda _, data, draw: damage_content(data, draw, _change),
    "inside": lambda _, data, draw: damage_content(data, draw, _change),
}
