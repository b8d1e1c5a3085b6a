"""A helper process that reads indexes: one request per line on stdin, one answer per line on
stdout. What ROOT opens, loads or starts here ends with this process."""

from __future__ import annotations

import json
import math
import os
import sys
from itertools import pairwise
from typing import Any

from forkrun import _core
from forkrun.errors import InputError
from forkrun.fork.contained import cpu_limit_s, limit_cpu, prepare_helper

_S_PER_MB = 1.0  # a hundred times what the id branches take
_RECORD = "forkrun_origins"
"""Says from which files the rows of an output's other trees came."""
_NAMES = ("uuid_high", "uuid_low", "n_bytes")
"""Columns that together name such a file."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """`{"index": …}`, of a request for events `{"found": [[event, entry], …]}`, of one for sums
    `{"sums": [[origin, number], …]}`, or `{"error": message}`."""
    try:
        if "sum_of" in request:
            return {"sums": sums(request)}
        if "events" in request:
            return {"found": find(request)}
        return {"index": _core.index_tree(**request)}
    except MemoryError:
        return {"error": "more memory is needed than a helper may have; is the file damaged?"}
    except Exception as error:
        return {"error": str(error) or type(error).__name__}


def sums(request: dict[str, Any]) -> list[tuple[str, float]] | None:
    """Sums of a column of a tree, by the file that its rows came from ("": this one), in their
    order; None if there is no such tree or column."""
    import numpy as np

    path, tree = request["path"], request["tree"]
    index = _index(path, tree)
    names = [name for name, *_ in (index or {"branches": []})["branches"]]
    names = [name for name in names if name in request["sum_of"]]
    if index is None or not names:
        return None
    columns = _core.read_columns(path, tree, names[:1], 0, index["n_entries"])
    values = np.asarray(columns[names[0]], dtype=np.float64)
    parts = _origins(path, tree) if _index(path, _RECORD) else [("", len(values))]
    if sum(n_rows for _, n_rows in parts) != len(values):
        raise InputError(f"its rows are not those that {_RECORD} names; was it made by hadd?")
    ends = np.cumsum([n_rows for _, n_rows in parts]).tolist()
    starts = [0, *ends]
    return [
        (origin, math.fsum(values[first:last]))
        for (origin, _), first, last in zip(parts, starts, ends, strict=False)
    ]


def _index(path: str, tree: str) -> dict[str, Any] | None:
    try:
        return dict(_core.index_tree(path, tree, "", "", ""))
    except Exception as error:
        if "no tree" in str(error):
            return None
        raise


def _origins(path: str, tree: str) -> list[tuple[str, int]]:
    """Names of the files that consecutive rows came from, and numbers of rows."""
    columns = _core.read_columns(path, _RECORD, [*_NAMES, "n_rows", "path"], 0, -1)
    offsets, characters = columns["path"]
    parts = []
    for row, (first, last) in enumerate(pairwise(offsets)):
        if bytes(characters[first:last]).decode() == tree:
            origin = "-".join(str(columns[name][row]) for name in _NAMES)
            parts.append((origin, int(columns["n_rows"][row])))
    return parts


def find(request: dict[str, Any]) -> list[list[int]]:
    """[event, entry] of those of the wanted events that are in a range of entries."""
    import numpy as np  # an index needs none of it

    first, branch = request["first"], request["event_branch"]
    columns = _core.read_columns(request["path"], request["tree"], [branch], first, request["last"])
    numbers = np.asarray(columns[branch]).astype(np.uint64)  # the index has seen none below 0
    wanted = np.array(request["events"], dtype=np.uint64)  # of a list, NumPy would make floats
    places = np.flatnonzero(np.isin(numbers, wanted))
    return [[int(numbers[place]), int(place) + first] for place in places]


def main() -> None:
    """Answers until stdin ends. Stray output of libraries goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    prepare_helper()
    for line in sys.stdin:
        request = json.loads(line)
        limit_cpu(cpu_limit_s([request["path"]], _S_PER_MB))
        replies.write(json.dumps(answer(request), separators=(",", ":")) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
    os._exit(0)  # there is nothing to be tidied up, and ROOT takes 50 ms for it
