"""Awkward Array, imported when it is first used: a fifth of a second that jobs of one number per
event do without."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import awkward as ak
else:

    class _Awkward:
        """What stands for the library: its names, looked up once each."""

        def __getattr__(self, name: str) -> Any:
            import awkward

            value = getattr(awkward, name)
            setattr(self, name, value)
            return value

    ak = _Awkward()

__all__ = ["ak", "is_awkward", "load_awkward", "with_none"]


def load_awkward() -> None:
    """Imports it now: in the parent, so that children share it."""
    import awkward  # noqa: F401


def is_awkward(value: Any) -> bool:
    """Whether this is an `ak.Array`; where the library is not imported nothing is."""
    return "awkward" in sys.modules and isinstance(value, ak.Array)


def is_masked(value: Any) -> bool:
    """Whether this is a masked array of NumPy; where `numpy.ma` is not imported nothing is, and it
    would take each child 15 ms."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def with_none(value: Any) -> Any:
    """A masked array of NumPy, as `ak.to_numpy` makes of None, with None again where it is masked;
    anything else as it is."""
    return ak.from_numpy(value, regulararray=True) if is_masked(value) else value
