"""Index of a file whose columns are read as a whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core

Integers = npt.NDArray[np.uint64]


def columns_index(
    name: str,
    path: str,
    branches: Sequence[tuple[str, str]],
    clusters: Sequence[int],
    ids: tuple[Integers, Integers, Integers],
    uuid: str = "",
    status: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Index as returned by `Format.index`. `name`: of the format; `branches`: name and type of each
    column; `clusters`: first entry of each, then the number of entries; `ids`: (n,) run, lumi and
    number of each event; `uuid`: 32 digits that identify the file, "": taken from its content;
    `status`: bytes of the file and time of the last change [ns], None: those of a local file."""
    n_bytes, modified_ns = status or _status(path)
    _, _, event = ids
    ranges, borders = _ranges(*ids)
    return {
        "format": name,
        "uuid": uuid or _uuid(path),
        "n_bytes": n_bytes,
        "modified_ns": modified_ns,
        "n_entries": len(event),
        "clusters": list(clusters),
        "ranges": ranges,
        "events": [int(event.min()), int(event.max())] if len(event) else [0, 0],
        "rises": all(
            (np.diff(event[first:last].astype(np.int64)) > 0).all()
            for first, last in pairwise(borders)
        ),
        "absent": "",
        "branches": [[name, kind, ""] for name, kind in branches],
        "members": [],
        "forms": [],
        "short_branches": [],
        "stored_friends": [],
        "other_objects": ["", "", []],
    }


def _status(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def made_up_ids(n_entries: int, file_number: int) -> tuple[Integers, Integers, Integers]:
    """Ids of entries without any: run 1, a lumi for each file, the entry's number."""
    ones = np.ones(n_entries, np.uint64)
    return ones, ones * np.uint64(file_number + 1), np.arange(n_entries, dtype=np.uint64)


def _ranges(
    run: Integers, lumi: Integers, event: Integers
) -> tuple[dict[str, bytes], Sequence[int]]:
    """Longest ranges of entries with the same lumi; and the first entry of each, then the total
    number."""
    changes = np.flatnonzero((np.diff(run) != 0) | (np.diff(lumi) != 0)) + 1
    borders = [0, *changes.tolist(), len(event)] if len(event) else [0]
    digests = ""
    for first, last in pairwise(borders):
        digest = _core.EventDigest()
        digest.add(int(run[first]), int(lumi[first]), event[first:last])
        digests += digest.hex
    firsts = borders[:-1]
    words = np.frombuffer(bytes.fromhex(digests), ">u4").astype(np.uint32)
    ranges = {
        "run": run[firsts].astype(np.uint32).tobytes(),
        "lumi": lumi[firsts].astype(np.uint32).tobytes(),
        "last": np.array(borders[1:], np.int64).tobytes(),
        "digest": words.tobytes(),
    }
    return ranges, borders


def _uuid(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
