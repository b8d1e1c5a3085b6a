"""Joins the temporary outputs of a run in plan order; proves that nothing is missing or twice."""

from forkrun.merge.files import merge_files
from forkrun.merge.order import merge_order
from forkrun.merge.run import MergedOutput, MergeSummary, Planned, merge_run
from forkrun.rundir.ledger import (
    REVOKED,
    Commit,
    HistogramPart,
    OutputPart,
    SkippedEvent,
    read_ledgers,
)

__all__ = [
    "REVOKED",
    "Commit",
    "HistogramPart",
    "MergeSummary",
    "MergedOutput",
    "OutputPart",
    "Planned",
    "SkippedEvent",
    "merge_files",
    "merge_order",
    "merge_run",
    "read_ledgers",
]
