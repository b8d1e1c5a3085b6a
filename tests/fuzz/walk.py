"""Numbers of a file with their places, read one after the other."""

from __future__ import annotations

from mmap import mmap
from typing import Literal, NamedTuple

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
