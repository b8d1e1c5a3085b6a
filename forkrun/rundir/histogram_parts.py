"""The file of a unit's histograms: a header in JSON that says what they are, then plain arrays.

    bytes 0-7     b"frkhist1"
    bytes 8-15    length of the header, little-endian, without a sign
    header        {"histograms": [{"module", "name", "title", "storage", "axes": [...]}, ...]}
    spaces        until the place is a multiple of 8
    sums          float64, little-endian, of one histogram after the other: `HistogramSums.sums`

A run directory may come from another user. So nothing in it is executed (as a pickle would be), and
the reader of one of these files relies on nothing that it says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from forkrun.errors import InputError
from forkrun.rundir.histogram_sums import (
    HistogramAxis,
    HistogramSums,
    Storage,
    Sums,
    check_name,
    check_text,
    shape_of,
)

Named = tuple[str, str, HistogramSums]
"""Module, name, histogram."""

_Described = tuple[str, str, str, Storage, tuple[HistogramAxis, ...]]

_MAGIC = b"frkhist1"
_N_PREFIX = 16
_KEYS = {"module", "name", "title", "storage", "axes"}


def encode(histograms: Sequence[Named]) -> list[bytes | memoryview]:
    """Pieces of the file, to be written one after the other."""
    text = f'{{"histograms": [{", ".join(_describe(*each) for each in histograms)}]}}'.encode()
    text += b" " * (-len(text) % 8)
    prefix = _MAGIC + len(text).to_bytes(8, "little") + text
    return [prefix, *(np.ascontiguousarray(h.sums, dtype="<f8").data for _, _, h in histograms)]


def _describe(module: str, name: str, histogram: HistogramSums) -> str:
    texts = {"module": module, "name": name, "title": histogram.title, "storage": histogram.storage}
    axes = ", ".join(axis.as_json for axis in histogram.axes)
    return f'{json.dumps(texts).removesuffix("}")}, "axes": [{axes}]}}'


def read_parts(file: Path) -> list[Named]:
    """What was given to `encode`; the sums are read-only. Raises InputError that names the file."""
    try:
        return list(_decode(file.read_bytes()))
    except OSError as error:
        raise InputError(f"{file}: cannot read these histograms: {error.strerror}") from None
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise InputError(f"{file}: these are not the histograms of a unit: {error}") from None


def _decode(data: bytes) -> Iterator[Named]:
    place = _N_PREFIX + _n_header(data)
    for module, name, title, storage, axes in _header(data[_N_PREFIX:place]):
        shape = shape_of(storage, axes)
        n_bytes = 8 * math.prod(shape)
        if place + n_bytes > len(data):
            raise ValueError(f"{module}/{name} goes beyond the end of the file")
        sums: Sums = np.frombuffer(data, "<f8", n_bytes // 8, place).reshape(shape)
        place += n_bytes
        yield module, name, HistogramSums(title, axes, storage, sums)
    if place != len(data):
        raise ValueError(f"{len(data) - place} bytes follow the last histogram")


def _n_header(data: bytes) -> int:
    n_header = int.from_bytes(data[8:_N_PREFIX], "little")
    if not data.startswith(_MAGIC) or len(data) < _N_PREFIX:
        raise ValueError("it does not begin as one")
    if n_header % 8 or _N_PREFIX + n_header > len(data):
        raise ValueError("its header goes beyond the end of the file")
    return n_header


@lru_cache(maxsize=4)  # most units have the same
def _header(text: bytes) -> tuple[_Described, ...]:
    header = json.loads(text.decode("utf-8"))
    if not isinstance(header, dict) or not isinstance(header.get("histograms"), list):
        raise ValueError("its header is no list of histograms")
    return tuple(map(_described, header["histograms"]))


def _described(value: Any) -> _Described:
    if not isinstance(value, dict) or value.keys() != _KEYS or not isinstance(value["axes"], list):
        raise ValueError("a histogram has other keys than it should")
    check_name(value["module"])
    check_name(value["name"])
    check_text(value["title"], "the title of a histogram")
    axes = tuple(HistogramAxis.from_json(axis) for axis in value["axes"])
    return value["module"], value["name"], value["title"], Storage(value["storage"]), axes
