"""Commits whose sums are stored together, and the files with these sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from forkrun.histograms.accumulators.finished import ByDataset, encode_part
from forkrun.histograms.parts import Named, encode
from forkrun.rundir.ledger import Commit, CutCount
from forkrun.rundir.results import InputPart, summed_counts, summed_flow


def summed_flows(flows: Sequence[Mapping[str, list[CutCount]]]) -> dict[str, list[CutCount]] | None:
    """Exact sums of counts, by path; None if not all have counted the same."""
    paths = dict.fromkeys(path for flow in flows for path in flow)
    found = {path: summed_flow([flow.get(path, []) for flow in flows]) for path in paths}
    total = {path: counts for path, counts in found.items() if counts is not None}
    return total if len(total) == len(found) else None


def sums_to_store(filled: Sequence[Named], accumulated: ByDataset) -> dict[str, bytes]:
    """Content of the files with sums, by kind; none if there are none."""
    contents: dict[str, Sequence[bytes | memoryview]] = {
        "histograms": encode(filled) if filled else [],
        "accumulators": encode_part(accumulated),
    }
    return {kind: b"".join(pieces) for kind, pieces in contents.items() if pieces}


class Group(Struct, dict=True):
    """Commits whose sums are stored together, in the order of the plan. `part`: their events; None
    where nothing is stored; `files`: content of those that are stored, by kind."""

    commits: list[Commit]
    part: InputPart | None = None
    files: dict[str, bytes] = {}

    @cached_property
    def nan_fills(self) -> dict[str, int]:
        """Number of NaN values filled, by histogram."""
        return summed_counts(commit.nan_fills for commit in self.commits)

    @cached_property
    def cutflows(self) -> dict[str, list[CutCount]] | None:
        """Counts of events, by path; None if not all have counted the same."""
        return summed_flows([commit.cutflow or {} for commit in self.commits])
