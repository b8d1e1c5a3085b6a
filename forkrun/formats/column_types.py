"""Types of columns by their names: "float32", "float32[]", "float32[4]", "string"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64",
)  # fmt: skip
_MOST_LEVELS, _MOST_DIMENSIONS = 6, 3


class ColumnType(NamedTuple):
    """Type of a column. `n_levels`: levels of offsets, one for each "[]" and one more for texts,
    which are lists of characters; `dimensions`: sizes of arrays of fixed size, within the lists."""

    element: str
    n_levels: int
    dimensions: tuple[int, ...]

    @staticmethod
    @lru_cache
    def of(name: str) -> ColumnType:
        """Type with this name, which the core has or would accept."""
        element, *sizes = name.replace("]", "").split("[")
        n_levels = sizes.count("") + (element == "string")
        return ColumnType(element, n_levels, tuple(int(size) for size in sizes if size))

    @property
    def is_text(self) -> bool:
        """Whether the values are characters."""
        return self.element == "string"

    @property
    def is_list(self) -> bool:
        """Whether events have any number of values or texts."""
        return self.n_levels > self.is_text

    @property
    def is_number(self) -> bool:
        """Whether events have one number each."""
        return not (self.n_levels or self.dimensions)

    @property
    def is_possible(self) -> bool:
        """Whether a new column can be of this type."""
        return (
            self.element in (*NUMBERS, "string")
            and self.n_levels <= _MOST_LEVELS
            and len(self.dimensions) <= _MOST_DIMENSIONS
            and not (self.dimensions and (self.is_text or self.n_levels > 1))
        )

    @property
    def dtype(self) -> npt.DTypeLike:
        """NumPy type of the innermost values."""
        import numpy as np  # longer to load than most files take to merge

        return np.dtype("S1" if self.is_text else self.element)

    def __str__(self) -> str:
        lists = "[]" * (self.n_levels - self.is_text)
        return self.element + lists + "".join(f"[{size}]" for size in self.dimensions)


def counter_of(name: str) -> str:
    """Name of a jagged column's counter in a ROOT tree. Members of objects, "Jet.PT", have one
    each."""
    return f"n{name if '.' in name else name.partition('_')[0]}"


def flat_names(columns: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Names in trees, "Jet_pt", of columns that also exist as "Jet.pt". `columns`: type and counter
    of each."""
    pairs = ((name, name.replace(".", "_")) for name in columns if "." in name)
    return {name: flat for name, flat in pairs if columns.get(flat) == columns[name]}
