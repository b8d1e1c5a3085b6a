"""Histograms of a finished job, read on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from forkrun.base.importing import collector_paused
from forkrun.base.nearest import suggestion
from forkrun.errors import InputError


class Histograms(Mapping[str, Any]):
    """`hist.Hist` by name: "MODULE/NAME", or its last part if that is unique. Each is read once and
    may be changed."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._read: dict[str, Any] = {}
        self._names: dict[str, str] | None = None

    def __getitem__(self, name: str) -> Any:
        whole = self._whole_names().get(name)
        if whole is None:
            raise KeyError(f'unknown histogram "{name}"' + suggestion(name, self))
        if whole not in self._read:
            with self._open() as file:
                stored = file[whole]
            if stored.classname.startswith("THnSparse"):
                raise InputError(
                    f"{self._file}: histogram {whole} is sparse, which uproot cannot convert to "
                    "hist: read it with ROOT, or set merge.histograms_json = true and read"
                    " output/histograms.json"
                )
            is_profile = stored.classname.startswith("TProfile")
            made = profile_of(stored) if is_profile else stored.to_hist()
            self._read[whole] = with_names(made)
        return self._read[whole]

    def __iter__(self) -> Iterator[str]:
        """Iterates over the shortest names."""
        shortest: dict[str, str] = {}
        for name, whole in self._whole_names().items():
            if len(name) <= len(shortest.get(whole, name)):
                shortest[whole] = name
        return iter(shortest.values())

    def __len__(self) -> int:
        return len(set(self._whole_names().values()))

    def __repr__(self) -> str:
        return f"Histograms({', '.join(self)})"

    def _whole_names(self) -> dict[str, str]:
        if self._names is None:
            self._names = {}
            if self._file is not None:
                with self._open() as file:
                    self._names = _by_name(file.keys(cycle=False, recursive=True))
        return self._names

    def _open(self) -> Any:
        with collector_paused():
            import uproot
        try:
            return uproot.open(self._file)
        except OSError as error:
            raise InputError(f"{self._file}: cannot be read: {error}") from error


def with_names(histogram: Any) -> Any:
    """The histogram with axes named by their labels, where possible: a ROOT file has only labels,
    such as "dataset" and "variation"."""
    labels = [axis.label for axis in histogram.axes]
    for axis in histogram.axes:
        if axis.label.isidentifier() and labels.count(axis.label) == 1:
            axis._ax.raw_metadata["name"] = axis.label
    return histogram


def profile_of(stored: Any) -> Any:
    """A profile with any number of axes as a histogram of means. uproot supports one axis only, and
    has NaN in empty weighted bins."""
    import hist

    names = ("fXaxis", "fYaxis", "fZaxis")[: len(stored.axes)]
    axes = [_axis_of(stored.member(name)) for name in names]
    storage = hist.storage.WeightedMean() if stored.weighted else hist.storage.Mean()
    made = hist.Hist(*axes, storage=storage, name=stored.name, label=stored.title)
    shape = [stored.member(name).member("fNbins") + 2 for name in names]
    own = tuple(slice(int(not axis.traits.underflow), None) for axis in axes)

    def cells(values: Any) -> Any:
        return np.asarray(values, np.float64).reshape(shape[::-1]).T[own]

    entries, view = cells(stored.member("fBinEntries")), made.view(flow=True)
    sums, squares = cells(stored.base("TArrayD")[0]), cells(stored.member("fSumw2"))
    view.value = np.divide(sums, entries, out=np.zeros_like(sums), where=entries != 0)
    deltas = np.maximum(squares - entries * view.value**2, 0)
    if stored.weighted:
        view.sum_of_weights, view._sum_of_weighted_deltas_squared = entries, deltas
        view.sum_of_weights_squared = cells(stored.member("fBinSumw2"))
    else:
        view.count, view._sum_of_deltas_squared = entries, deltas
    return made


def _axis_of(axis: Any) -> Any:
    import hist

    words = {"name": axis.member("fName"), "label": axis.member("fTitle")}
    if (labels := axis.member("fLabels", none_if_missing=True)) is not None:
        texts = [str(label) for label in labels]
        if all(text.lstrip("-").isdecimal() for text in texts):
            return hist.axis.IntCategory([int(text) for text in texts], **words)
        return hist.axis.StrCategory(texts, **words)
    if len(edges := axis.member("fXbins", none_if_missing=True) or ()) > 1:
        return hist.axis.Variable(list(edges), **words)
    n_bins, low, high = (axis.member(name) for name in ("fNbins", "fXmin", "fXmax"))
    return hist.axis.Regular(n_bins, low, high, **words)


def _by_name(keys: list[str]) -> dict[str, str]:
    """Whole names by accepted names: whole names and unique last parts."""
    whole = [key for key in keys if not any(other.startswith(f"{key}/") for other in keys)]
    last = [key.rpartition("/")[2] for key in whole]
    short = {name: key for name, key in zip(last, whole, strict=True) if last.count(name) == 1}
    return {**short, **{key: key for key in whole}}
