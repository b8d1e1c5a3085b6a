"""Merges a run: every output, the histograms, and what the input has in addition to events."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun import _core
from forkrun.base.durable import published
from forkrun.merge.histograms import sum_histograms, write_histograms
from forkrun.merge.order import PlannedUnit, merge_order
from forkrun.merge.parts import check_part, checked_files, revoke_damaged
from forkrun.merge.verify import branches_of, check_merged, check_read, total_digest
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.output_content import OutputContents

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config import JobConfig, OutputConfig

Progress = Callable[[str, int], None]

_COMPRESSION = "zstd:5"
"""Of baskets that are made anew, where the configuration says nothing: small, and quick."""


@dataclass(frozen=True)
class Planned:
    """What the merge takes from the plan. `n_events`, `digest`: of all events to be read;
    `is_whole`: every unit has to be there, else what is there is merged."""

    units: Sequence[PlannedUnit]
    files: Sequence[str]
    n_events: int
    digest: str | None
    identities: Sequence[tuple[str, int, int]]
    """UUID, bytes and time of the last change of each file, as it was indexed."""
    contents: OutputContents
    is_whole: bool = True


@dataclass(frozen=True)
class MergedOutput:
    """`digest`: read back from the file; None if the file does not hold the event ids.
    `written_anew`: branches of objects whose entries could not be copied as bytes."""

    label: str
    file: str
    n_events: int
    digest: str | None
    n_bytes: int
    written_anew: list[str]


@dataclass(frozen=True)
class MergeSummary:
    """`n_events` and `digest`: of the events that children read; `not_finite`: by histogram that
    was filled with such, infinite or NaN values in its sums."""

    n_events: int
    digest: str
    outputs: list[MergedOutput]
    n_histograms: int
    n_bytes_histograms: int = 0
    not_finite: dict[str, int] = field(default_factory=dict)


def merge_run(
    folder: Path,
    config: JobConfig,
    planned: Planned,
    commits: Sequence[Commit],
    progress: Progress | None = None,
) -> MergeSummary:
    """Merges the run in `folder` into its output/. `progress` gets an output's label and the number
    of units of which it has the events. Raises VerificationError, InputError or OutputError;
    nothing is then under the name of the output that failed. DamagedFilesError: units have to be
    done again."""
    ordered = merge_order(_units_to_merge(planned, commits), commits)
    read = total_digest((commit.n_events, commit.digest) for commit in ordered)
    skipped = total_digest((len(commit.skipped), commit.skipped_digest) for commit in ordered)
    if planned.is_whole:
        check_read(read + skipped, planned.n_events, planned.digest)
    try:
        outputs = [
            _merge_output(folder, config, output, ordered, planned, progress)
            for output in (config.outputs if ordered else ())
        ]
        histograms = _merge_histograms(folder, ordered)
    except Exception as error:
        revoke_damaged(RunDirectory(folder), ordered, error)
        raise
    return MergeSummary(read.count, read.hex, outputs, *histograms)


def _units_to_merge(planned: Planned, commits: Sequence[Commit]) -> Sequence[PlannedUnit]:
    if planned.is_whole:
        return planned.units
    committed = {number for commit in commits for number in commit.units}
    return [unit for unit in planned.units if unit.number in committed]


def _merge_output(
    folder: Path,
    config: JobConfig,
    output: OutputConfig,
    commits: Sequence[Commit],
    planned: Planned,
    progress: Progress | None,
) -> MergedOutput:
    parts = [commit.outputs[output.label] for commit in commits]
    groups = _groups(output.label, commits, config.forking.distribution.value)
    final, tree = RunDirectory(folder).merged(output.label), config.source.tree

    written = total_digest((part.n_events, part.digest) for part in parts)
    n_units = sum(commit.n_units for commit in commits)

    def check(number: int) -> None:
        for part in groups[number]:
            check_part(folder, part)

    def show(n_events: int) -> None:
        if progress is not None:
            progress(output.label, n_units * n_events // written.count)

    with published(final) as temporary:
        n_events = _core.materialise(
            [[str(folder / part.file) for part in group] for group in groups],
            str(temporary),
            _source(config, planned),
            planned.contents.by_label[output.label].branches,
            planned.contents.by_label[output.label].products,
            output.compression or _COMPRESSION,
            output.compression is not None,
            _n_threads(config),
            check,
            show,
        )
        if config.merge.carry and output.mode == "full":
            same = [(uuid, n_bytes, 0) for uuid, n_bytes, _ in planned.identities]  # copies will do
            _core.carry_objects(
                list(planned.files), str(temporary), [tree], config.merge.keep_first, same
            )
        digest = check_merged(temporary, n_events, written, config.source)
        kept = branches_of(str(temporary), tree)
        anew = [b for b in _core.branches_written_anew(planned.files[0], tree) if b in kept]
        n_bytes = temporary.stat().st_size
    return MergedOutput(output.label, str(final), written.count, digest, n_bytes, anew)


def _groups(label: str, commits: Sequence[Commit], distribution: str) -> list[list[OutputPart]]:
    """Fragments with events, in the order of the plan; together those whose events alternate: where
    children take turns, all of a lumi."""
    if distribution != "round-robin":
        parts = [commit.outputs[label] for commit in commits]
        return [[part] for part in parts if part.n_events]
    lumis = groupby(commits, lambda commit: (commit.run, commit.lumi))
    groups = [[commit.outputs[label] for commit in of_lumi] for _, of_lumi in lumis]
    with_events = [[part for part in group if part.n_events] for group in groups]
    return [group for group in with_events if group]


def _source(config: JobConfig, planned: Planned) -> _core.TreeSource:
    """The input, from which whole entries are taken: no column of it is asked for."""
    source = config.source
    return _core.TreeSource(
        planned.files, source.tree, source.run_branch, source.lumi_branch, source.event_branch,
        [], planned.contents.clusters, planned.identities,
    )  # fmt: skip


def _n_threads(config: JobConfig) -> int:
    """As many as all children had, on the CPUs that there are."""
    wanted = max(config.forking.children, 1) * config.threads.per_child
    return min(wanted, len(os.sched_getaffinity(0)))


def _merge_histograms(folder: Path, commits: Sequence[Commit]) -> tuple[int, int, dict[str, int]]:
    """Merges the histograms; returns their number, the size of their file, and which were filled
    with values that are not finite."""
    parts = [commit.histograms for commit in commits if commit.histograms]
    if not parts:
        return 0, 0, {}
    with published(RunDirectory(folder).histograms) as temporary:
        totals = sum_histograms(checked_files(folder, parts))
        n_histograms = write_histograms(temporary, totals)
        not_finite = {
            f"{module}/{name}": total.exact.n_not_finite
            for module, name, total in totals
            if total.exact.n_not_finite
        }
        return n_histograms, temporary.stat().st_size, not_finite
