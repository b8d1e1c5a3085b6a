"""Whether a run was merged, and its outputs are still what the merge made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forkrun import _core
from forkrun.errors import ForkrunError
from forkrun.merge.verify import id_branches
from forkrun.rundir.directory import RunDirectory

if TYPE_CHECKING:
    from forkrun.config import JobConfig


def merge_problem(folder: RunDirectory, config: JobConfig) -> str | None:
    """What is wrong with the merge of a run, None if nothing is: its summary can be read, the
    outputs are there, with their sizes and the digests of the events in them."""
    try:
        return _problem(folder, config, json.loads(folder.merge_summary.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ForkrunError) as error:
        return f"{folder.merge_summary.name} or an output cannot be read ({error})"


def _problem(folder: RunDirectory, config: JobConfig, summary: Mapping[str, Any]) -> str | None:
    outputs = {output["label"]: output for output in summary["outputs"]}
    if list(outputs) != [output.label for output in config.outputs if summary["outputs"]]:
        return f"{folder.merge_summary.name} is about other outputs"
    sizes = {folder.merged(label): output["n_bytes"] for label, output in outputs.items()}
    if summary["n_histograms"]:
        sizes[folder.histograms] = summary["n_bytes_histograms"]
    for file, n_bytes in sizes.items():
        if not file.is_file():
            return f"{file} is missing"
        if file.stat().st_size != n_bytes:
            return f"{file} has {file.stat().st_size} bytes, not {n_bytes}"
    for label, output in outputs.items():
        if output["digest"] != _digest(folder, config, label):
            return f"{folder.merged(label)} does not hold the events that were merged"
    return None


def _digest(folder: RunDirectory, config: JobConfig, label: str) -> str | None:
    file, source = str(folder.merged(label)), config.source
    ids = id_branches(file, source)
    return _core.tree_digest(file, source.tree, *ids).hex if ids else None
