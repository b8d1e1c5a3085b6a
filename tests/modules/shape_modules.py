"""Modules that read and make columns of every shape."""

from __future__ import annotations

from typing import Any

import awkward as ak

import forkrun
from tests.support.shapes_file import SHAPES

COPIES = {("Q_xyz" if name == "P_xyz" else f"copy_{name}"): name for name in SHAPES}
"""New columns, and what they are copies of."""


class Copy(forkrun.Producer):
    """Makes the same columns anew."""

    consumes = tuple(SHAPES)
    produces = {copy: SHAPES[name] for copy, name in COPIES.items()}

    def produce(self, block: Any) -> dict[str, Any]:
        return {copy: block[name] for copy, name in COPIES.items()}


class CopyFound(forkrun.Producer):
    """The same, of which forkrun finds out what it reads and makes."""

    def produce(self, block: Any) -> dict[str, Any]:
        return {copy: ak.Array(block[name]) for copy, name in COPIES.items()}


class Even(forkrun.Filter):
    """Accepts events with an even number whose first value of x is not 10."""

    consumes = ("x", "event")

    def filter(self, block: Any) -> Any:
        return (block["event"] % 2 == 0) & (block["x"][:, 0] != 10)


class OfObjects(forkrun.Producer):
    """Columns of objects whose fields have every shape."""

    def produce(self, block: Any) -> dict[str, Any]:
        good = block.T[block.T.pt > 10]
        return {
            "Good_name": good.name,
            "Good_pos": good.pos,
            "first_hits": ak.sum(good.hits[:, :, 0], axis=1),
            "z": block.V.pos[:, 2],
            "label": block.V.label,
        }
