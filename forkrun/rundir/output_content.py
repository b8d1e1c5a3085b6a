"""What outputs hold, kept in the run directory: a merge at any later time makes them from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from forkrun.base.destinations import Destination
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.rundir.directory import RunDirectory


class OutputContent(Struct, frozen=True):
    """The tree of an output. `branches`: of the input, with the counters that they need;
    `products`: name and type of each new column; `trees`: by path, branches of those that go with
    its events; `members`: columns within the branches, which files of plain columns have in their
    place; `apart`: what the file of a dataset holds, by its number, if that differs: fragments have
    the products of all."""

    branches: Sequence[str]
    products: Sequence[tuple[str, str]]
    trees: Mapping[str, Sequence[str]] = {}
    members: Sequence[str] = ()
    apart: Mapping[int, OutputContent] = {}


class OutputContents(Struct, frozen=True):
    """`by_label`: of each output; `clusters`: for each file of the input the first entry of each
    cluster, then its number of entries; `with_events`: the same of trees that go with the events,
    by path; `input_format`: name of the format that the input has."""

    by_label: Mapping[str, OutputContent]
    clusters: Sequence[Sequence[int]]
    with_events: Mapping[str, Sequence[Sequence[int]]] = {}
    input_format: str = "ttree"

    def of(self, destination: Destination) -> OutputContent:
        """What a file holds, of one dataset or of all."""
        whole = self.by_label[destination.label]
        return whole.apart.get(-1 if destination.dataset is None else destination.dataset, whole)


def read_contents(folder: RunDirectory) -> OutputContents:
    """What the outputs of a run hold. Raises InputError."""
    try:
        return msgspec.json.decode(read_regular(folder.output_contents), type=OutputContents)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{folder.output_contents}: cannot be read: {error}") from None
