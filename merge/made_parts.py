"""Parts of outputs that jobs or nodes have made, and that are put together by copying."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from forkrun.base.durable import sync
from forkrun.formats import Format
from forkrun.rundir.ledger import OutputPart


class MadeParts(Struct, frozen=True):
    """`files`: by name of a file in output/, its parts in their order, of paths in `folder`. Those
    `are_of_nodes` have all that the file has, and what files of the input with numbers in `carries`
    have beside their events; others have the events alone. `written_anew`: by name of an output,
    branches of objects that nodes could not copy as bytes."""

    folder: Path
    files: Mapping[str, Sequence[OutputPart]] = {}
    are_of_nodes: bool = False
    carries: Collection[int] = ()
    written_anew: Mapping[str, Sequence[str]] = {}

    def holds(self, names: Sequence[str]) -> bool:
        """Whether there are parts of each of these files."""
        return all(name in self.files for name in names)

    def has_some_of(self, output: str, suffix: str) -> bool:
        """Whether there are parts of a file of this output."""
        own = f"{output}{suffix}"
        by_lumi = (n for n in self.files if Path(n).parent == Path(output) and n.endswith(suffix))
        return own in self.files or any(by_lumi)

    def paths(self, name: str) -> list[str]:
        """Paths of the parts of a file."""
        return [str(self.folder / part.file) for part in self.files[name]]

    def copy_only(self, name: str, target: Path) -> int | None:
        """Copies a file that has one part alone, and gives its number of events; None: it has
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
        """Puts a file together; gives the number of entries of each tree. Clusters of nodes that
        are small are joined. Raises InputError, OutputError."""
        recluster = "auto" if self.are_of_nodes else "never"
        return form.join(self.paths(name), str(target), trees, verify=verify, recluster=recluster)
