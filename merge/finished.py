"""Whether a run was merged, and its outputs are still what the merge made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun.base.regular_file import read_regular
from forkrun.errors import ForkrunError
from forkrun.formats import Format, format_named
from forkrun.merge.verify import digest_of
from forkrun.rundir.directory import RunDirectory

if TYPE_CHECKING:
    from forkrun.config import JobConfig


def merge_problem(folder: RunDirectory, config: JobConfig, tree: str) -> str | None:
    """What is wrong with the merge of a run, None if nothing is: its summary can be read, the
    outputs are there, with their sizes and the digests of the events in them. `tree`: of these."""
    try:
        return _problem(folder, config, tree, json.loads(read_regular(folder.merge_summary)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ForkrunError) as error:
        return f"{folder.merge_summary.name} or an output cannot be read ({error})"


def _problem(
    folder: RunDirectory, config: JobConfig, tree: str, summary: Mapping[str, Any]
) -> str | None:
    outputs = {output["label"]: output for output in summary["outputs"]}
    wanted = config.destinations if outputs else []
    if folder.outputs_of_node.exists():  # a node makes those of which it has files
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
    if n_bytes := summary.get("n_bytes_accumulators", 0):
        problem = _size_problem(folder.accumulators, [folder.accumulators], n_bytes)
        if problem:
            return problem
    if summary["n_histograms"]:
        return _size_problem(folder.histograms, [folder.histograms], summary["n_bytes_histograms"])
    return None


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
    return None if found == n_bytes else f"{merged} has {found} bytes, not {n_bytes}"
