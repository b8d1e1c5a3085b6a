"""Awkward Array, imported when first used: jobs with one number per event save its fifth of a
second."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import awkward as ak
else:

    class _Awkward:
        """Stands for the library; each name is looked up once."""

        def __getattr__(self, name: str) -> Any:
            import awkward

            value = getattr(awkward, name)
            setattr(self, name, value)
            return value

    ak = _Awkward()

__all__ = ["ak", "is_awkward", "load_awkward", "with_none"]


def load_awkward() -> None:
    """Imports the library now: in the parent, for all children."""
    import awkward  # noqa: F401


def is_awkward(value: Any) -> bool:
    """Whether the value is an `ak.Array`; False while the library is not imported."""
    return "awkward" in sys.modules and isinstance(value, ak.Array)


def is_masked(value: Any) -> bool:
    """Whether the value is a masked array of NumPy; False while `numpy.ma` is not imported, which
    would take each child 15 ms."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def with_none(value: Any) -> Any:
    """Turns masked entries of a NumPy array, as made by `ak.to_numpy`, back into None; returns
    other values unchanged."""
    return ak.from_numpy(value, regulararray=True) if is_masked(value) else value
