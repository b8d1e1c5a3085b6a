"""Merges a run: outputs, histograms, accumulators, and other trees and objects of the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from forkrun.base.destinations import datasets_in
from forkrun.base.durable import published, read_json, write_json
from forkrun.histograms.accumulators.finished import ByDataset, results
from forkrun.histograms.root_file import Named, write_histograms, write_pictures, write_uhi
from forkrun.merge.joined_pieces import store
from forkrun.merge.kept import Kept
from forkrun.merge.made_parts import MadeParts
from forkrun.merge.node_outputs import node_outputs_to_join, write_node_outputs
from forkrun.merge.output import MergedOutput, Progress, merge_outputs
from forkrun.merge.output_parts import Merging, parts_to_join
from forkrun.merge.parts import revoke_damaged
from forkrun.merge.planned import Planned, merge_order
from forkrun.merge.verify import check_read, total_digest
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.nodes import is_on_nodes

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config.model import JobConfig


class MergeSummary(Struct, frozen=True):
    """`n_events`, `digest`: of the events that children read; `not_finite`: number of infinite or
    NaN values in the sums of each histogram that has any."""

    n_events: int
    digest: str
    outputs: list[MergedOutput]
    n_histograms: int
    n_bytes_histograms: int = 0
    not_finite: dict[str, int] = {}
    n_bytes_accumulators: int = 0


def merge_run(
    folder: Path,
    config: JobConfig,
    planned: Planned,
    commits: Sequence[Commit],
    progress: Progress | None = None,
    on_open: Callable[[int], None] | None = None,
) -> MergeSummary:
    """Merges the run in `folder` into its output/. `progress` gets an output's label and the number
    of units whose events it has; `on_open` the number of each input file just before it is opened.
    Raises VerificationError, InputError or OutputError; then no output has its final name;
    DamagedFilesError: units must be processed again."""
    ordered = merge_order(planned.units.n_events, commits, is_whole=planned.is_whole)
    read = total_digest((commit.n_events, commit.digest) for commit in ordered)
    skipped = total_digest((len(commit.skipped), commit.skipped_digest) for commit in ordered)
    if planned.is_whole:
        check_read(read + skipped, planned.n_events, planned.digest)
    try:
        kept = Kept.of(RunDirectory(folder), config)
        config = kept.reduced
        parts = _parts(RunDirectory(folder), config, planned, ordered, on_open)
        outputs = merge_outputs(folder, config, ordered, planned, progress, on_open, parts)
        if planned.is_part:
            carries = [number for number, *_ in planned.carries or ()]
            write_node_outputs(RunDirectory(folder), outputs, ordered, carries)
            return MergeSummary(read.count, read.hex, outputs, 0)
        outputs = kept.with_outputs(outputs)
        groups = kept.groups(ordered, planned.units)
        kept.check(groups, read, skipped)
        totals, merged = kept.sums(groups, planned.units, planned.datasets)
        histograms = _write_histograms(folder, config, totals)
        n_bytes = _write_accumulators(folder, merged)
        if planned.is_whole and not skipped.count and not planned.left_out:
            store(kept, groups, outputs, ordered, planned)
    except Exception as error:
        revoke_damaged(RunDirectory(folder), ordered, error)
        raise
    return MergeSummary(read.count, read.hex, outputs, *histograms, n_bytes)


def _parts(
    folder: RunDirectory,
    config: JobConfig,
    planned: Planned,
    ordered: Sequence[Commit],
    on_open: Callable[[int], None] | None,
) -> MadeParts:
    """Parts of outputs that nodes, or jobs, have made."""
    if config.batch.makes_outputs_on_nodes and is_on_nodes(folder):
        return node_outputs_to_join(folder, ordered)
    return parts_to_join(Merging(folder, config, planned, ordered), on_open)


def _write_accumulators(folder: Path, totals: ByDataset) -> int:
    """Writes the accumulators; returns the size of the file."""
    if not totals:
        return 0
    file = RunDirectory(folder).accumulators
    datasets = datasets_in(read_json(RunDirectory(folder).config))
    write_json(file, results(totals, datasets))
    return file.stat().st_size


def _write_histograms(
    folder: Path, config: JobConfig, totals: Sequence[Named]
) -> tuple[int, int, dict[str, int]]:
    """Writes the histograms; returns their number, the size of their file, and the numbers of
    values that are not finite, by histogram."""
    if not totals:
        return 0, 0, {}
    if config.merge.histograms_json:
        with published(RunDirectory(folder).histograms_json) as temporary:
            write_uhi(temporary, totals)
    write_pictures(RunDirectory(folder).pictures, totals)
    with published(RunDirectory(folder).histograms) as temporary:
        n_histograms = write_histograms(temporary, totals)
        not_finite = {
            f"{module}/{name}": total.exact.n_not_finite
            for module, name, total in totals
            if total.exact.n_not_finite
        }
        return n_histograms, temporary.stat().st_size, not_finite
