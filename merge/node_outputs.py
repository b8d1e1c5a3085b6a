"""Outputs and sums made by the nodes of a job from their own commits. A merge joins the outputs
without reading the input, and reads two files of sums per node instead of two per commit. Sums are
exact, so results are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.durable import read_json, remove, write_bytes, write_json
from forkrun.errors import DamagedFilesError, VerificationError
from forkrun.histograms.accumulators.finished import encode_part, merge_parts
from forkrun.histograms.parts import encode
from forkrun.histograms.root_file import sum_histograms
from forkrun.merge.made_parts import MadeParts
from forkrun.merge.output import MergedOutput
from forkrun.merge.parts import check_part, checked_files, is_as_written
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, CommittedFile, OutputPart, SumsPart
from forkrun.rundir.nodes import NodeRanges, is_on_nodes

_Part = TypeVar("_Part", OutputPart, SumsPart)


class NodeOutputs(Struct, frozen=True):
    """Outputs of a node. `of`: digest of their commits; `files`: by name in output/, with paths in
    the node's run directory; `carries`, `written_anew`: as in `MadeParts`."""

    of: str
    files: Mapping[str, OutputPart]
    carries: Sequence[int]
    written_anew: Mapping[str, Sequence[str]]


def write_node_outputs(
    node: RunDirectory,
    outputs: Sequence[MergedOutput],
    commits: Sequence[Commit],
    carries: Sequence[int],
) -> None:
    """Records the outputs that a node has made of its `commits`, in order. Raises OutputError."""
    files = {
        str(file.relative_to(node.output)): _described(node, file, n_events)
        for output in outputs
        for file, n_events in _files(output)
    }
    rewritten = {output.label: output.written_anew for output in outputs}
    made = NodeOutputs(commits_digest(commits, 0), files, carries, rewritten)
    write_json(node.outputs_of_node, msgspec.to_builtins(made), indent=None)


def _files(output: MergedOutput) -> Iterator[tuple[Path, int]]:
    """Files of an output, with their numbers of events."""
    final = Path(output.file)
    if final.is_dir():
        for each in json.loads((final / "files.json").read_bytes()):
            yield final / each["file"], each["n_events"]
        return
    yield final, output.n_events
    if output.n_bytes_parquet:
        yield RunDirectory.parquet_of(final), output.n_events


def _described(node: RunDirectory, file: Path, n_events: int) -> OutputPart:
    n_bytes, checksum = file.stat().st_size, _core.file_checksum(str(file))
    return OutputPart(str(file.relative_to(node.path)), n_events, "", n_bytes, checksum)


def outputs_of_nodes(
    folder: RunDirectory, commits: Iterable[Commit]
) -> Iterator[tuple[int, NodeOutputs | None, list[Commit]]]:
    """Number, outputs and commits of each node with commits; outputs that were not made of exactly
    these are None. `commits`: in the order of the plan."""
    ranges = NodeRanges.read(folder)
    for number, group in groupby(commits, key=lambda commit: ranges.node_of(commit.unit)):
        own = list(group)
        digest = commits_digest(own, ranges.first_unit[number])
        yield number, _read(folder.node(number), digest), own


def _read(node: RunDirectory, digest: str) -> NodeOutputs | None:
    try:
        made = msgspec.convert(read_json(node.outputs_of_node), NodeOutputs)
    except msgspec.ValidationError:  # also of nothing
        return None
    return made if made.of == digest else None


def node_outputs_to_join(folder: RunDirectory, commits: Sequence[Commit]) -> MadeParts:
    """Outputs of all nodes. Raises DamagedFilesError if a node has to make outputs again, which it
    does when it runs."""
    files: dict[str, list[OutputPart]] = {}
    carries: set[int] = set()
    rewritten: dict[str, dict[str, None]] = {}
    damaged: list[str] = []
    for number, made, _ in outputs_of_nodes(folder, commits):
        problem = _problem(folder, number, made)
        if made is None or problem:
            forget_outputs(folder.node(number))
            damaged.append(f"node {number}: {problem}; it makes its outputs again when it runs")
            continue
        for name, part in made.files.items():
            files.setdefault(name, []).append(_in_whole(part, number))
        carries.update(made.carries)
        for output, branches in made.written_anew.items():
            rewritten.setdefault(output, {}).update(dict.fromkeys(branches))
    if damaged:
        raise DamagedFilesError("\n".join(damaged))
    lists = {output: list(branches) for output, branches in rewritten.items()}
    return MadeParts(folder.path, files, True, carries, lists)


def _problem(folder: RunDirectory, number: int, made: NodeOutputs | None) -> str:
    """Describes a defect of a node's files; "" if there is none."""
    if made is None:
        return "its outputs are missing, or of other commits"
    try:
        for part in made.files.values():
            check_part(folder.path, _in_whole(part, number))
    except VerificationError as error:
        return str(error)
    return ""


def _in_whole(part: _Part, number: int) -> _Part:
    """The part with its path in the run directory of the whole job."""
    return replace(part, file=f"{RunDirectory.name_of_node(number)}/{part.file}")


def forget_outputs(node: RunDirectory) -> None:
    """Makes a node repeat its outputs when it runs, by removing the records of them."""
    remove(node.outputs_of_node)
    remove(node.merge_summary)


def has_outputs_of(node: RunDirectory, commits: Iterable[Commit]) -> bool:
    """Whether a node has made its outputs of exactly these commits; forgets others."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    if _read(node, commits_digest(ordered, 0)) is not None:
        return True
    forget_outputs(node)
    return False


class Sums(NamedTuple):
    """Files to add for a node, or for a run on one: `whole` if it exists and is intact, else
    `parts`."""

    whole: CommittedFile | None
    parts: Sequence[CommittedFile]


class _NodeSums(Struct):
    """Content of `sums.json`. `of`: digest of the commits."""

    of: str = ""
    histograms: SumsPart | None = None
    accumulators: SumsPart | None = None


_SUMS = "sums.json"


class SumsToMerge(NamedTuple):
    """Files to add, in the order of the plan."""

    histograms: list[Sums]
    accumulators: list[Sums]


def write_node_sums(node: RunDirectory, commits: Iterable[Commit]) -> None:
    """Adds the sums committed by a node, and records the commits last. Raises a ForkrunError if a
    file is damaged: then the merge finds it."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    histograms, accumulators = _own(ordered)
    written = _NodeSums(commits_digest(ordered, 0))
    if histograms:
        totals = sum_histograms(checked_files(node.path, histograms))
        written.histograms = SumsPart(*_write(node, "histograms.bin", encode(totals)))
    if accumulators:
        merged = encode_part(merge_parts(checked_files(node.path, accumulators)))
        written.accumulators = SumsPart(*_write(node, "accumulators.json", merged))
    write_json(node.sums / _SUMS, msgspec.to_builtins(written))


def _write(
    node: RunDirectory, name: str, pieces: Sequence[bytes | memoryview]
) -> tuple[str, int, int]:
    """Writes a file of sums; returns its relative name, size and checksum."""
    data = b"".join(pieces)
    write_bytes(node.sums / name, data)
    return f"sums/{name}", len(data), _core.crc32c(data, 0)


def sums_to_merge(folder: RunDirectory, ordered: Sequence[Commit]) -> SumsToMerge:
    """Files whose sums are those of these commits, in the order of the plan: sums of nodes made of
    exactly these commits, else files of commits."""
    found = SumsToMerge([], [])
    if not is_on_nodes(folder):
        _add(found, _NodeSums(), ordered)
        return found
    ranges = NodeRanges.read(folder)
    for number, group in groupby(ordered, key=lambda commit: ranges.node_of(commit.unit)):
        commits = list(group)
        digest = commits_digest(commits, ranges.first_unit[number])
        _add(found, _sums_of_node(folder, number, digest), commits)
    return found


def _add(found: SumsToMerge, whole: _NodeSums, commits: Sequence[Commit]) -> None:
    histograms, accumulators = _own(commits)
    if histograms:
        found.histograms.append(Sums(whole.histograms, histograms))
    if accumulators:
        found.accumulators.append(Sums(whole.accumulators, accumulators))


def _own(commits: Sequence[Commit]) -> tuple[list[SumsPart], list[SumsPart]]:
    return (
        [commit.histograms for commit in commits if commit.histograms],
        [commit.accumulators for commit in commits if commit.accumulators],
    )


def _sums_of_node(folder: RunDirectory, number: int, digest: str) -> _NodeSums:
    """Sums that a node has made of commits with this digest, with paths in the whole job."""
    try:
        known = msgspec.convert(read_json(folder.node(number).sums / _SUMS), _NodeSums)
    except msgspec.ValidationError:
        return _NodeSums()
    if known.of != digest:
        return _NodeSums()
    files = (known.histograms and _in_whole(known.histograms, number),
             known.accumulators and _in_whole(known.accumulators, number))  # fmt: skip
    return _NodeSums(digest, *files)


def files_to_add(folder: Path, sums: Iterable[Sums]) -> Iterator[Path]:
    """Files to add, each checked just before it is yielded. Raises VerificationError if a file of a
    commit has changed."""
    for whole, parts in sums:
        if whole is not None and is_as_written(folder, whole):
            yield folder / whole.file
        else:
            yield from checked_files(folder, parts)


def commits_digest(ordered: Iterable[Commit], first_unit: int) -> str:
    """Digest that identifies commits, independent of the number of the node's first unit."""
    listed = [(commit.unit - first_unit, commit.n_units, commit.end_s) for commit in ordered]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
