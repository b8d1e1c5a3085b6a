"""Joins the temporary outputs of a run in plan order; proves that nothing is missing or twice."""

from forkrun.merge.files import merge_files
from forkrun.merge.order import merge_order
from forkrun.merge.output import MergedOutput, Planned
from forkrun.merge.run import MergeSummary, merge_run
from forkrun.rundir.ledger import (
    Commit,
    HistogramPart,
    OutputPart,
    SkippedEvent,
    read_ledgers,
)

__all__ = [
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
