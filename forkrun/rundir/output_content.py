"""Contents of outputs, kept in the run directory so that a later merge can make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from forkrun.base.destinations import Destination
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.rundir.directory import RunDirectory


class OutputContent(Struct, frozen=True):
    """The tree of an output. `branches`: of the input, with the counters they need; `products`:
    name and type of each new column; `trees`: branches of the trees that accompany its events, by
    path; `members`: columns within the branches, which replace them in files of plain columns;
    `apart`: content of a dataset's file, by its number, where it differs: fragments have the
    products of all."""

    branches: Sequence[str]
    products: Sequence[tuple[str, str]]
    trees: Mapping[str, Sequence[str]] = {}
    members: Sequence[str] = ()
    apart: Mapping[int, OutputContent] = {}


class OutputContents(Struct, frozen=True):
    """`by_label`: content of each output; `clusters`: for each input file the first entry of each
    cluster, then its number of entries; `with_events`: the same for trees that accompany the
    events, by path; `input_format`: name of the input's format."""

    by_label: Mapping[str, OutputContent]
    clusters: Sequence[Sequence[int]]
    with_events: Mapping[str, Sequence[Sequence[int]]] = {}
    input_format: str = "ttree"

    def of(self, destination: Destination) -> OutputContent:
        """Content of a file, of one dataset or of all."""
        whole = self.by_label[destination.label]
        return whole.apart.get(-1 if destination.dataset is None else destination.dataset, whole)


def read_contents(folder: RunDirectory) -> OutputContents:
    """Contents of the outputs of a run. Raises InputError."""
    try:
        return msgspec.json.decode(read_regular(folder.output_contents), type=OutputContents)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{folder.output_contents}: cannot be read: {error}") from None
