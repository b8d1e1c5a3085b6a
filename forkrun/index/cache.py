"""Indexes kept on disk, so that a second job over the same files starts at once.

A cache that cannot be written costs time, and is not an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct
from msgspec.msgpack import decode, encode

from forkrun import _core
from forkrun.base.durable import write_bytes
from forkrun.config.anchor import is_url
from forkrun.errors import OutputError

_VERSION = 11


class IndexCache(Struct, frozen=True):
    """`folder`: None for a cache that keeps nothing."""

    folder: Path | None

    def find(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Cached index for a request, if the file is unchanged."""
        return _read(self._place(request))

    def keep(self, request: dict[str, Any], index: dict[str, Any]) -> None:
        """Keeps an index, unless the file was replaced since it was read. Concurrent jobs see all
        of it or nothing. It is not synced: an index left incomplete by a machine failure is ignored
        and made again."""
        place = self._place(request)
        if place is not None and _is_of(index, request):
            _write(place, index)

    def find_result(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Cached result of a request, which names all inputs of the result."""
        return _read(self._named(request))

    def keep_result(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        """Keeps a result for the same request."""
        if (place := self._named(request)) is not None:
            _write(place, result)

    def _place(self, request: dict[str, Any]) -> str | None:
        """Path of a cached index; None for a remote file without size and date, in `stat`."""
        if self.folder is None or (is_url(request["path"]) and "stat" not in request):
            return None
        key = dict(request)
        if not is_url(request["path"]):
            try:
                stat = os.stat(request["path"])
            except OSError:
                return None
            key |= {"size": stat.st_size, "mtime": stat.st_mtime_ns, "inode": stat.st_ino}
        if request["lumi_branch"] and not request.get("optional_ids"):
            del key["file_number"]  # only stands in for a lumi that the file does not name
        return self._named(key)

    def _named(self, key: dict[str, Any]) -> str | None:
        if self.folder is None:
            return None
        asked = encode({**key, "version": _VERSION}, order="sorted")
        name = hashlib.sha256(asked).hexdigest()
        return f"{self.folder}/{name[:2]}/{name}.msgpack"  # a Path takes as long as everything else


def _read(place: str | None) -> dict[str, Any] | None:
    """Cached value; None if it is missing or incomplete on disk."""
    if place is None:
        return None
    try:
        with open(place, "rb", buffering=0) as file:
            data = file.read()
        is_whole = data[:_CHECK_BYTES] == _check(memoryview(data)[_CHECK_BYTES:])
        return decode(memoryview(data)[_CHECK_BYTES:], type=dict[str, Any]) if is_whole else None
    except (OSError, DecodeError):
        return None


def _write(place: str, value: dict[str, Any]) -> None:
    data = encode(value)
    with contextlib.suppress(OutputError):
        write_bytes(Path(place), _check(data) + data, durable=False)


_CHECK_BYTES = 4


def _check(data: bytes | memoryview) -> bytes:
    """Checksum written before the data."""
    return _core.crc32c(data).to_bytes(_CHECK_BYTES)


def _is_of(index: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether the file is still the one that was indexed."""
    was = index["n_bytes"], index["modified_ns"]
    if is_url(request["path"]):
        return was == tuple(request["stat"])
    try:
        stat = os.stat(request["path"])
    except OSError:
        return False
    return was == (stat.st_size, stat.st_mtime_ns)
