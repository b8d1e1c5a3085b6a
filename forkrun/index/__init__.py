"""What the input files hold: entries, lumis, clusters and branches, read outside the parent."""

from forkrun.index.files import input_files
from forkrun.index.find import EventId, only_events
from forkrun.index.model import Branch, FileIndex, LumiRange
from forkrun.index.ranges import LumiRanges
from forkrun.index.read import IdBranches, index_files

__all__ = [
    "Branch",
    "EventId",
    "FileIndex",
    "IdBranches",
    "LumiRange",
    "LumiRanges",
    "index_files",
    "input_files",
    "only_events",
]
