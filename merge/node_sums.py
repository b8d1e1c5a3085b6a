"""Histograms and accumulators of a node, added where they were filled: a merge of thousands of
nodes reads two files of each instead of two of each commit. Sums are exact, so the results are the
same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from forkrun import _core
from forkrun.base.durable import read_json, write_bytes, write_json
from forkrun.errors import VerificationError
from forkrun.merge.histograms import sum_histograms
from forkrun.merge.parts import check_part, checked_files
from forkrun.rundir.accumulator_parts import encode_part, merge_parts
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.histogram_parts import encode
from forkrun.rundir.ledger import AccumulatorPart, Commit, CommittedFile, HistogramPart
from forkrun.rundir.nodes import NodeRanges, is_on_nodes


class Sums(NamedTuple):
    """Files that are added up."""

    histograms: list[HistogramPart]
    accumulators: list[AccumulatorPart]


def write_node_sums(node: RunDirectory, commits: Iterable[Commit]) -> None:
    """Adds up what a node has committed; says last of which commits. Raises a ForkrunError if a
    file is damaged: then the merge finds it."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    histograms, accumulators = _own(ordered)
    written: dict[str, Any] = {"of": _digest(ordered, 0)}
    if histograms:
        totals = sum_histograms(checked_files(node.path, histograms))
        written["histograms"] = _write(node, "histograms.bin", encode(totals))
    if accumulators:
        merged = merge_parts(checked_files(node.path, accumulators))
        written["accumulators"] = _write(node, "accumulators.json", encode_part(merged))
    write_json(node.sums / "sums.json", written)


def _write(node: RunDirectory, name: str, pieces: Sequence[bytes | memoryview]) -> object:
    data = b"".join(pieces)
    write_bytes(node.sums / name, data)
    return {"file": f"sums/{name}", "n_bytes": len(data), "checksum": _core.crc32c(data, 0)}


def sums_to_merge(folder: RunDirectory, ordered: Sequence[Commit]) -> Sums:
    """Parts that together are the sums of these commits, which are in the order of the plan: those
    of nodes where they are of just these commits and as they were written, else of each commit."""
    if not is_on_nodes(folder):
        return _own(ordered)
    ranges, found = NodeRanges.read(folder), Sums([], [])
    for number, group in groupby(ordered, key=lambda commit: ranges.node_of(commit.unit)):
        commits = list(group)
        of_node = _of_node(folder, number, _digest(commits, ranges.first_unit[number]))
        more = of_node or _own(commits)
        found.histograms.extend(more.histograms)
        found.accumulators.extend(more.accumulators)
    return found


def _own(commits: Iterable[Commit]) -> Sums:
    every = list(commits)
    return Sums(
        [commit.histograms for commit in every if commit.histograms],
        [commit.accumulators for commit in every if commit.accumulators],
    )


def _of_node(folder: RunDirectory, number: int, digest: str) -> Sums | None:
    node = folder.node(number)
    known = read_json(node.sums / "sums.json")
    if known.get("of") != digest:
        return None
    try:
        own = {kind: dict(known[kind]) for kind in ("histograms", "accumulators") if kind in known}
        for fields in own.values():
            fields["file"] = f"nodes/{node.path.name}/{fields['file']}"
        histograms = [HistogramPart(**own["histograms"])] if "histograms" in own else []
        accumulators = [AccumulatorPart(**own["accumulators"])] if "accumulators" in own else []
        parts: tuple[CommittedFile, ...] = (*histograms, *accumulators)
        for part in parts:
            check_part(folder.path, part)
    except (LookupError, TypeError, ValueError, VerificationError):
        return None
    return Sums(histograms, accumulators)


def _digest(ordered: Iterable[Commit], first_unit: int) -> str:
    """What says that these commits are those, whatever is before the node's units."""
    listed = [(commit.unit - first_unit, commit.n_units, commit.end_s) for commit in ordered]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
