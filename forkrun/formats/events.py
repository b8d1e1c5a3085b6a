"""Where the events of a job are, and the outputs that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from forkrun import _core

Ids = tuple[str, str, str]
"""Branches of run, lumi and number of an event."""
COMPRESSION = "auto"
"""Compression of new baskets where the configuration names none: small, and quick."""
NO_IDS: Ids = ("", "", "")
"""Run 1, a lumi for each file, the number of an entry."""
Identity = tuple[str, int, int]
"""UUID, bytes, and when a file was last written."""
Read = Callable[[str, str, Sequence[str], int, int], Mapping[str, Any]]
"""Reads columns by path of a file, name of its table, names, first entry and the one behind the
last."""


class EventSource(NamedTuple):
    """Where the events of a job are. `tree`: the table of events in each file; `columns`: name and
    type of what modules may ask for; `clusters`: per file, first entry of each, then n_entries;
    `identities`: of the files as they were indexed; `fills`: by column that files may lack, its
    value and what counts its values; `friends`: as the core's TreeSource has them;
    `friend_columns`: by column, number of the friend, name there, and value of entries without a
    partner; `n_kept_bytes`: memory for what stays unpacked, where entries are not read as they are
    stored."""

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
    """The files' format; None: that of the outputs."""
    trees: Sequence[str] = ()
    """Table of events of each file; none: all have `tree`."""
    expected: Sequence[str] = ()
    """Columns that modules will ask for."""

    def tree_of(self, file: int) -> str:
        """The table of events of a file."""
        return self.trees[file] if self.trees else self.tree


def first_file(clusters: Sequence[Sequence[int]]) -> int:
    """Number of the file whose tree gives outputs their structure: the first with events; if none
    has any, the first whose tree has branches."""
    return _core.first_file([of_file[:2] for of_file in clusters])


Range = tuple[int, int, int]
"""Number of the file, first entry, and the one behind the last."""


class OutputToMake(NamedTuple):
    """An output to make. `fragments`: groups in the order of the output, each with its number in
    the order of the input and the files of fragments whose events alternate; `files`: path of each,
    and the entries whose events it has, none: all; `branches`: of the input; `products`: name and
    type of new columns; `before_group` gets the number, in the list, of the group that is read
    next, `progress` the number of events written."""

    fragments: Sequence[tuple[int, Sequence[str]]]
    files: Sequence[tuple[str, Sequence[Range]]]
    branches: Sequence[str]
    products: Sequence[tuple[str, str]]
    compression: str | None
    n_events: int
    before_group: Callable[[int], None]
    progress: Callable[[int], None]
    goes_with_events: bool = False
    """The tree goes with the events: it is added to the files of these, without new columns."""
    members: Sequence[str] = ()
    """Columns within these branches, for formats that do not have objects."""
    tree: str = "Events"
    """Its name in outputs."""
    flat_names: bool = False
    """RNTuples: "Jet_pt" and "nJet" as well, of a list "Jet" with "pt"."""


def to_make(output: OutputToMake, branches: Sequence[str]) -> _core.OutputToMake:
    """What the core is told of it. `branches`: those that it keeps of the input."""
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
