"""ROOT trees, read, made and merged by the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forkrun import _core
from forkrun.errors import InputError
from forkrun.formats.described import Described, why_no_column
from forkrun.formats.events import (
    COMPRESSION,
    NO_IDS,
    EventSource,
    Identity,
    Ids,
    OutputToMake,
)
from forkrun.formats.format import Format, first_bytes

if TYPE_CHECKING:
    from forkrun.formats.plain import Plain

_MAGIC = b"root"
"""First bytes of a ROOT file."""
_CLUSTER_BYTES = 32 << 20
"""Size in memory of a cluster made of values."""


class TTreeFormat(Format):
    """TTrees in ROOT files."""

    name = "ttree"
    suffix = ".root"
    has_tables = True

    def is_of(self, path: str) -> bool:
        """Also accepts files on servers and unreadable ones: ROOT's reader explains what is
        wrong."""
        return "://" in path or first_bytes(path, len(_MAGIC)) in (_MAGIC, b"", None)

    def index(
        self, path: str, tree: str, ids: Ids = NO_IDS, file_number: int = 0
    ) -> dict[str, Any]:
        return _core.index_tree(path, tree, *ids, file_number)

    read = staticmethod(_core.read_columns)
    opened = staticmethod(_core.OpenTree)
    origins = staticmethod(_core.read_origins)
    add_text = staticmethod(_core.add_text)

    def carry(
        self,
        inputs: Sequence[str],
        output: str,
        exclude: Sequence[str],
        keep_first: bool,
        identities: Sequence[Identity] = (),
        common_branches: bool = False,
        is_new: bool = False,
    ) -> None:
        fields: Mapping[str, Any] = {}
        if common_branches:
            from forkrun.formats.fields import align

            fields, _ = align(inputs, "alike", None, "ttree", exclude)
        _core.carry_objects(inputs, output, exclude, keep_first, identities, fields, is_new)

    def described(self, path: str, tree: str) -> list[Described]:
        index = self.index(path, tree)
        if index["absent"]:
            raise InputError(index["absent"])
        accounts = _core.branch_accounts(path, tree)
        return [
            Described(name, kind, n_bytes, n_stored, _compression(number, n_stored < n_bytes))
            for (name, kind, *_), (_, n_bytes, n_stored, number) in zip(
                [*index["branches"], *index["members"]], accounts, strict=True
            )
        ]

    def why_no_column(self, kind: str) -> str:
        return why_no_column(kind)

    def source(self, events: EventSource) -> _core.TreeSource:
        return _core.TreeSource(events)

    def make_outputs(
        self,
        outputs: Sequence[OutputToMake],
        events: EventSource,
        *how: Any,
        of_input: Format | None = None,
        **named: Any,
    ) -> list[list[int]]:
        if events.format not in ("", self.name):
            return super().make_outputs(outputs, events, *how, of_input=of_input, **named)
        return _core.make_outputs(outputs, self.source(events), *how, **named)

    def _write_output(
        self,
        path: str,
        tree: str,
        types: Mapping[str, str],
        counters: Mapping[str, str],
        parts: Iterable[Mapping[str, Plain]],
        compression: str | None,
    ) -> None:
        """Writes values, for input that has no baskets."""
        from forkrun.formats.plain import row_groups

        name = tree.partition(";")[0]
        writer = _core.TreeWriter(
            path, name, list(types.items()), compression or COMPRESSION, counters=counters
        )
        for group in row_groups(parts, _CLUSTER_BYTES):
            writer.write(dict(group))
        writer.close()

    def cluster_begins(
        self, output: OutputToMake, events: EventSource
    ) -> list[tuple[int, int, int]]:
        """Beginnings of an output's clusters, as `make_outputs` places them."""
        return _core.cluster_begins(output, self.source(events))

    def merge(self, inputs: Sequence[str], output: str, **options: Any) -> dict[str, int]:
        return _core.merge_trees(inputs, output, **options)

    def join(
        self, parts: Sequence[str], output: str, trees: Sequence[str], *, verify: bool,
        recluster: str,
    ) -> list[int]:  # fmt: skip
        options = {"trees": list(trees), "verify": verify, "recluster": recluster}
        entries = self.merge(parts, output, **options)
        return [entries[tree] for tree in trees]

    def digest(self, path: str, tree: str, ids: Ids) -> _core.EventDigest:
        return _core.tree_digest(path, tree, ids)

    def rewritten_branches(self, path: str, tree: str, has_references: bool = False) -> list[str]:
        return _core.rewritten_branches(path, tree, has_references)

    def try_copy(self, path: str, tree: str, names: Sequence[str], scratch: str) -> None:
        _core.try_copy(path, tree, names, scratch)

    def needs_root(self, path: str, tree: str, for_outputs: bool) -> bool:
        if "://" in path:  # opening it would start threads before the fork; assumed to be plain
            return False
        if for_outputs:
            return not _core.has_plain_trees_alone(path)
        return not _core.is_plain_tree(path, tree)


TTREE = TTreeFormat()
_ALGORITHMS = {0: "zlib", 1: "zlib", 2: "lzma", 3: "zlib", 4: "lz4", 5: "zstd"}
"""Algorithms by ROOT's number; 0 is from before there were several."""


def _compression(number: int, is_smaller: bool) -> str:
    """Compression in the notation of outputs, from ROOT's number. Other writers omit it."""
    algorithm, level = divmod(number, 100)
    if level == 0:
        return "not said" if is_smaller else "none"
    return f"{_ALGORITHMS[algorithm]}:{level}" if algorithm in _ALGORITHMS else ""
