"""Where events of outputs go: which tree they are in, and which file, one of all datasets or one of
each that is kept apart."""

from __future__ import annotations

import re
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


def split_tree(tree: str) -> tuple[str, str]:
    """The folder in which a tree is, with a slash at its end, "" if in none; and its name there."""
    name = tree[tree.rfind("/") + 1 :]
    return tree.removesuffix(name), name


def is_pattern(tree: str) -> bool:
    """Whether the name of a tree may stand for several."""
    return bool(set(tree) & set("*?["))


class TreeNames(NamedTuple):
    """Names of trees: of events, and of friends in the same files. `trees`, where it is asked for:
    of events in each file, if `tree` is a pattern."""

    tree: str
    tree_in_outputs: str
    friends: tuple[str, ...]

    def in_outputs(self, trees: Sequence[str]) -> str:
        """That of events: without the cycle that was asked for."""
        if self.tree_in_outputs:
            return self.tree_in_outputs
        if any(trees):
            _, name = split_tree(self.tree)
            return "Events" if is_pattern(name) else name
        return re.sub(r";-?\d+$", "", self.tree)

    def of_entries(self, trees: Sequence[str]) -> list[str]:
        """Those of the files that are not carried as they are."""
        return [self.in_outputs(trees), *dict.fromkeys(filter(None, trees)), *self.friends]


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
