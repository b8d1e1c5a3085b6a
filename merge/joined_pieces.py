"""Joins stored pieces of results, of which each run with more input adds some: the next run then
keeps a joined piece in place of those that it consists of, and drops these. So an interruption
loses nothing, and no result has many more than twice the usual number of pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from forkrun.errors import JobError
from forkrun.histograms.accumulators.finished import ByDataset, add_parts
from forkrun.histograms.parts import Named
from forkrun.histograms.root_file import add_histograms
from forkrun.merge.groups import Group, summed_flows, sums_to_store
from forkrun.merge.kept import N_PIECES, Kept
from forkrun.merge.output import MergedOutput
from forkrun.merge.planned import Planned, PlannedUnits
from forkrun.merge.verify import total_digest
from forkrun.rundir.fingerprint import value_digest
from forkrun.rundir.ledger import Commit
from forkrun.rundir.results import (
    CUTFLOW,
    OUTPUT,
    SUMS,
    FileRange,
    InputPart,
    Piece,
    Stored,
    StoredFile,
    origins_of,
    store_bytes,
    summed_counts,
)

_MOST_PIECES = 2 * N_PIECES
"""Results with more get joined ones."""


def store(
    kept: Kept,
    groups: Sequence[Group],
    outputs: Sequence[MergedOutput],
    ordered: Sequence[Commit],
    planned: Planned,
) -> None:
    """Stores the results of a run, those that it keeps with them. `ordered`: commits of all events,
    in the order of the plan."""
    if any(result.digest for result in kept.run.results):
        now = kept.to_store(groups, outputs, ordered)
        parts = {group.part.name: group.part for group in groups if group.part}
        inputs = kept.all.inputs | parts
        joined = JoinedPieces(kept, inputs, planned.units, planned.datasets, ordered)
        now = joined.added_to(now)
        kept.all.after(now, [*parts.values(), *joined.parts]).write(kept.folder)


class JoinedPieces:
    """Joined pieces of the results that a run stores. `inputs`: parts of the input, by name;
    `units`: of the run; `datasets`: number of that of each file; `ordered`: commits of all events.
    `parts`: those of the joined pieces."""

    def __init__(
        self,
        kept: Kept,
        inputs: Mapping[str, InputPart],
        units: PlannedUnits,
        datasets: Sequence[int],
        ordered: Sequence[Commit],
    ) -> None:
        self._kept, self._inputs, self._ordered = kept, inputs, ordered
        self._units, self._datasets = units, datasets
        self._before = np.concatenate(([0], np.cumsum(units.n_events)))
        self.parts: list[InputPart] = []

    def added_to(self, results: Sequence[Stored]) -> list[Stored]:
        """The results with joined pieces, if they have many. Outputs get theirs together, as they
        need fragments of the same parts."""
        outputs = [s.result.key for s in results if s.result.kind == OUTPUT]
        without = outputs if any(self._kept.run.keeps(*key) for key in outputs) else ()
        many = [s for s in results if len(s.pieces) > _MOST_PIECES and s.result.key not in without]
        found: dict[tuple[str, ...], dict[str, list[Piece]]] = {}
        for stored in many:
            for pieces in self._runs(stored.pieces):
                parts = tuple(piece.part for piece in pieces)
                found.setdefault(parts, {})[stored.digest] = pieces
        by_digest = {stored.digest: stored for stored in results}
        for parts, of_results in found.items():
            part = self._part([self._inputs[name] for name in parts])
            self.parts.append(part)
            for digest, piece in self._joined(part, of_results, by_digest):
                stored = by_digest[digest]
                by_digest[digest] = replace(stored, pieces=(*stored.pieces, piece))
        return list(by_digest.values())

    def _runs(self, pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
        """Consecutive pieces of one dataset that are small together; two at least."""
        known = (p for p in pieces if all(key for key, *_ in self._inputs[p.part].ranges))
        placed = [(*self._kept.place(self._inputs[p.part], self._units), p) for p in known]
        most = max(int(self._before[-1]) // N_PIECES, 1)
        run: list[Piece] = []
        end, n_run, last = -1, 0, -1
        for place, _, file, piece in sorted(placed, key=lambda each: each[0]):
            n_events, dataset = self._inputs[piece.part].n_events, self._dataset(file)
            if (place, dataset) != (end, last) or n_run + n_events > most:
                yield from [run] * (len(run) > 1)
                run, n_run = [], 0
            run.append(piece)
            n_run, end, last = n_run + n_events, place + n_events, dataset
        yield from [run] * (len(run) > 1)

    def _dataset(self, file: int) -> int:
        return self._datasets[file] if self._datasets else 0

    def _part(self, parts: Sequence[InputPart]) -> InputPart:
        ranges: list[FileRange] = []
        for key, first, last in (each for part in parts for each in part.ranges):
            if ranges and ranges[-1][::2] == (key, first):
                first = ranges.pop()[1]
            ranges.append((key, first, last))
        total = total_digest((part.n_events, part.events) for part in parts)
        run = self._kept.run
        numbers = tuple(run.files.index(key) for key, *_ in ranges)
        names = self._kept.dataset_names
        return InputPart(tuple(ranges), total.count, total.hex, origins_of(parts), names, numbers)

    def _joined(
        self, part: InputPart, pieces: Mapping[str, Sequence[Piece]], stored: Mapping[str, Stored]
    ) -> Iterator[tuple[str, Piece]]:
        """Joined pieces, by digest of the result; none for results whose pieces cannot be added."""
        sums = {d: own for d, own in pieces.items() if stored[d].result.kind == SUMS}
        labels = {stored[digest].result.label: own for digest, own in sums.items()}
        files = self._sums(labels)
        for digest, own in pieces.items():
            result = stored[digest].result
            if result.kind == OUTPUT:
                if piece := self._kept.fragment(result.label, self._commits(part), part.name):
                    yield digest, piece
            elif result.kind == SUMS and result.label in files:
                nan_fills = summed_counts(piece.nan_fills for piece in own)
                yield digest, Piece(part.name, files[result.label], {}, nan_fills)
            elif result.kind == CUTFLOW:
                flows = summed_flows([piece.cutflow for piece in own])
                yield from [(digest, Piece(part.name, (), flows))] if flows is not None else ()

    def _commits(self, part: InputPart) -> list[Commit]:
        first = self._kept.place(part, self._units)[0]
        end = first + part.n_events
        return [commit for commit in self._ordered if first <= self._before[commit.unit] < end]

    def _sums(self, pieces: Mapping[str, Sequence[Piece]]) -> dict[str, tuple[StoredFile, ...]]:
        """Files with the sums of pieces, by label of the module: one for all, if possible."""
        histograms: list[tuple[Sequence[Named], str]] = []
        accumulators: list[tuple[ByDataset, str]] = []
        for at_once in zip(*pieces.values(), strict=True):
            labels: dict[str, set[str]] = {}
            for label, piece in zip(pieces, at_once, strict=True):
                for file in piece.files:
                    labels.setdefault(file.name, set()).add(label)
            part = self._inputs[at_once[0].part]
            dataset = self._dataset(self._kept.place(part, self._units)[2])
            for name, own in labels.items():
                filled, totals = self._kept.read_sums(name, part, own)
                histograms.append((filled, name))
                accumulators.append(({dataset: totals}, name))
        try:
            filled, merged = add_histograms(histograms), add_parts(accumulators)
        except JobError:  # some are fine sums of other bins
            each = [self._sums({label: own}) for label, own in pieces.items() if len(pieces) > 1]
            return {label: files for found in each for label, files in found.items()}
        names = sorted((label, [piece.part for piece in own]) for label, own in pieces.items())
        name = value_digest(names)[:24]
        contents = sums_to_store(filled, merged).items()
        files = tuple(store_bytes(self._kept.folder, f"{name}.{kind}", d) for kind, d in contents)
        return dict.fromkeys(pieces, files)
