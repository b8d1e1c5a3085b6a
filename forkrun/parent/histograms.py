"""Histograms of a finished job, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forkrun.base.lasting import lasting_objects
from forkrun.base.nearest import suggestion
from forkrun.errors import InputError


class Histograms(Mapping[str, Any]):
    """`hist.Hist` by name: "MODULE/NAME", or the last part of it where no other histogram has the
    same. Each is read once, and is then the reader's own."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._read: dict[str, Any] = {}
        self._names: dict[str, str] | None = None

    def __getitem__(self, name: str) -> Any:
        whole = self._whole_names().get(name)
        if whole is None:
            raise KeyError(f'there is no histogram "{name}"' + suggestion(name, self))
        if whole not in self._read:
            with self._open() as file:
                stored = file[whole]
            if not hasattr(stored, "to_hist"):
                raise InputError(
                    f"{self._file}: histogram {whole} is a sparse one, which uproot cannot give to"
                    " hist: read it with ROOT, or write merge.histograms_json = true and read"
                    " output/histograms.json"
                )
            self._read[whole] = with_names(stored.to_hist())
        return self._read[whole]

    def __iter__(self) -> Iterator[str]:
        """The shortest name of each."""
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
        with lasting_objects():
            import uproot
        try:
            return uproot.open(self._file)
        except OSError as error:
            raise InputError(f"{self._file}: cannot be read: {error}") from error


def with_names(histogram: Any) -> Any:
    """The histogram with axes that are named by their labels, where these can be names: a ROOT file
    has only labels, "dataset" and "variation" among them."""
    labels = [axis.label for axis in histogram.axes]
    for axis in histogram.axes:
        if axis.label.isidentifier() and labels.count(axis.label) == 1:
            axis._ax.raw_metadata["name"] = axis.label
    return histogram


def _by_name(keys: list[str]) -> dict[str, str]:
    """Whole names by all names: those themselves, and last parts that only one of them has."""
    whole = [key for key in keys if not any(other.startswith(f"{key}/") for other in keys)]
    last = [key.rpartition("/")[2] for key in whole]
    short = {name: key for name, key in zip(last, whole, strict=True) if last.count(name) == 1}
    return {**short, **{key: key for key in whole}}
