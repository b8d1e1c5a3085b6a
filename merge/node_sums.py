"""Histograms and accumulators of a node, added where they were filled: a merge of thousands of
nodes reads two files of each instead of two of each commit. Sums are exact, so the results are the
same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from forkrun import _core
from forkrun.base.durable import read_json, write_bytes, write_json
from forkrun.histograms.accumulators.parts import encode_part, merge_parts
from forkrun.histograms.parts import encode
from forkrun.histograms.root_file import sum_histograms
from forkrun.merge.parts import checked_files, is_as_written
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import AccumulatorPart, Commit, CommittedFile, HistogramPart
from forkrun.rundir.nodes import NodeRanges, is_on_nodes


class Sums(NamedTuple):
    """What is added up of a node, or of a run on one: `whole`, where it has that; else, or if that
    is damaged, `parts`."""

    whole: CommittedFile | None
    parts: Sequence[CommittedFile]


class SumsToMerge(NamedTuple):
    """In the order of the plan."""

    histograms: list[Sums]
    accumulators: list[Sums]


def write_node_sums(node: RunDirectory, commits: Iterable[Commit]) -> None:
    """Adds up what a node has committed; says last of which commits. Raises a ForkrunError if a
    file is damaged: then the merge finds it."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    histograms, accumulators = _own(ordered)
    written: dict[str, Any] = {"of": commits_digest(ordered, 0)}
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


def sums_to_merge(folder: RunDirectory, ordered: Sequence[Commit]) -> SumsToMerge:
    """What together is the sums of these commits, which are in the order of the plan: those of
    nodes where they are of just these commits, else of each commit."""
    found = SumsToMerge([], [])
    if not is_on_nodes(folder):
        _add(found, None, None, ordered)
        return found
    ranges = NodeRanges.read(folder)
    of_nodes = groupby(ordered, key=lambda commit: ranges.node_of(commit.unit))
    by_node = {number: list(commits) for number, commits in of_nodes}
    known = {number: read_json(folder.node(number).sums / "sums.json") for number in by_node}
    for number, commits in by_node.items():
        digest = commits_digest(commits, ranges.first_unit[number])
        _add(found, *_of_node(folder.name_of_node(number), known[number], digest), commits)
    return found


def _add(
    found: SumsToMerge,
    histograms: HistogramPart | None,
    accumulators: AccumulatorPart | None,
    commits: Sequence[Commit],
) -> None:
    parts = _own(commits)
    if parts[0]:
        found.histograms.append(Sums(histograms, parts[0]))
    if parts[1]:
        found.accumulators.append(Sums(accumulators, parts[1]))


def _own(commits: Sequence[Commit]) -> tuple[list[HistogramPart], list[AccumulatorPart]]:
    return (
        [commit.histograms for commit in commits if commit.histograms],
        [commit.accumulators for commit in commits if commit.accumulators],
    )


def _of_node(
    node: str, known: Mapping[str, Any], digest: str
) -> tuple[HistogramPart | None, AccumulatorPart | None]:
    if known.get("of") != digest:
        return None, None
    try:
        own = {kind: dict(known[kind]) for kind in ("histograms", "accumulators") if kind in known}
        for fields in own.values():
            fields["file"] = f"{node}/{fields['file']}"
        return (
            HistogramPart(**own["histograms"]) if "histograms" in own else None,
            AccumulatorPart(**own["accumulators"]) if "accumulators" in own else None,
        )
    except (LookupError, TypeError, ValueError):
        return None, None


def files_to_add(folder: Path, sums: Iterable[Sums]) -> Iterator[Path]:
    """Files whose sum that is; each is checked when it is asked for. Raises VerificationError if
    one of a commit is not as it was written."""
    for whole, parts in sums:
        if whole is not None and is_as_written(folder, whole):
            yield folder / whole.file
        else:
            yield from checked_files(folder, parts)


def commits_digest(ordered: Iterable[Commit], first_unit: int) -> str:
    """What says that these commits are those, whatever is before the node's units."""
    listed = [(commit.unit - first_unit, commit.n_units, commit.end_s) for commit in ordered]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
