"""Datasets that are kept apart, and where events of outputs go: to one file, or to one for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

APART, TOGETHER = "apart", "together"
DATASET, NAMES = "dataset", "datasets"
"""Column of outputs of all datasets together, with a number; and the object beside it that has
their names, a list in JSON."""


class DatasetApart(NamedTuple):
    """One of several datasets of a job."""

    name: str
    is_data: bool


def datasets_in(config: Mapping[str, Any]) -> dict[int, DatasetApart]:
    """By number, the datasets that are read; none unless the configuration has several."""
    given = config.get("datasets") or ()
    chosen = config.get("source", {}).get("datasets") or [each["name"] for each in given]
    return {
        n: DatasetApart(str(each["name"]), bool(each.get("is_data")))
        for n, each in enumerate(given)
        if each["name"] in chosen and len(given) > 1
    }


def are_mixed(datasets: Iterable[DatasetApart]) -> bool:
    """Whether there are data and simulation: then no sum over all of them means anything."""
    return len({dataset.is_data for dataset in datasets}) > 1


class Destination(NamedTuple):
    """What events of an output go to. `name`: of its file or folder, without suffix, in output/:
    LABEL, or LABEL/DATASET; `dataset`: number of the only one whose events these are, None: all."""

    label: str
    name: str
    dataset: int | None = None

    def has(self, dataset: int) -> bool:
        """Whether events of the dataset with this number go here."""
        return self.dataset in (None, dataset)


def destinations(
    outputs: Mapping[str, str | None], datasets: Sequence[str], chosen: Collection[str] = ()
) -> list[Destination]:
    """Those of a job, dataset by dataset within an output. `outputs`: by label, how datasets are in
    it; `chosen`: names of the only datasets that are read; none: all."""
    read = [(n, name) for n, name in enumerate(datasets) if not chosen or name in chosen]
    return [
        destination
        for label, how in outputs.items()
        for destination in (
            [Destination(label, f"{label}/{name}", n) for n, name in read]
            if how == APART
            else [Destination(label, label)]
        )
    ]


def destinations_in(config: Mapping[str, Any]) -> list[Destination]:
    """Those of a configuration as config.json has it."""
    return destinations(
        {str(output["label"]): output.get("datasets") for output in config.get("outputs", ())},
        [str(dataset["name"]) for dataset in config.get("datasets", ())],
        config.get("source", {}).get("datasets") or (),
    )
