"""Parts of outputs made by jobs or nodes, joined by copying."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from forkrun.base.durable import sync
from forkrun.formats import Format
from forkrun.rundir.ledger import OutputPart


class MadeParts(Struct, frozen=True):
    """`files`: parts of each file in output/, by its name, in order; paths are relative to
    `folder`. Parts that `are_of_nodes` are complete, and include other objects of the input files
    with numbers in `carries`; parts by jobs have only the events. `written_anew`: branches of
    objects that nodes could not copy as bytes, by name of the output."""

    folder: Path
    files: Mapping[str, Sequence[OutputPart]] = {}
    are_of_nodes: bool = False
    carries: Collection[int] = ()
    written_anew: Mapping[str, Sequence[str]] = {}

    def holds(self, names: Sequence[str]) -> bool:
        """Whether each of these files has parts."""
        return all(name in self.files for name in names)

    def has_parts_of(self, output: str, suffix: str) -> bool:
        """Whether a file of this output has parts."""
        own = f"{output}{suffix}"
        by_lumi = (n for n in self.files if Path(n).parent == Path(output) and n.endswith(suffix))
        return own in self.files or any(by_lumi)

    def paths(self, name: str) -> list[str]:
        """Paths of the parts of a file."""
        return [str(self.folder / part.file) for part in self.files[name]]

    def copy_only(self, name: str, target: Path) -> int | None:
        """Copies a file with a single part, and returns its number of events; None if it has
        more."""
        if len(self.files[name]) > 1:
            return None
        (path,) = self.paths(name)
        shutil.copyfile(path, target)
        sync(target)
        return self.files[name][0].n_events

    def join(
        self, name: str, target: Path, form: Format, trees: Sequence[str], *, verify: bool
    ) -> list[int]:
        """Joins the parts of a file; returns the number of entries of each tree. Small clusters of
        nodes are joined. Raises InputError or OutputError."""
        recluster = "auto" if self.are_of_nodes else "never"
        return form.join(self.paths(name), str(target), trees, verify=verify, recluster=recluster)
