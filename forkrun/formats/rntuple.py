"""RNTuples of ROOT files, as input. The core reads them where it reads trees; outputs are made of
their values."""

from __future__ import annotations

from forkrun.formats.ttree import TTreeFormat


class RNTupleFormat(TTreeFormat):
    """RNTuples in ROOT files."""

    name = "rntuple"

    def written_anew(self, path: str, tree: str) -> list[str]:
        """None: nothing is copied as bytes."""
        return []

    def needs_root(self, path: str, tree: str, for_outputs: bool) -> bool:
        return False


RNTUPLE = RNTupleFormat()
