"""A helper process that reads indexes: one request per line on stdin, one answer per line on
stdout. What ROOT opens, loads or starts here ends with this process."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from forkrun import _core
from forkrun.fork.contained import cpu_limit_s, limit_cpu, prepare_helper

_S_PER_MB = 1.0  # a hundred times what the id branches take


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """`{"index": …}`, of a request for events `{"found": [[event, entry], …]}`, of one for a sum
    `{"sum": number}`, or `{"error": message}`."""
    try:
        if "sum_of" in request:
            return {"sum": total(request)}
        if "events" in request:
            return {"found": find(request)}
        return {"index": _core.index_tree(**request)}
    except MemoryError:
        return {"error": "more memory is needed than a helper may have; is the file damaged?"}
    except Exception as error:
        return {"error": str(error) or type(error).__name__}


def total(request: dict[str, Any]) -> float | None:
    """Sum of a column over all entries of a tree; None if there is no such tree or column."""
    import numpy as np

    path, tree = request["path"], request["tree"]
    try:
        index = _core.index_tree(path, tree, "", "", "")
    except Exception as error:
        if "no tree" in str(error):
            return None
        raise
    names = [name for name, *_ in index["branches"] if name in request["sum_of"]]
    if not names:
        return None
    columns = _core.read_columns(path, tree, names[:1], 0, index["n_entries"])
    return float(np.sum(np.asarray(columns[names[0]], dtype=np.float64)))


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
