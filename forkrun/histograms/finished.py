"""Histograms of a finished job, read on demand, and separated by dataset; joins histograms of the
same form into one, with an additional axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.importing import collector_paused
from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural
from forkrun.config.modules import NOMINAL, varied_label
from forkrun.errors import InputError
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import HistogramSums, Named

if TYPE_CHECKING:
    from forkrun.histograms.booking import BookedHistogram


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


VARIATION = "variation"
"""Title of the axis of variations."""
MOST_AXES = 3
"""Including the added axis: histograms with more axes are sparse in a ROOT file."""


def stacked(title: str, names: Sequence[str], parts: Mapping[str, HistogramSums]) -> HistogramSums:
    """Joins parts along a last axis of categories; missing parts are empty. Raises ValueError if
    their forms differ."""
    total = next(iter(parts.values())).copy()
    for part in parts.values():
        total.cover(part)
    axis = HistogramAxis(
        AxisKind.CATEGORY, title, tuple(names), False, False, n_declared=len(names)
    )
    axes, every = (*total.axes, axis), [np.arange(axis.extent) for axis in total.axes]
    stack = replace(total, axes=axes, exact=_core.ExactSums(
        total.exact.n_sums, total.exact.n_cells * len(names)))  # fmt: skip
    for number, name in enumerate(names):
        if name in parts:
            own = parts[name].copy()
            own.spread_to(total.axes)
            own.move_to(axes, [*every, np.array([number])])
            stack.exact.merge(own.exact)
    return stack


def restacked(
    title: str, before: tuple[str, ...], names: tuple[str, ...], sums: HistogramSums
) -> HistogramSums:
    """The sums with the categories `names` along their last axis, if it has this title and the
    categories `before`. Removed categories are empty."""
    *others, last = sums.axes
    if before == names or (last.kind, last.title, last.bins) != (AxisKind.CATEGORY, title, before):
        return sums
    axis = replace(last, bins=names, n_declared=len(names))
    numbers = {name: number for number, name in enumerate(names)}
    every = [np.arange(other.extent) for other in others]
    result = sums.copy()
    result.move_to((*others, axis), [*every, np.array([numbers.get(n, 0) for n in before])])
    return result


def with_variations(taken: Sequence[Named], varied: Mapping[str, Sequence[str]]) -> list[Named]:
    """Joins the histograms in `varied`, variations by label of the analyzer; others stay
    unchanged."""
    by_name = {(module, name): histogram for module, name, histogram in taken}
    calls = {varied_label(m, v) for m, names in varied.items() for v in names}
    found = []
    for module, name, histogram in taken:
        if variations := varied.get(module):
            label = {v: module if v == NOMINAL else varied_label(module, v) for v in variations}
            parts = {v: by_name[label[v], name] for v in variations}
            found.append((module, name, stacked(VARIATION, variations, parts)))
        elif module not in calls:
            found.append((module, name, histogram))
    return found


def axes_problems(
    n_axes: Mapping[tuple[str, str], int], varied: Mapping[str, Sequence[str]]
) -> list[str]:
    """Problems of histograms, by module and name, without room for the axis."""
    return [
        f'module "{module}", histogram "{name}": it has {plural(n, "axis")} and gets one'
        f" more for its variations ({', '.join(varied[module][1:3])}, …); at most {MOST_AXES} are "
        "allowed with it: fill histograms with fewer axes"
        for (module, name), n in n_axes.items()
        if module in varied and n >= MOST_AXES
    ]


AXIS = "dataset"


class HistogramsByDataset:
    """Histograms of a module, which fills them for one dataset after the other. `datasets`: names
    of all; `n_more`: number of axes added after that of datasets."""

    def __init__(
        self,
        label: str,
        datasets: Sequence[str],
        booked: Mapping[str, BookedHistogram],
        n_more: int,
    ) -> None:
        self._label, self._datasets, self._booked = label, datasets, booked
        self._most_axes = MOST_AXES - 1 - n_more
        self._present: int | None = None
        self._sums: dict[str, dict[str, HistogramSums]] = {}

    def enter(self, dataset: int) -> None:
        """Assigns the following fills to this dataset."""
        if self._present not in (None, dataset):
            self._store_fills()
        self._present = dataset

    def take(self) -> list[tuple[str, HistogramSums]]:
        """Names and sums since the last call: with an axis of datasets; or one for each dataset,
        NAME_DATASET, where a ROOT file cannot store that axis."""
        self.enter(self._present or 0)
        self._store_fills()
        taken: list[tuple[str, HistogramSums]] = []
        for name, parts in self._sums.items():
            if self._has_room(next(iter(parts.values())).axes):
                taken.append((name, stacked(AXIS, self._datasets, parts)))
                continue
            empty = self._booked[name].take(self._label)  # state right after the last call
            taken += [(f"{name}_{d}", parts.get(d, empty)) for d in self._datasets]
        self.clear()
        return taken

    @property
    def named(self) -> Sequence[str]:
        """Datasets in the names of histograms."""
        booked = self._booked.values()
        return [] if all(self._has_room(b.histogram.axes) for b in booked) else self._datasets

    def _has_room(self, axes: Sequence[object]) -> bool:
        return len(axes) <= self._most_axes

    def clear(self) -> None:
        """Discards the stored sums."""
        self._sums, self._present = {}, None

    def _store_fills(self) -> None:
        assert self._present is not None
        dataset = self._datasets[self._present]
        for name, booked in self._booked.items():
            sums, of_name = booked.take(self._label), self._sums.setdefault(name, {})
            if dataset in of_name:
                of_name[dataset].add(sums)
            else:
                of_name[dataset] = sums
            booked.clear()
