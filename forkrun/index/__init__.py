"""What the input files hold: entries, lumis, clusters and branches, read outside the parent.

Names are imported when they are first used: the helper process that reads files needs few of them,
and its start is a large part of a small job."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forkrun.config import IdBranches
    from forkrun.index.column_names import ColumnNames
    from forkrun.index.files import find_files, input_files, input_files_or_gaps
    from forkrun.index.find import EventId, only_events
    from forkrun.index.friends import with_friends
    from forkrun.index.input_format import format_of_input
    from forkrun.index.model import Branch, FileIndex, LumiRange
    from forkrun.index.ranges import LumiRanges
    from forkrun.index.read import index_files, try_index

_MODULE_OF = {
    "Branch": "model",
    "ColumnNames": "column_names",
    "EventId": "find",
    "FileIndex": "model",
    "IdBranches": "read",
    "LumiRange": "model",
    "LumiRanges": "ranges",
    "find_files": "files",
    "format_of_input": "input_format",
    "index_files": "read",
    "input_files": "files",
    "input_files_or_gaps": "files",
    "only_events": "find",
    "try_index": "read",
    "with_friends": "friends",
}

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


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
