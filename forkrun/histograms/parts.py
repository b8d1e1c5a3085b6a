"""Content of a histogram as exact sums that can be added, of one unit or of a whole job, and the
file of those of a unit: a header in JSON with their descriptions, then their sums.

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
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.histograms.axes import HistogramAxis, check_text

Sums = npt.NDArray[np.float64]

MOST_BYTES = 1_000_000_000
"""Size limit of the sums of one histogram: ROOT writes objects of 1 GB at most."""
MOST_AXES = 32
"""Limit of boost-histogram."""
MOST_AXES_OF_PROFILE = 3


class Storage(StrEnum):
    """Sums kept per bin. w: weights of fills; y: the averaged values of a profile."""

    COUNTS = "counts"
    WEIGHTS = "weights"
    MEANS = "means"
    WEIGHTED_MEANS = "weighted means"

    @property
    def is_profile(self) -> bool:
        return self in (Storage.MEANS, Storage.WEIGHTED_MEANS)

    @property
    def has_squares(self) -> bool:
        """Whether sums of squared weights are kept."""
        return self in (Storage.WEIGHTS, Storage.WEIGHTED_MEANS)

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the sums, in the order in which they are kept."""
        squares, samples = ("w2",) * self.has_squares, ("wy", "wy2") * self.is_profile
        return ("w", *squares, *samples)


def check_name(name: Any) -> None:
    """Raises ValueError unless it can name an object in folders ("cuts/mass") of a ROOT file."""
    check_text(name, "the name of a histogram")
    if not all(part.strip(" .") for part in name.split("/")) or not name.isprintable():
        raise ValueError(f"a histogram, or a folder of it, cannot be called {name!r}")
    if ";" in name:  # "mass;2" is the second version of mass
        raise ValueError(f"the name of a histogram contains a semicolon: {name!r}")


class HistogramNames:
    """Names of a module's histograms, which are in folders of one ROOT file."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._within: dict[str, str] = {}  # a histogram in each folder

    def add(self, name: str) -> None:
        """Adds a name. Raises ValueError unless it can be in one file with the others."""
        check_name(name)
        parts = name.split("/")
        folders = ["/".join(parts[:n]) for n in range(1, len(parts))]
        pairs = [(folder, name) for folder in folders if folder in self._taken]
        if name in self._within:
            pairs.append((name, self._within[name]))
        for folder, inside in pairs:
            raise ValueError(f"there cannot be both a histogram {folder!r} and {inside!r}")
        self._taken.add(name)
        self._within.update(dict.fromkeys(folders, name))


class HistogramSums(Struct):
    """`exact`: (n_sums, n_cells): the first axis runs fastest, as in ROOT; flow bins as in the
    axes. `sparse`: the file has filled bins only, as for more than three axes."""

    title: str
    axes: tuple[HistogramAxis, ...]
    storage: Storage
    exact: _core.ExactSums
    sparse: bool = False

    def __post_init__(self) -> None:
        n_sums, *extents = shape_of(self.storage, self.axes)
        if (self.exact.n_sums, self.exact.n_cells) != (n_sums, math.prod(extents)):
            raise ValueError(f"sums of {plural(self.exact.n_cells, 'bin')} do not fit the axes")

    @property
    def sums(self) -> Sums:
        """(n_sums, …, extent of axis 1, of axis 0) float64, correctly rounded."""
        return self.exact.rounded().reshape(shape_of(self.storage, self.axes))

    def copy(self) -> HistogramSums:
        return replace(self, exact=self.exact.copy())

    def add(self, other: HistogramSums) -> None:
        """Adds in place; growing axes get the bins of both. Raises ValueError for sums of another
        histogram."""
        about = attrgetter("title", "storage", "sparse")
        if about(self) != about(other):
            raise ValueError("their titles or storages differ")
        if len(self.axes) != len(other.axes):
            raise ValueError("they do not have the same number of axes")
        if self.axes != other.axes:
            self.cover(other)
            other = other.copy()
            other.spread_to(self.axes)
        self.exact.merge(other.exact)

    def cover(self, other: HistogramSums) -> None:
        """Adds the other's bins to growing axes. Raises ValueError if other axes differ."""
        pairs = zip(self.axes, other.axes, strict=True)
        self.spread_to(tuple(one.joined(another) for one, another in pairs))

    def in_order(self) -> HistogramSums:
        """The sums with categories in the order of the file: declared ones, then sorted ones of
        fills; independent of the order in which children saw them."""
        result = self.copy()
        result.spread_to(tuple(axis.in_order() for axis in self.axes))
        return result

    def spread_to(self, axes: tuple[HistogramAxis, ...]) -> None:
        """Moves the sums to axes that contain all present bins."""
        if axes != self.axes:
            pairs = zip(self.axes, axes, strict=True)
            self.move_to(axes, [old.places_in(new) for old, new in pairs])

    def move_to(
        self, axes: tuple[HistogramAxis, ...], places: Sequence[npt.NDArray[np.intp]]
    ) -> None:
        """Moves the sums to other axes, whose sums of several bins may be added. `places`: for each
        new axis (extent,) the new index of each present bin; one for an axis that is added."""
        _, *extents = shape_of(self.storage, axes)
        cells, stride = np.zeros(1, dtype=np.intp), 1
        for one, new in zip(places, axes, strict=True):
            cells = (one[:, np.newaxis] * stride + cells).ravel()
            stride *= new.extent
        self.exact.move_cells(cells.astype(np.uint32), math.prod(extents))
        self.axes = axes


def shape_of(storage: Storage, axes: Sequence[HistogramAxis]) -> tuple[int, ...]:
    """Shape of a histogram's sums. Raises ValueError if ROOT cannot store them."""
    if not 1 <= len(axes) <= (MOST_AXES_OF_PROFILE if storage.is_profile else MOST_AXES):
        raise ValueError(
            f"it has {plural(len(axes), 'axis')}; {MOST_AXES} at most can be written to ROOT files,"
            f" and {MOST_AXES_OF_PROFILE} of a profile"
        )
    shape = (len(storage.sums), *(axis.extent for axis in reversed(axes)))
    in_root = 8 * len(storage.sums) * math.prod(axis.n_bins + 2 for axis in axes)
    if in_root > MOST_BYTES:
        raise ValueError(
            f"it takes {in_root / 1e9:.1f} GB; objects of {MOST_BYTES / 1e9:.0f} GB at most can be"
            " written to ROOT files"
        )
    return shape


def check_sparse(storage: Storage, sparse: bool) -> None:
    """Raises ValueError if ROOT has no such object."""
    if sparse and storage.is_profile:
        raise ValueError("ROOT has no sparse profile")


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
