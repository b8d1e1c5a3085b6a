"""Whether all columns of a tree are those of another, as uproot reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

_OF_PROCESS = ("fBits", "@fBits", "@fUniqueID")
"""What ROOT writes of the memory that an object lay in."""


def differing_columns(before: Path, after: Path, tree: str, times: int = 1) -> list[str]:
    """Names of columns of `before` that `after` lacks, that it does not have `times` times one
    after the other, or that can be read there no more. What cannot be read in `before` is left
    out; so are branches without entries."""
    with uproot.open(before) as one, uproot.open(after) as other:
        columns, found = dict(_branches(one[tree])), dict(_branches(other[tree]))
        return [
            name
            for name, branch in columns.items()
            if (values := _read(branch)) is not None
            and not (name in found and _are_same(values, found[name], times))
        ]


def _branches(of: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """By path, with the number of those before of this name."""
    seen: dict[str, int] = {}
    for branch in of.branches:
        path = f"{prefix}{branch.name}[{seen.setdefault(branch.name, 0)}]"
        seen[branch.name] += 1
        if branch.num_entries and not branch.branches and not branch.name.endswith("fBits"):
            yield path, branch
        yield from _branches(branch, path + "/")


def _read(branch: Any) -> Any:
    """None if uproot cannot."""
    for library in ("ak", "np"):
        try:
            return branch.array(library=library)
        except Exception:  # whatever it cannot read
            continue
    return None


def _are_same(values: Any, branch: Any, times: int) -> bool:
    found = _read(branch)
    if found is None or len(found) != times * len(values):
        return False
    n = len(values)
    return all(_equal(values, found[i * n : (i + 1) * n]) for i in range(times))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, ak.Array) and ak.array_equal(one, other, equal_nan=True):
        return True
    return repr(_plain(one)) == repr(_plain(other))


def _plain(value: Any) -> Any:
    """Values of an object, without its place in memory."""
    if isinstance(value, ak.Array):
        return _plain(value.to_list())
    if isinstance(value, np.ndarray):
        return [_plain(each) for each in value]
    if isinstance(value, (str, bytes)):
        return value
    if hasattr(value, "all_members") and not hasattr(value, "__len__"):
        return _plain(value.all_members)
    if isinstance(value, Mapping):
        return [(_plain(key), _plain(of)) for key, of in value.items() if key not in _OF_PROCESS]
    return [_plain(each) for each in value] if hasattr(value, "__iter__") else value
