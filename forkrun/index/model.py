"""The index of one input file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class LumiRange(NamedTuple):
    """Entries [first, last) of a file, all of one lumi; `digest` is that of their event ids."""

    run: int
    lumi: int
    first: int
    last: int
    digest: str


class Branch(NamedTuple):
    """`type` is a column type such as "float32[]", or "other:TYPE" for a branch that can only be
    passed through; `counter` is its counting branch or ""."""

    name: str
    type: str
    counter: str

    @property
    def readable(self) -> bool:
        """Whether the branch can be read as a column."""
        return not self.type.startswith("other:")


@dataclass(frozen=True)
class FileIndex:
    """`clusters`: first entry of each cluster of the tree, then n_entries; `ranges`: in entry
    order, the maximal runs of entries of one lumi."""

    path: str
    uuid: str
    n_entries: int
    clusters: tuple[int, ...]
    ranges: tuple[LumiRange, ...]
    branches: tuple[Branch, ...]

    @classmethod
    def from_json(cls, path: str, data: dict[str, Any]) -> FileIndex:
        """Of what `_core.index_tree` returns."""
        return cls(
            path=path,
            uuid=data["uuid"],
            n_entries=data["n_entries"],
            clusters=tuple(data["clusters"]),
            ranges=tuple(LumiRange(*r) for r in data["ranges"]),
            branches=tuple(Branch(*b) for b in data["branches"]),
        )
