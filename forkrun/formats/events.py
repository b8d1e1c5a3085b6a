"""Source of a job's events, and the outputs made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from forkrun import _core

Ids = tuple[str, str, str]
"""Branches of run, lumi and number of an event."""
COMPRESSION = "auto"
"""Default compression of new baskets: small and fast."""
NO_IDS: Ids = ("", "", "")
"""Made-up ids: run 1, a lumi for each file, the number of an entry."""
Identity = tuple[str, int, int]
"""UUID, size in bytes, and time of the last change of a file."""
Read = Callable[[str, str, Sequence[str], int, int], Mapping[str, Any]]
"""Reads columns. Arguments: path of a file, name of its table, names, and a range [first, last) of
entries."""


class EventSource(NamedTuple):
    """Source of a job's events. `tree`: table of events in each file; `columns`: name and type of
    each column available to modules; `clusters`: per file, first entry of each, then n_entries;
    `identities`: of the files when they were indexed; `fills`: by column that files may lack, its
    value and its counter; `friends`: in the form of the core's TreeSource; `friend_columns`: by
    column, number of the friend, name there, and value of entries without a partner;
    `n_kept_bytes`: memory for unpacked data that is kept, if entries are not read in stored
    order."""

    files: Sequence[str]
    tree: str
    ids: Ids
    columns: Sequence[tuple[str, str]]
    clusters: Sequence[Sequence[int]]
    identities: Sequence[Identity]
    fills: Mapping[str, tuple[float, str]]
    friends: Sequence[Any]
    friend_columns: Mapping[str, tuple[int, str, float]]
    n_kept_bytes: int = 0
    form: Any = None
    """Format of the files; None: that of the outputs."""
    trees: Sequence[str] = ()
    """Table of events of each file; empty: all have `tree`."""
    expected: Sequence[str] = ()
    """Columns that modules are expected to request."""

    def tree_of(self, file: int) -> str:
        """Table of events of a file."""
        return self.trees[file] if self.trees else self.tree


def first_file(clusters: Sequence[Sequence[int]]) -> int:
    """Number of the file whose tree determines the structure of outputs: the first with events; if
    none has any, the first whose tree has branches."""
    return _core.first_file([of_file[:2] for of_file in clusters])


Range = tuple[int, int, int]
"""Number of the file, and a range [first, last) of entries."""


class OutputToMake(NamedTuple):
    """Output to be made. `fragments`: groups in the order of the output, each with its number in
    the order of the input, and its files of fragments, whose events alternate; `files`: path of
    each file, and the entries whose events it contains, empty: all; `branches`: of the input;
    `products`: name and type of new columns; `before_group` receives the index of the group to be
    read next, `progress` the number of events written."""

    fragments: Sequence[tuple[int, Sequence[str]]]
    files: Sequence[tuple[str, Sequence[Range]]]
    branches: Sequence[str]
    products: Sequence[tuple[str, str]]
    compression: str | None
    n_events: int
    before_group: Callable[[int], None]
    progress: Callable[[int], None]
    goes_with_events: bool = False
    """The tree accompanies the events: it is added to their files, without new columns."""
    members: Sequence[str] = ()
    """Columns within these branches, for formats without objects."""
    tree: str = "Events"
    """Name of the tree in outputs."""
    flat_names: bool = False
    """RNTuples: a list "Jet" with "pt" also becomes "Jet_pt" and "nJet"."""


def to_make(output: OutputToMake, branches: Sequence[str]) -> _core.OutputToMake:
    """The output in the form for the core. `branches`: kept ones of the input."""
    content = _core.OutputContent(
        branches,
        output.products,
        output.compression or COMPRESSION,
        recompresses=output.compression is not None,
        goes_with_events=output.goes_with_events,
        tree=output.tree,
        has_flat_names=output.flat_names,
    )
    return _core.OutputToMake(
        output.fragments,
        output.files,
        content,
        output.n_events,
        output.before_group,
        output.progress,
    )
