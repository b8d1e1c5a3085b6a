"""RNTuples in ROOT files. The core reads them like trees, and writes them from both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from forkrun import _core
from forkrun.errors import ForkrunError
from forkrun.formats.events import EventSource, OutputToMake, to_make
from forkrun.formats.format import Format
from forkrun.formats.ttree import TTREE, TTreeFormat

if TYPE_CHECKING:
    from forkrun.formats.plain import Plain


class RNTupleFormat(TTreeFormat):
    """RNTuples in ROOT files."""

    name = "rntuple"

    def warm_up(self) -> None:
        _core.load_checksums_of_rntuples()

    def make_outputs(
        self,
        outputs: Sequence[OutputToMake],
        events: EventSource,
        n_threads: int = 1,
        verify: bool = False,
        on_open: Callable[[int], None] | None = None,
    ) -> list[list[int]]:
        if events.form not in (None, self, TTREE):
            return Format.make_outputs(self, outputs, events, n_threads, verify, on_open)
        made = [to_make(output, [*output.branches, *output.members]) for output in outputs]
        return _core.make_outputs(
            made, self.source(events), n_threads, verify, on_open, format=self.name
        )

    def _write_output(
        self,
        path: str,
        tree: str,
        types: Mapping[str, str],
        counters: Mapping[str, str],
        parts: Iterable[Mapping[str, Plain]],
        compression: str | None,
    ) -> None:
        """Writes values to a tree first, whose columns then become fields."""
        scratch = f"{path}.tree"
        try:
            TTREE._write_output(scratch, tree, types, counters, parts, compression)
            _core.merge_trees([scratch], path, compression=compression, format=self.name)
        except ForkrunError as error:
            error.args = tuple(str(each).replace(scratch, path) for each in error.args)
            raise
        finally:
            with suppress(FileNotFoundError):
                os.unlink(scratch)

    def rewritten_branches(self, path: str, tree: str) -> list[str]:
        """Returns none: objects that cannot be copied as bytes are read as columns."""
        return []

    def needs_root(self, path: str, tree: str, for_outputs: bool) -> bool:
        return False


RNTUPLE = RNTupleFormat()
