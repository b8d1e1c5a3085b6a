"""Results that a run keeps of earlier ones, in its merge; and what later runs may keep of it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from forkrun._core import EventDigest
from forkrun.base.durable import read_json
from forkrun.base.quantities import plural
from forkrun.config.choices import Distribution
from forkrun.errors import VerificationError
from forkrun.histograms.accumulators.finished import (
    ByDataset,
    Totals,
    add_parts,
    merge_parts,
    read_part,
)
from forkrun.histograms.configured_axes import is_fine, made_of_fine, shown_axes
from forkrun.histograms.finished import AXIS, restacked
from forkrun.histograms.parts import Named, read_parts
from forkrun.histograms.root_file import add_histograms, sum_histograms
from forkrun.merge.groups import Group, sums_to_store
from forkrun.merge.node_outputs import files_to_add, sums_to_merge
from forkrun.merge.output import MergedOutput
from forkrun.merge.planned import PlannedUnits
from forkrun.merge.verify import total_digest
from forkrun.rundir.build import build_identity
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.fingerprint import value_digest
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.nodes import NodeRanges, is_on_nodes
from forkrun.rundir.results import (
    OUTPUT,
    SUMS,
    InputPart,
    Origin,
    Piece,
    ResultDigest,
    RunResults,
    Store,
    Stored,
    StoredFile,
    WrittenEvents,
    plain_label,
    store_bytes,
    store_fragments,
    store_output,
    take_output,
)

if TYPE_CHECKING:
    from forkrun.config.model import JobConfig


SUBMIT_AGAIN = "forkrun submit with the same job computes damaged results of the earlier one"
N_PIECES = 32
"""Pieces of the events of a job without datasets, about: a file that is removed or changed costs
those that it is in."""


class Kept(Struct, frozen=True, dict=True):
    """Results that a run keeps. `stored`: kept ones, by digest; `all`: the whole store."""

    folder: RunDirectory
    config: JobConfig
    run: RunResults
    stored: Mapping[str, Stored]
    all: Store

    @classmethod
    def of(cls, folder: RunDirectory, config: JobConfig) -> Kept:
        """Raises VerificationError if what it keeps is not there any more."""
        run, store = RunResults.read(folder), Store.read(folder)
        stored = store.good(folder) if run.kept or run.parts else {}
        if lost := Store.lost(run, stored):
            raise VerificationError(
                f"{folder.stored}: {', '.join(lost)} of an earlier run changed since this began;"
                f" {SUBMIT_AGAIN if is_on_nodes(folder) else 'run the same command again'}"
            )
        return cls(folder, config, run, stored, store)

    @property
    def reduced(self) -> JobConfig:
        """The configuration without outputs that are kept."""
        outputs = tuple(o for o in self.config.outputs if not self.run.keeps(OUTPUT, o.label))
        return self.config.replaced({"outputs": outputs})

    @property
    def dataset_names(self) -> tuple[str, ...]:
        """Names of the datasets of the run."""
        return tuple(dataset.name for dataset in self.config.datasets)

    # --- sums -------------------------------------------------------------------------------------

    def groups(self, ordered: Sequence[Commit], units: PlannedUnits) -> list[Group]:
        """The commits of this run, in groups that are stored together."""
        own = [commit for commit in ordered if not commit.computed_s]
        if self.run.are_all_kept:
            return []  # those commits are of the run before
        if not any(each.digest for each in self.run.results):
            return [Group(own)] if own else []
        most = max(int(units.n_events.sum()) // N_PIECES, 1)
        begins = None
        if is_on_nodes(self.folder):  # sums of whole nodes are read faster
            begins = set(NodeRanges.read(self.folder).first_unit)
        found: list[Group] = []
        n_events, end, now_s = 0, -1, time.time()
        for _, commits in groupby(own, key=lambda commit: commit.dataset):
            end = -1
            for commit in commits:
                is_full = n_events + commit.n_events > most
                if commit.unit != end or (is_full and (begins is None or commit.unit in begins)):
                    found.append(Group([]))
                    n_events = 0
                found[-1].commits.append(commit)
                n_events, end = n_events + commit.n_events, commit.units.stop
        for group in found:
            group.part = self._part(group.commits, units, now_s)
        return found

    def _part(self, commits: Sequence[Commit], units: PlannedUnits, now_s: float) -> InputPart:
        read = total_digest((commit.n_events, commit.digest) for commit in commits)
        numbers = np.arange(commits[0].unit, commits[-1].units.stop)
        ranges = units.joined_ranges(numbers).tolist()
        named = tuple((self.run.files[file], first, last) for file, first, last in ranges)
        files = tuple(file for file, *_ in ranges)
        origin = Origin(now_s, build_identity(), read.count)
        return InputPart(named, read.count, read.hex, (origin,), self.dataset_names, files)

    def sums(
        self, groups: Sequence[Group], units: PlannedUnits, datasets: Sequence[int]
    ) -> tuple[list[Named], ByDataset]:
        """Histograms, in the order of the whole job, and accumulators of all events: those of the
        groups, which get their own, and of kept pieces. `datasets`: number of that of each file."""
        histograms: list[tuple[Sequence[Named], str]] = []
        accumulators: list[tuple[int, ByDataset, str]] = []
        for group in groups:
            files = sums_to_merge(self.folder, group.commits)
            filled = sum_histograms(files_to_add(self.folder.path, files.histograms))
            merged = merge_parts(files_to_add(self.folder.path, files.accumulators))
            if group.part:
                group.files = sums_to_store(filled, merged)
            histograms.append((self._shown(filled), ""))
            accumulators.append((group.commits[0].unit, merged, ""))
        for name, (part, labels) in self._kept_files().items():
            named, totals = self.read_sums(name, part, labels)
            histograms.append((self._shown(named), name))
            _, unit, file = self.place(part, units)
            of_dataset = {datasets[file] if datasets else 0: totals} if totals else {}
            accumulators.append((unit, of_dataset, name))
        order = {each.label: n for n, each in enumerate(self.run.results) if each.kind == SUMS}
        added = add_histograms(histograms)
        added.sort(key=lambda named: order.get(plain_label(named[0]), -1))
        accumulators.sort(key=lambda each: each[0])  # the order of lists depends on it
        return added, add_parts((part, of) for _, part, of in accumulators)

    def read_sums(
        self, file: str, part: InputPart, labels: Collection[str]
    ) -> tuple[list[Named], Totals]:
        """Histograms and accumulators of these modules in a stored file of a part of the input."""
        path, now = self.folder.stored / file, self.dataset_names
        if path.suffix == ".histograms":
            own = (each for each in read_parts(path) if plain_label(each[0]) in labels)
            return [(m, h, restacked(AXIS, part.datasets, now, s)) for m, h, s in own], {}
        modules = {m: t for of in read_part(path).values() for m, t in of.items()}
        return [], {m: t for m, t in modules.items() if plain_label(m) in labels}

    def _shown(self, filled: Sequence[Named]) -> list[Named]:
        """The histograms as they are written: those of fine sums with their own bins."""
        return [
            (m, h, made_of_fine(s, self._shown_axes[plain_label(m)]) if is_fine(s) else s)
            for m, h, s in filled
        ]

    @cached_property
    def _shown_axes(self) -> dict[str, dict[int, Any]]:
        """Axes that are made of fine ones, by label of the module, also of one whose results are
        kept."""
        modules = read_json(self.folder.config)["modules"]
        return {module["label"]: shown_axes(module) for module in modules}

    def _kept_files(self) -> dict[str, tuple[InputPart, set[str]]]:
        """By file of sums, the part of the input that they are of, and labels of the modules whose
        sums are kept of it."""
        found: dict[str, tuple[InputPart, set[str]]] = {}
        for result, piece in self._pieces(SUMS):
            for file in piece.files:
                part = self.all.inputs[piece.part]
                found.setdefault(file.name, (part, set()))[1].add(result.label)
        return found

    def _pieces(self, kind: str) -> Iterator[tuple[ResultDigest, Piece]]:
        for result in self.run.results:
            if result.kind == kind and (parts := self.run.parts.get(result.digest)):
                yield from ((result, piece) for piece in self.stored[result.digest].of(parts))

    def place(self, part: InputPart, units: PlannedUnits) -> tuple[int, int, int]:
        """Place of the first event of a part of the input among all, its unit, and the number of
        its file."""
        key, first, _ = part.ranges[0]
        file = self.run.files.index(key)
        is_in = (units.file == file) & (units.first <= first) & (first < units.last)
        number = np.flatnonzero(is_in)[0]
        unit = int(units.first_range.searchsorted(number, side="right")) - 1
        n_before = int((units.last - units.first)[:number].sum())
        return n_before + first - int(units.first[number]), unit, file

    def check(self, groups: Sequence[Group], read: EventDigest, skipped: EventDigest) -> None:
        """Raises VerificationError unless the sums of each result are of all events, each once.
        `skipped`: events that this run has left out, of those that it does not keep."""
        own = [(part.n_events, part.events) for group in groups if (part := group.part)]
        own.append((skipped.count, skipped.hex))
        read += skipped
        inputs = self.all.inputs
        kept_whole = frozenset(self.run.kept)
        for digest, parts in self.run.parts.items():
            kept = [(inputs[name].n_events, inputs[name].events) for name in parts]
            total = total_digest([*kept, *([] if digest in kept_whole else own)])
            if total != read:
                result = next(each for each in self.run.results if each.digest == digest)
                raise VerificationError(
                    f"{self.folder.path}: {result.name} is of {plural(total.count, 'event')}"
                    f" (digest {total.hex}), the run has {read.count:,} (digest {read.hex}); remove"
                    f" {self.folder.stored} and run the same command again"
                )

    # --- outputs ----------------------------------------------------------------------------------

    def with_outputs(self, made: Sequence[MergedOutput]) -> list[MergedOutput]:
        """With those that are kept, which get their names, in the order of the whole job."""
        outputs = [each for each in self.run.results if each.kind == OUTPUT]
        kept = [self.stored[each.digest] for each in outputs if self.run.keeps(*each.key)]
        found = list(made)
        for stored in kept:
            for file in stored.files:
                take_output(self.folder, file)
            found += [self._here(convert(merged, MergedOutput)) for merged in stored.merged]
        order = {each.label: n for n, each in enumerate(outputs)}
        if not kept:
            return found
        return sorted(found, key=lambda merged: order[merged.label.partition("/")[0]])

    def _here(self, merged: MergedOutput) -> MergedOutput:
        """An output as its file is called now: the run directory may have been moved."""
        place = merged.file.rpartition(f"/{self.folder.output.name}/")[2]
        return replace(merged, file=str(self.folder.output / place))

    # --- for later runs ---------------------------------------------------------------------------

    def to_store(
        self,
        groups: Sequence[Group],
        outputs: Sequence[MergedOutput],
        ordered: Sequence[Commit],
    ) -> list[Stored]:
        """Stores files of the run; returns its results, those that it keeps with them. `ordered`:
        commits of all events, in the order of the plan."""
        commits = [commit for group in groups for commit in group.commits]
        is_one_build = {commit.build for commit in commits} <= {build_identity()}
        sums = [
            tuple(
                store_bytes(self.folder, f"{group.part.name}.{kind}", data)
                for kind, data in group.files.items()
                if group.part
            )
            for group in groups
        ]
        now = []
        for each in self.run.results:
            if not each.digest:
                continue
            old = self.stored[each.digest].of(parts) if (
                parts := self.run.parts.get(each.digest, ())) else []  # fmt: skip
            if self.run.keeps(*each.key):
                kept = replace(self.stored[each.digest], result=each)
                now.append(replace(kept, aside=False, pieces=tuple(old)))
            elif is_one_build:
                new = [self._piece(each, *of) for of in zip(groups, sums, strict=True)]
                pieces = (*old, *filter(None, new)) if all(new) else ()
                if each.kind == OUTPUT:
                    now += self._made(each, pieces, ordered, outputs)
                elif pieces:
                    now.append(Stored(each, pieces))
        return now

    def _made(
        self,
        result: ResultDigest,
        pieces: tuple[Piece, ...],
        commits: Sequence[Commit],
        outputs: Sequence[MergedOutput],
    ) -> list[Stored]:
        """An output, as it is stored; none if it cannot be."""
        merged = [each for each in outputs if each.label.partition("/")[0] == result.label]
        places = [f for each in merged for f in _files_of(self.folder, each)]
        linked = [store_output(self.folder, file, result.digest) for file in places]
        files = tuple(file for file in linked if file)
        if len(files) < len(places):
            return []
        told = tuple(to_builtins(each) for each in merged)
        return [Stored(result, pieces, files, told, _written(commits, result.label))]

    def _piece(
        self, result: ResultDigest, group: Group, sums: tuple[StoredFile, ...]
    ) -> Piece | None:
        """Stored piece of a result for a group; None if it cannot be stored."""
        assert group.part is not None
        name, label = group.part.name, result.label
        if result.kind == OUTPUT:
            return self.fragment(label, group.commits, name)
        if result.kind == SUMS:
            nan = {k: n for k, n in group.nan_fills.items() if plain_label(k) == label}
            return Piece(name, sums, {}, nan)
        if (flows := group.cutflows) is None:
            return None
        return Piece(name, (), {p: c for p, c in flows.items() if plain_label(p) == label})

    def fragment(self, label: str, commits: Sequence[Commit], part: str) -> Piece | None:
        """Selected events of a part of the input; None where children take turns, so that the
        fragments of a lumi alternate."""
        if self.config.forking.distribution is Distribution.ROUND_ROBIN:
            return None
        own = [commit.outputs[label] for commit in commits]
        total = total_digest((each.n_events, each.digest) for each in own)
        files = store_fragments(self.folder, value_digest([part, label])[:24], own)
        n_bytes = sum(file.n_bytes for file in files)
        return Piece(part, tuple(files), written=WrittenEvents(total.count, total.hex, n_bytes))


def _written(commits: Sequence[Commit], label: str) -> dict[int, WrittenEvents]:
    """By dataset what children have written of an output."""
    found: dict[int, list[OutputPart]] = {}
    for commit in commits:
        if label in commit.outputs:
            found.setdefault(commit.dataset, []).append(commit.outputs[label])
    totals = {n: total_digest((p.n_events, p.digest) for p in parts) for n, parts in found.items()}
    return {
        n: WrittenEvents(total.count, total.hex, sum(part.n_bytes for part in found[n]))
        for n, total in totals.items()
    }


def _files_of(folder: RunDirectory, merged: MergedOutput) -> list[Path]:
    """Files of an output: itself or all by lumi, and in Parquet."""
    place = folder.path / merged.file
    if place.is_dir():
        return [path for path in sorted(place.rglob("*")) if path.is_file()]
    parquet = folder.parquet_of(place)
    return [place, parquet] if merged.n_bytes_parquet else [place]
