"""RNTuples of ROOT files, as input. The core reads them where it reads trees; outputs are made of
their values."""

from __future__ import annotations

from collections.abc import Sequence

from forkrun.errors import InputError
from forkrun.formats.ttree import TTreeFormat


class RNTupleFormat(TTreeFormat):
    """RNTuples in ROOT files."""

    name = "rntuple"

    def written_anew(self, path: str, tree: str) -> list[str]:
        """None: nothing is copied as bytes."""
        return []

    def needs_root(self, path: str, tree: str, for_outputs: bool) -> bool:
        return False

    def merge(self, inputs: Sequence[str], output: str, **options: object) -> dict[str, int]:
        raise InputError(
            f"{inputs[0]}: RNTuples are not merged yet; ROOT's hadd does it, or write them to a"
            " tree with forkrun run"
        )


RNTUPLE = RNTupleFormat()
