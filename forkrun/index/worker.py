"""A helper process that reads indexes: one request per line on stdin, one answer per line on
stdout. What ROOT opens, loads or starts here ends with this process."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from forkrun import _core


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """`{"index": …}` or `{"error": message}`."""
    try:
        return {"index": _core.index_tree(**request)}
    except (_core.Error, OSError, RuntimeError, ValueError) as error:
        return {"error": str(error)}


def main() -> None:
    """Answers until stdin ends. Stray output of libraries goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line)), separators=(",", ":")) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
