"""Contents of the input files: entries, lumis, clusters and branches, read outside the parent.

Names are imported on first use: the helper process that reads files needs few of them, and its
start is a large part of a small job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forkrun.base.importing import names_on_demand

if TYPE_CHECKING:
    from forkrun.config import IdBranches
    from forkrun.index.column_names import ColumnNames
    from forkrun.index.files import find_files, input_files, input_files_or_gaps
    from forkrun.index.find import EventId, only_events
    from forkrun.index.friends import with_friends
    from forkrun.index.model import Branch, FileIndex, LumiRange
    from forkrun.index.ranges import LumiRanges
    from forkrun.index.read import index_files, try_index
    from forkrun.index.whole_input import format_of_input

__all__ = [
    "Branch",
    "ColumnNames",
    "EventId",
    "FileIndex",
    "IdBranches",
    "LumiRange",
    "LumiRanges",
    "find_files",
    "format_of_input",
    "index_files",
    "input_files",
    "input_files_or_gaps",
    "only_events",
    "try_index",
    "with_friends",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "forkrun.index.column_names": ("ColumnNames",),
        "forkrun.index.files": ("find_files", "input_files", "input_files_or_gaps"),
        "forkrun.index.find": ("EventId", "only_events"),
        "forkrun.index.friends": ("with_friends",),
        "forkrun.index.whole_input": ("format_of_input",),
        "forkrun.index.model": ("Branch", "FileIndex", "LumiRange"),
        "forkrun.index.ranges": ("LumiRanges",),
        "forkrun.index.read": ("IdBranches", "index_files", "try_index"),
    },
)
