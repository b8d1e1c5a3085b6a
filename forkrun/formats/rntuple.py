"""RNTuples in ROOT files. The core reads them like trees, and writes them from both."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from forkrun import _core
from forkrun.errors import ForkrunError
from forkrun.formats.events import EventSource, OutputToMake
from forkrun.formats.format import Format
from forkrun.formats.ttree import TTREE, TTreeFormat


class RNTupleFormat(TTreeFormat):
    """RNTuples in ROOT files."""

    name = "rntuple"

    def warm_up(self) -> None:
        _core.load_checksums_of_rntuples()

    def make_outputs(
        self,
        outputs: Sequence[OutputToMake],
        events: EventSource,
        *how: Any,
        of_input: Format | None = None,
        **named: Any,
    ) -> list[list[int]]:
        if events.format not in ("", self.name, TTREE.name):
            return Format.make_outputs(self, outputs, events, *how, of_input=of_input, **named)
        named["format"] = self.name
        return _core.make_outputs(outputs, self.source(events), *how, **named)

    def _write_output(self, path: str, *content: Any) -> None:
        """Writes values to a tree first, whose columns then become fields."""
        scratch = f"{path}.tree"
        try:
            TTREE._write_output(scratch, *content)
            _core.merge_trees([scratch], path, compression=content[-1], format=self.name)
        except ForkrunError as error:
            error.args = tuple(str(each).replace(scratch, path) for each in error.args)
            raise
        finally:
            with suppress(FileNotFoundError):
                os.unlink(scratch)

    def rewritten_branches(self, path: str, tree: str, has_references: bool = False) -> list[str]:
        """Returns none: objects that cannot be copied as bytes are read as columns."""
        return []

    def needs_root(self, path: str, tree: str, for_outputs: bool) -> bool:
        return False


RNTUPLE = RNTupleFormat()
