"""The file of a unit's histograms: a header in JSON with their descriptions, then their sums.

    bytes 0-7     b"frkhist3"
    bytes 8-15    length of the header, little-endian, without a sign
    header        {"histograms": [{"module", "name", "title", "storage", "sparse", "axes"}, ...]}
    spaces        until the place is a multiple of 8
    sums          of one histogram after the other, in words of 8 bytes, little-endian: the number
                  of words, then what `ExactSums.packed` gives: the filled bins, in fixed point

A run directory may come from another user. So nothing in it is executed (unlike a pickle), and the
reader checks everything in it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.histograms.axes import HistogramAxis, check_text
from forkrun.histograms.sums import HistogramSums, Storage, check_name, shape_of

Named = tuple[str, str, HistogramSums]
"""Module, name, histogram."""

_Described = tuple[str, str, str, Storage, bool, tuple[HistogramAxis, ...]]

_MAGIC = b"frkhist3"
_N_PREFIX = 16
_KEYS = {"module", "name", "title", "storage", "sparse", "axes"}


def encode(histograms: Sequence[Named]) -> list[bytes | memoryview]:
    """Pieces of the file, in order."""
    text = f'{{"histograms": [{", ".join(_describe(*each) for each in histograms)}]}}'.encode()
    text += b" " * (-len(text) % 8)
    prefix = _MAGIC + len(text).to_bytes(8, "little") + text
    return [prefix, *chain.from_iterable(_packed(h.exact) for _, _, h in histograms)]


def _packed(sums: _core.ExactSums) -> Iterator[bytes | memoryview]:
    words = sums.packed().astype("<u8", copy=False)
    yield len(words).to_bytes(8, "little")
    yield words.data


def _describe(module: str, name: str, histogram: HistogramSums) -> str:
    texts = {
        "module": module,
        "name": name,
        "title": histogram.title,
        "storage": histogram.storage,
        "sparse": histogram.sparse,
    }
    axes = ", ".join(axis.as_json for axis in histogram.axes)
    return f'{json.dumps(texts).removesuffix("}")}, "axes": [{axes}]}}'


def read_parts(file: Path) -> list[Named]:
    """Inverse of `encode`. Raises InputError, which names the file."""
    try:
        return list(_decode(read_regular(file)))
    except OSError as error:
        raise InputError(f"{file}: cannot read these histograms: {error.strerror}") from None
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise InputError(f"{file}: these are not the histograms of a unit: {error}") from None


def _decode(data: bytes) -> Iterator[Named]:
    place = _N_PREFIX + _n_header(data)
    for module, name, title, storage, sparse, axes in _header(data[_N_PREFIX:place]):
        n_sums, *extents = shape_of(storage, axes)
        end = place + 8 + 8 * int.from_bytes(data[place : place + 8], "little")
        if place + 8 > len(data) or end > len(data):
            raise ValueError(f"{module}/{name} goes beyond the end of the file")
        words = np.frombuffer(data, "<u8", offset=place + 8, count=(end - place - 8) // 8)
        try:
            sums = _core.ExactSums.unpacked(words, n_sums, math.prod(extents))
        except ValueError as error:
            raise ValueError(f"{module}/{name}: {error}") from None
        place = end
        yield module, name, HistogramSums(title, axes, storage, sums, sparse)
    if place != len(data):
        raise ValueError(f"{plural(len(data) - place, 'byte')} after the last histogram")


def _n_header(data: bytes) -> int:
    n_header = int.from_bytes(data[8:_N_PREFIX], "little")
    if not data.startswith(_MAGIC) or len(data) < _N_PREFIX:
        raise ValueError("it does not begin as one")
    if n_header % 8 or _N_PREFIX + n_header > len(data):
        raise ValueError("its header goes beyond the end of the file")
    return n_header


@lru_cache(maxsize=4)  # most units have the same header
def _header(text: bytes) -> tuple[_Described, ...]:
    header = json.loads(text.decode("utf-8"))
    if not isinstance(header, dict) or not isinstance(header.get("histograms"), list):
        raise ValueError("its header is not a list of histograms")
    return tuple(map(_described, header["histograms"]))


def _described(value: Any) -> _Described:
    if not isinstance(value, dict) or value.keys() != _KEYS or not isinstance(value["axes"], list):
        raise ValueError("a histogram has unexpected keys")
    check_name(value["module"])
    check_name(value["name"])
    check_text(value["title"], "the title of a histogram")
    axes = tuple(HistogramAxis.from_json(axis) for axis in value["axes"])
    if type(value["sparse"]) is not bool:
        raise ValueError("a histogram is neither sparse nor not")
    texts = value["module"], value["name"], value["title"]
    return *texts, Storage(value["storage"]), value["sparse"], axes
