"""Files of one JSON value per line, written by one call per batch of lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from forkrun.base.durable import open_to_append
from forkrun.base.regular_file import read_regular

_AS_JSON = json.JSONEncoder(separators=(",", ":"))


class JsonLines:
    """Appends lines without a buffer: forks and crashes neither double nor lose one."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = open_to_append(path)
        end_last_line(self._fd)

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

    def __exit__(self, *_: object) -> None:
        self.close()


def end_last_line(descriptor: int) -> None:
    """Ends the last line of a file if its writer died within it: the next writer must not continue
    it. Readers skip empty lines."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")


def complete_lines(data: bytes) -> list[bytes]:
    """Complete lines, without their ends: drops a last line whose writer died."""
    lines = data.split(b"\n")
    lines.pop()
    return lines


def read_json_lines(
    path: Path,
    damaged: list[str] | None = None,
    read: Callable[[Path], bytes] = read_regular,
) -> list[dict[str, Any]]:
    """All complete lines of a file, as JSON objects; none if the file is missing. `damaged` is
    called with a text for other lines; without it they raise ValueError. `read`: returns the file's
    content."""
    try:
        data = read(path)
    except FileNotFoundError:
        return []
    values = []
    for number, line in enumerate(complete_lines(data), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            value = error
        if isinstance(value, dict):
            values.append(value)
        elif damaged is None:
            raise ValueError(f"{path}: line {number} is not a JSON object")
        else:
            damaged.append(f"{path.name}: line {number} is not a JSON object")
    return values
