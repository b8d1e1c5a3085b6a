"""New lines of files that others append to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forkrun.base.regular_file import open_regular

_MOST_AT_ONCE = 4 << 20
"""Bytes that one look reads of a file; the rest is there at the next."""


class Tail:
    """Complete lines of a file, each once. A file that is missing, or not regular, has none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._begun = b""

    def lines(self) -> list[bytes]:
        """Those that were completed since the last call. Reads from the beginning again if the file
        has become shorter."""
        try:
            descriptor = open_regular(self.path)
        except OSError:
            return []
        try:
            return self._new(descriptor)
        except OSError:
            return []
        finally:
            os.close(descriptor)

    def _new(self, descriptor: int) -> list[bytes]:
        if os.fstat(descriptor).st_size < self._offset:
            self._offset, self._begun = 0, b""
        data = os.pread(descriptor, _MOST_AT_ONCE, self._offset)
        self._offset += len(data)
        *complete, self._begun = (self._begun + data).split(b"\n")
        return complete


class JsonTail:
    """The same as objects of JSON; damaged lines are left out."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)

    def values(self) -> Iterator[dict[str, Any]]:
        """Those since the last call."""
        for line in self._tail.lines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
