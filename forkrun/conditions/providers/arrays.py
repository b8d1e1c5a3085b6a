"""NumPy files."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider


class NpyProvider(ConditionsProvider):
    """An array. `memory_map`: stay on the disk; pages are read when they are first looked at, and
    shared with every process of the machine that maps the file."""

    depends_on_iov = False

    def __init__(self, memory_map: bool = False) -> None:
        self._mode: Literal["r"] | None = "r" if memory_map else None

    def load(self, file: str | None, iov: Iov) -> npt.NDArray[Any]:
        return np.asarray(np.load(str(file), mmap_mode=self._mode, allow_pickle=False))


class NpzProvider(ConditionsProvider):
    """A dict of arrays."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> dict[str, npt.NDArray[Any]]:
        with np.load(str(file), allow_pickle=False) as arrays:
            return dict(arrays)
