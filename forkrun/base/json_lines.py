"""Files of one JSON value per line, written by one call per batch of lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

_AS_JSON = json.JSONEncoder(separators=(",", ":"))


class JsonLines:
    """Appends lines without a buffer, so that a fork or a crash neither doubles nor loses one."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def append(self, values: Iterable[Mapping[str, Any]]) -> None:
        """Writes the values, in order, by one call."""
        lines = list(map(_AS_JSON.encode, values))
        if lines:
            os.write(self._fd, "\n".join([*lines, ""]).encode())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Every complete line of a file; none if there is no file. A last line cut off by a crash
    is left out."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    complete = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in complete.splitlines() if line.strip()]
