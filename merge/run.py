"""Merges a run: every output, the histograms, and what the input has beside events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun import _core
from forkrun.base.durable import written_beside
from forkrun.merge.histograms import sum_histograms, write_histograms
from forkrun.merge.order import PlannedUnit, merge_order
from forkrun.merge.verify import check_merged, check_read, total_digest
from forkrun.rundir.ledger import Commit, OutputPart

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config import JobConfig, OutputConfig

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Planned:
    """What the merge takes from the plan. `n_events`, `digest`: of all events to be read;
    `is_whole`: every unit has to be there, else what is there is merged."""

    units: Sequence[PlannedUnit]
    files: Sequence[str]
    n_events: int
    digest: str | None
    is_whole: bool = True


@dataclass(frozen=True)
class MergedOutput:
    """`digest`: read back from the file; None if the file does not hold the event ids."""

    label: str
    file: str
    n_events: int
    digest: str | None
    n_bytes: int


@dataclass(frozen=True)
class MergeSummary:
    """`n_events` and `digest`: of the events that children read."""

    n_events: int
    digest: str
    outputs: list[MergedOutput]
    n_histograms: int


def merge_run(
    folder: Path,
    config: JobConfig,
    planned: Planned,
    commits: Sequence[Commit],
    progress: Progress | None = None,
) -> MergeSummary:
    """Merges the run in `folder` into its output/. `progress` gets an output's label and the number
    of its parts done. Raises VerificationError, InputError or OutputError; nothing is then under
    the name of the output that failed."""
    ordered = merge_order(_units_to_merge(planned, commits), commits)
    read = total_digest((commit.n_events, commit.digest) for commit in ordered)
    skipped = total_digest((len(commit.skipped), commit.skipped_digest) for commit in ordered)
    if planned.is_whole:
        check_read(read + skipped, planned.n_events, planned.digest)
    outputs = [
        _merge_output(folder, config, output, ordered, planned.files, progress)
        for output in (config.outputs if ordered else ())
    ]
    n_histograms = _merge_histograms(folder, ordered)
    return MergeSummary(read.count, read.hex, outputs, n_histograms)


def _units_to_merge(planned: Planned, commits: Sequence[Commit]) -> Sequence[PlannedUnit]:
    if planned.is_whole:
        return planned.units
    committed = {commit.unit for commit in commits}
    return [unit for unit in planned.units if unit.number in committed]


def _merge_output(
    folder: Path,
    config: JobConfig,
    output: OutputConfig,
    commits: Sequence[Commit],
    inputs: Sequence[str],
    progress: Progress | None,
) -> MergedOutput:
    parts = [commit.outputs[output.label] for commit in commits]
    final = folder / "output" / f"{output.label}.root"
    report = None if progress is None else lambda n: progress(output.label, n)
    tree = config.source.tree
    with written_beside(final) as beside:
        sources = _parts_to_join(folder, parts)
        entries = _core.merge_trees(sources, str(beside), [tree], None, report)
        if config.merge.carry:
            _core.carry_objects(list(inputs), str(beside), [tree])
        written = total_digest((part.n_events, part.digest) for part in parts)
        digest = check_merged(
            beside, entries[tree], written, config.source, _branches(sources[0], tree)
        )
        n_bytes = beside.stat().st_size
    return MergedOutput(output.label, str(final), written.count, digest, n_bytes)


def _parts_to_join(folder: Path, parts: Sequence[OutputPart]) -> list[str]:
    """Files with events; the first one if there are none, for its branches."""
    filled = [part for part in parts if part.n_events] or parts[:1]
    return [str(folder / part.file) for part in filled]


def _branches(file: str, tree: str) -> set[str]:
    index = _core.index_tree(file, tree, "", "", "")
    return {branch[0] for branch in index["branches"]}


def _merge_histograms(folder: Path, commits: Sequence[Commit]) -> int:
    files = [folder / commit.histograms.file for commit in commits if commit.histograms]
    if not files:
        return 0
    with written_beside(folder / "output" / "histograms.root") as beside:
        return write_histograms(beside, sum_histograms(files))
