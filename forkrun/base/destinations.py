"""Destinations of events in outputs: their tree and their file, one for all datasets or one for
each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

APART, TOGETHER = "apart", "together"
DATASET, NAMES = "dataset", "datasets"
"""Column with the number of the dataset in outputs of all datasets; and the object with the names,
a list in JSON."""


class DatasetApart(NamedTuple):
    """One of several datasets of a job."""

    name: str
    is_data: bool


def datasets_in(config: Mapping[str, Any]) -> dict[int, DatasetApart]:
    """Datasets to read, by number; none unless the configuration has several."""
    given = config.get("datasets") or ()
    chosen = config.get("source", {}).get("datasets") or [each["name"] for each in given]
    return {
        n: DatasetApart(str(each["name"]), bool(each.get("is_data")))
        for n, each in enumerate(given)
        if each["name"] in chosen and len(given) > 1
    }


def are_mixed(datasets: Iterable[DatasetApart]) -> bool:
    """Whether there are both data and simulation: then sums over all datasets are meaningless."""
    return len({dataset.is_data for dataset in datasets}) > 1


def split_tree(tree: str) -> tuple[str, str]:
    """Folder of a tree with a slash at the end, "" without one; and the tree's name in it."""
    name = tree[tree.rfind("/") + 1 :]
    return tree.removesuffix(name), name


def is_pattern(tree: str) -> bool:
    """Whether the name of a tree is a pattern."""
    return bool(set(tree) & set("*?["))


class TreeNames(NamedTuple):
    """Names of trees: of events, and of friends in the same files. `trees` in methods: names of the
    event tree in each file, if `tree` is a pattern."""

    tree: str
    tree_in_outputs: str
    friends: tuple[str, ...]

    def in_outputs(self, trees: Sequence[str]) -> str:
        """Name of the event tree in outputs: without a cycle."""
        if self.tree_in_outputs:
            return self.tree_in_outputs
        if any(trees):
            _, name = split_tree(self.tree)
            return "Events" if is_pattern(name) else name
        return re.sub(r";-?\d+$", "", self.tree)

    def of_entries(self, trees: Sequence[str]) -> list[str]:
        """Names of trees in the files that are not copied as a whole."""
        return [self.in_outputs(trees), *dict.fromkeys(filter(None, trees)), *self.friends]


class Destination(NamedTuple):
    """Destination of an output's events. `name`: of its file or folder, without suffix, in output/:
    LABEL, or LABEL/DATASET; `dataset`: number of its only dataset, None: all."""

    label: str
    name: str
    dataset: int | None = None

    def has(self, dataset: int) -> bool:
        """Whether events of the dataset with this number belong here."""
        return self.dataset in (None, dataset)


def destinations(
    outputs: Mapping[str, str | None], datasets: Sequence[str], chosen: Collection[str] = ()
) -> list[Destination]:
    """Destinations of a job, dataset by dataset within an output. `outputs`: by label, apart or
    together; `chosen`: names of the datasets to read; empty: all."""
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
    """Destinations of a configuration, in the form of config.json."""
    return destinations(
        {str(output["label"]): output.get("datasets") for output in config.get("outputs", ())},
        [str(dataset["name"]) for dataset in config.get("datasets", ())],
        config.get("source", {}).get("datasets") or (),
    )
