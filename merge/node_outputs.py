"""Outputs that each node of a job makes of what it has committed, where it has read the input: a
merge joins them, and reads nothing of the input."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.durable import read_json, remove, write_json
from forkrun.errors import DamagedFilesError, VerificationError
from forkrun.merge.made_parts import MadeParts
from forkrun.merge.node_sums import commits_digest
from forkrun.merge.output import MergedOutput
from forkrun.merge.parts import check_part
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.nodes import NodeRanges


class NodeOutputs(Struct, frozen=True):
    """What a node has made: `of` which commits; `files`: by name in output/, with paths in its run
    directory; `carries`, `written_anew`: as of `MadeParts`."""

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
    """Says what a node has made of its commits, which are in order. Raises OutputError."""
    files = {
        str(file.relative_to(node.output)): _described(node, file, n_events)
        for output in outputs
        for file, n_events in _files(output)
    }
    anew = {output.label: output.written_anew for output in outputs}
    made = NodeOutputs(commits_digest(commits, 0), files, carries, anew)
    write_json(node.outputs_of_node, msgspec.to_builtins(made), indent=None)


def _files(output: MergedOutput) -> Iterator[tuple[Path, int]]:
    """Files of an output, and the events in each."""
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
    """Each node with commits, which are in the order of the plan: what it has made of just these,
    None if it has not, and the commits."""
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
    """The outputs of all nodes. Raises DamagedFilesError if a node has to make some anew; it does
    so when it runs again."""
    files: dict[str, list[OutputPart]] = {}
    carries: set[int] = set()
    anew: dict[str, dict[str, None]] = {}
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
            anew.setdefault(output, {}).update(dict.fromkeys(branches))
    if damaged:
        raise DamagedFilesError("\n".join(damaged))
    written_anew = {output: list(branches) for output, branches in anew.items()}
    return MadeParts(folder.path, files, True, carries, written_anew)


def _problem(folder: RunDirectory, number: int, made: NodeOutputs | None) -> str:
    """What is wrong with the files of a node; "" if nothing is."""
    if made is None:
        return "its outputs are missing, or of other commits"
    try:
        for part in made.files.values():
            check_part(folder.path, _in_whole(part, number))
    except VerificationError as error:
        return str(error)
    return ""


def _in_whole(part: OutputPart, number: int) -> OutputPart:
    """With its path in the run directory of the whole job."""
    return replace(part, file=f"{RunDirectory.name_of_node(number)}/{part.file}")


def forget_outputs(node: RunDirectory) -> None:
    """Has a node make its outputs anew when it runs: what says that they are made is removed."""
    remove(node.outputs_of_node)
    remove(node.merge_summary)


def has_outputs_of(node: RunDirectory, commits: Iterable[Commit]) -> bool:
    """Whether a node has made its outputs of just these commits; those of others are forgotten."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    if _read(node, commits_digest(ordered, 0)) is not None:
        return True
    forget_outputs(node)
    return False
