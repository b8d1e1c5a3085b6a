"""RNTuples of ROOT files. The core reads them where it reads trees, and writes them of either."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forkrun import _core
from forkrun.formats.events import EventSource, OutputToMake
from forkrun.formats.ttree import TTreeFormat, to_make


class RNTupleFormat(TTreeFormat):
    """RNTuples in ROOT files."""

    name = "rntuple"

    def make_outputs(
        self,
        outputs: Sequence[OutputToMake],
        events: EventSource,
        n_threads: int = 1,
        verify: bool = False,
        on_open: Callable[[int], None] | None = None,
    ) -> list[list[int]]:
        made = [to_make(output, [*output.branches, *output.members]) for output in outputs]
        return _core.make_outputs(
            made, self.source(events), n_threads, verify, on_open, format=self.name
        )

    def written_anew(self, path: str, tree: str) -> list[str]:
        """None: what cannot be copied as bytes is read as columns."""
        return []

    def needs_root(self, path: str, tree: str, for_outputs: bool) -> bool:
        return False


RNTUPLE = RNTupleFormat()
