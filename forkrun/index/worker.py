"""A helper process that reads indexes: one request per line on stdin, one answer per line on
stdout. What ROOT opens, loads or starts here ends with this process."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

from forkrun import _core
from forkrun.errors import ForkrunError


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """`{"index": …}`, of a request for events `{"found": [[event, entry], …]}`, or
    `{"error": message}`."""
    try:
        if "events" in request:
            return {"found": find(request)}
        return {"index": _core.index_tree(**request)}
    except (ForkrunError, OSError, RuntimeError, ValueError) as error:
        return {"error": str(error)}


def find(request: dict[str, Any]) -> list[list[int]]:
    """[event, entry] of those of the wanted events that are in a range of entries."""
    first, branch = request["first"], request["event_branch"]
    columns = _core.read_columns(request["path"], request["tree"], [branch], first, request["last"])
    numbers = np.asarray(columns[branch])
    places = np.flatnonzero(np.isin(numbers, request["events"]))
    return [[int(numbers[place]), int(place) + first] for place in places]


def main() -> None:
    """Answers until stdin ends. Stray output of libraries goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line)), separators=(",", ":")) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
