"""Counts and digests: children read all planned events, and outputs have all written ones; also
those of an earlier merge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun._core import EventDigest
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.errors import ForkrunError, VerificationError
from forkrun.formats import Format, format_named
from forkrun.rundir.directory import RunDirectory

if TYPE_CHECKING:
    from forkrun.config.model import JobConfig
    from forkrun.config.source import SourceConfig


def total_digest(parts: Iterable[tuple[int, str]]) -> EventDigest:
    """Digest of the union of sets of events, each given by (count, digest)."""
    total = EventDigest()
    for count, digest in parts:
        total = total + EventDigest(count, digest)
    return total


def check_read(read: EventDigest, n_planned: int, planned: str | None) -> None:
    """Raises VerificationError unless children read the planned events. `planned`: their digest, if
    the index knows it."""
    if read.count != n_planned or (planned is not None and read.hex != planned):
        raise VerificationError(
            f"children read {plural(read.count, 'event')} (digest {read.hex}), the plan has"
            f" {n_planned} (digest {planned or 'not known'}); an input file may have changed"
        )


def check_merged(
    output: Path,
    files: Sequence[Path],
    n_entries: int,
    written: EventDigest,
    source: SourceConfig,
    tree: str,
    form: Format,
) -> str | None:
    """Digest read back from the files of an output; None if they have no ids: then only the number
    of events was checked. Raises VerificationError."""
    if n_entries != written.count:
        raise VerificationError(
            f"{output}: merged {plural(n_entries, 'event')}, but children wrote {written.count}"
        )
    merged = digest_of(files, source, tree, form)
    if merged is not None and merged != written:
        raise VerificationError(
            f"{output}: the digest of the merged events is {merged.hex},"
            f" children wrote {written.hex}"
        )
    return None if merged is None else merged.hex


def digest_of(
    files: Sequence[Path], source: SourceConfig, tree: str, form: Format
) -> EventDigest | None:
    """Digest of the events in all files of an output; None if they have no ids."""
    ids = id_branches(str(files[0]), source, tree, form)
    if ids is None:
        return None
    total = EventDigest()
    for file in files:
        total = total + form.digest(str(file), tree, ids)
    return total


def id_branches(
    file: str, source: SourceConfig, tree: str, form: Format
) -> tuple[str, str, str] | None:
    """Branches of run, lumi and event number; None unless the file has all of them."""
    _, run, lumi, event = source.ids
    if form.has_ids:
        return run, lumi, event
    if not (run and lumi and event):
        return None
    held = branches_of(file, tree, form)
    has_all = all(name in held or name.rpartition(".")[0] in held for name in (run, lumi, event))
    return (run, lumi, event) if has_all else None


def branches_of(file: str, tree: str, form: Format) -> set[str]:
    """Names of the top branches of a tree."""
    return {branch[0] for branch in form.index(file, tree)["branches"]}


def merge_problem(folder: RunDirectory, config: JobConfig, tree: str = "") -> str | None:
    """Describes a defect of a merged run; None if its summary is readable, and the outputs exist
    with the recorded sizes and digests of events. `tree`: of the events in outputs."""
    try:
        return _problem(folder, config, tree, json.loads(read_regular(folder.merge_summary)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ForkrunError) as error:
        return f"{folder.merge_summary.name} or an output cannot be read ({error})"


def _problem(
    folder: RunDirectory, config: JobConfig, tree: str, summary: Mapping[str, Any]
) -> str | None:
    outputs = {output["label"]: output for output in summary["outputs"]}
    wanted = config.destinations if outputs else []
    if folder.outputs_of_node.exists():  # a node makes outputs of its own files
        wanted = [destination for destination in wanted if destination.name in outputs]
    if list(outputs) != [destination.name for destination in wanted]:
        return f"{folder.merge_summary.name} is about other outputs"
    for destination in wanted:
        output = config.output_of[destination.label]
        form = format_named(output.format)
        merged = folder.merged(destination.name, output.per_lumi, form.suffix)
        found = outputs[destination.name]
        problem = _output_problem(merged, form, output.per_lumi, config, tree, found)
        if problem:
            return problem
    sums = {folder.accumulators: summary.get("n_bytes_accumulators", 0)}
    if summary["n_histograms"]:
        sums[folder.histograms] = summary["n_bytes_histograms"]
    problems = (_size_problem(file, [file], n_bytes) for file, n_bytes in sums.items() if n_bytes)
    return next(filter(None, problems), None)


def _output_problem(
    merged: Path,
    form: Format,
    per_lumi: bool,
    config: JobConfig,
    tree: str,
    output: Mapping[str, Any],
) -> str | None:
    files = [merged]
    if per_lumi:
        listed = json.loads(read_regular(merged / "files.json"))
        files = [merged / str(file["file"]) for file in listed]
    problem = _size_problem(merged, files, output["n_bytes"])
    if problem:
        return problem
    if n_bytes := output.get("n_bytes_parquet", 0):
        parquet = RunDirectory.parquet_of(merged)
        if problem := _size_problem(parquet, [parquet], n_bytes):
            return problem
    digest = digest_of(files, config.source, tree, form)
    if output["digest"] != (None if digest is None else digest.hex):
        return f"{merged} does not hold the events that were merged"
    return None


def _size_problem(merged: Path, files: Sequence[Path], n_bytes: int) -> str | None:
    for file in files:
        if not file.is_file():
            return f"{file} is missing"
    found = sum(file.stat().st_size for file in files)
    return None if found == n_bytes else f"{merged} has {plural(found, 'byte')}, not {n_bytes}"
