"""Base class of providers, which make the payloads of a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from forkrun.conditions.binned_table import BinnedTable
from forkrun.conditions.iov import Iov

Arrays = Mapping[str, npt.NDArray[Any]]


class ConditionsProvider:
    """Base of what makes the payloads of a condition, one for each interval of validity. A class of
    your own is named by `type = "python:FILE.py:CLASS"`; `params` of the configuration are the
    keyword parameters of its `__init__`, checked against the annotations. It is made and asked in
    the parent, before the fork, and must leave no thread and no connection open; of a condition
    that is excluded from prefetching each child asks for itself."""

    requires: ClassVar[str] = ""
    """A package that it cannot do without."""
    depends_on_iov: ClassVar[bool] = True
    """False: what `load` gives depends on the file alone, and is loaded once for all intervals with
    the same file and params."""

    def iovs(self) -> Sequence[Iov]:
        """The intervals that it has payloads for, if it knows them and not the configuration."""
        return ()

    def load(self, file: str | None, iov: Iov) -> Any:
        """The payload of an interval; `file` as configured. NumPy arrays in it (also in dicts,
        lists and tuples) are made read-only, dicts and lists are replaced by read-only ones."""
        raise NotImplementedError(f"{type(self).__name__} has no method load(file, iov)")

    def arrays(self, value: Any) -> Arrays:
        """Arrays of a payload for C++ modules, by name, "" for a single one."""
        if isinstance(value, np.ndarray):
            return {"": value}
        if isinstance(value, BinnedTable):
            return value.arrays()
        if isinstance(value, Mapping):
            return {str(k): v for k, v in value.items() if isinstance(v, np.ndarray)}
        return {}

    def attributes(self, value: Any) -> Mapping[str, str]:
        """Further values of a payload for C++ modules."""
        return {"outside": value.outside} if isinstance(value, BinnedTable) else {}
