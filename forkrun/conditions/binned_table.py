"""Tables of scale factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from forkrun.base.awkward_array import ak, is_awkward, with_none
from forkrun.base.quantities import plural

Floats = npt.NDArray[np.float64]
Outside = Literal["nearest", "flow", "error"]


class BinnedTable:
    """Values in bins of 1 to 3 coordinates: `table(pt, eta)` looks up numbers, NumPy arrays, or
    Awkward Arrays of any depth, and gives the same form; `table.error(pt, eta)` the errors.

    `edges`: one (n_bins + 1,) array per axis; `content`, `variances`: (n_bins + 2, …) float64, with
    flow bins; `values`: (n_bins, …), without. A bin holds its lower edge, not its upper one.
    `outside`: what holds beyond the edges: the "nearest" bin, the "flow" bins, or an "error"."""

    def __init__(
        self,
        edges: Sequence[Floats],
        content: Floats,
        variances: Floats,
        outside: Outside = "nearest",
        axis_titles: Sequence[str] = (),
    ) -> None:
        self.edges = tuple(np.ascontiguousarray(e, dtype=np.float64) for e in edges)
        self.content = np.ascontiguousarray(content, dtype=np.float64)
        self.variances = np.ascontiguousarray(variances, dtype=np.float64)
        self.outside = outside
        self.axis_titles = tuple(axis_titles)
        expected = tuple(len(e) + 1 for e in self.edges)
        if self.content.shape != expected or self.variances.shape != expected:
            raise ValueError(f"content and variances have the shape {expected}, with flow bins")

    @property
    def values(self) -> Floats:
        return self.content[(slice(1, -1),) * self.content.ndim]

    def __call__(self, *coordinates: Any) -> Any:
        return self._apply(self.content, coordinates)

    def error(self, *coordinates: Any) -> Any:
        """The square root of the variance of the bin."""
        return np.sqrt(self._apply(self.variances, coordinates))

    def arrays(self) -> dict[str, Floats]:
        """All arrays of the table, as C++ modules see it."""
        edges = {f"edges_{axis}": edges for axis, edges in enumerate(self.edges)}
        return {"values": self.content, "variances": self.variances, **edges}

    def _apply(self, content: Floats, coordinates: Sequence[Any]) -> Any:
        if len(coordinates) != len(self.edges):
            titles = ", ".join(t for t in self.axis_titles if t)
            axes = f" ({titles})" if titles else ""
            raise TypeError(f"the table has {plural(len(self.edges), 'coordinate')}{axes}")
        coordinates = [with_none(c) for c in coordinates]
        if not any(is_awkward(c) for c in coordinates):
            return content[self._bins(coordinates)]
        return _transform(lambda arrays: content[self._bins(arrays)], coordinates)

    def _bins(self, coordinates: Sequence[Any]) -> tuple[npt.NDArray[np.intp], ...]:
        return tuple(
            self._bin(axis, edges, value)
            for axis, (edges, value) in enumerate(zip(self.edges, coordinates, strict=True))
        )

    def _bin(self, axis: int, edges: Floats, value: Any) -> npt.NDArray[np.intp]:
        values = np.asarray(value, dtype=np.float64)
        bins: npt.NDArray[np.intp] = np.searchsorted(edges, values, side="right")
        if self.outside == "flow":
            return bins
        nearest = np.clip(bins, 1, len(edges) - 1)
        if self.outside == "error" and (nearest != bins).any():
            wrong = np.extract(nearest != bins, values)[0]
            raise ValueError(
                f"{wrong} is outside of axis {axis} of the table, [{edges[0]}, {edges[-1]})"
            )
        return nearest


def _transform(lookup: Any, coordinates: Sequence[Any]) -> Any:
    """Awkward Arrays are broadcast together; their numbers are looked up."""

    def at_numbers(layouts: Any, **_: Any) -> Any:
        all_of_them = layouts if isinstance(layouts, list | tuple) else [layouts]
        if not all(layout.is_numpy for layout in all_of_them):
            return None  # go deeper
        return ak.contents.NumpyArray(lookup([ak.to_numpy(layout) for layout in all_of_them]))

    return ak.transform(at_numbers, *ak.broadcast_arrays(*coordinates))
