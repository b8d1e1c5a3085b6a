"""Results that a run keeps of earlier ones, in its merge; and what later runs may keep of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from forkrun.errors import VerificationError
from forkrun.histograms.accumulators.parts import ByDataset, encode_part, read_part
from forkrun.histograms.parts import Named, encode, read_parts
from forkrun.merge.output import MergedOutput
from forkrun.merge.verify import total_digest
from forkrun.rundir.build import build_identity
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.results import (
    CUTFLOW,
    OUTPUT,
    SUMS,
    ResultDigest,
    RunResults,
    Store,
    Stored,
    StoredFile,
    WrittenEvents,
    store_bytes,
    store_output,
    summed_cutflows,
    take_output,
)

if TYPE_CHECKING:
    from forkrun.config import JobConfig


class Kept(Struct, frozen=True):
    """What a run keeps. `stored`: by digest."""

    folder: RunDirectory
    run: RunResults
    stored: Mapping[str, Stored]

    @classmethod
    def of(cls, folder: RunDirectory) -> Kept:
        """Raises VerificationError if what it keeps is not there any more."""
        run = RunResults.read(folder)
        stored = Store.read(folder).good(folder) if run.kept else {}
        if missing := [digest for digest in run.kept if digest not in stored]:
            named = [each.name for each in run.results if each.digest in missing]
            raise VerificationError(
                f"{folder.stored}: {', '.join(named)} of an earlier run changed since this run"
                " began; run the same command again"
            )
        return cls(folder, run, stored)

    def without(self, config: JobConfig) -> JobConfig:
        """The configuration without outputs that are kept."""
        outputs = tuple(o for o in config.outputs if not self.run.keeps(OUTPUT, o.label))
        return config.model_copy(update={"outputs": outputs})

    def _kept(self, kind: str) -> list[Stored]:
        kept = (self.stored[each.digest] for each in self.run.results if each.digest in self.stored
                and each.digest in self.run.kept)  # fmt: skip
        return [stored for stored in kept if stored.result.kind == kind]

    def _files(self, suffix: str) -> dict[str, set[str]]:
        """By file of sums, labels of the modules whose sums are kept of it."""
        found: dict[str, set[str]] = {}
        for stored in self._kept(SUMS):
            for file in stored.files:
                if file.name.endswith(suffix):
                    found.setdefault(file.name, set()).add(stored.result.label)
        return found

    def with_histograms(self, totals: Iterable[Named]) -> list[Named]:
        """With those that are kept, in the order of the whole job."""
        found = list(totals)
        for name, labels in self._files(".histograms").items():
            parts = read_parts(self.folder.stored / name)
            found += [(module, n, h.in_order()) for module, n, h in parts if module in labels]
        order = {each.label: n for n, each in enumerate(self.run.results) if each.kind == SUMS}
        return sorted(found, key=lambda named: order.get(named[0], -1))

    def with_accumulators(self, totals: ByDataset) -> ByDataset:
        """With those that are kept."""
        for name, labels in self._files(".accumulators").items():
            for dataset, modules in read_part(self.folder.stored / name).items():
                own = {m: t for m, t in modules.items() if m.partition("@")[0] in labels}
                totals.setdefault(dataset, {}).update(own)
        return totals

    def with_outputs(self, made: Sequence[MergedOutput]) -> list[MergedOutput]:
        """With those that are kept, which get their names, in the order of the whole job."""
        if not self._kept(OUTPUT):
            return list(made)
        found = list(made)
        for stored in self._kept(OUTPUT):
            for file in stored.files:
                take_output(self.folder, file)
            found += [self._here(convert(merged, MergedOutput)) for merged in stored.merged]
        order = {each.label: n for n, each in enumerate(self.run.results) if each.kind == OUTPUT}
        return sorted(found, key=lambda merged: order[merged.label.partition("/")[0]])

    def _here(self, merged: MergedOutput) -> MergedOutput:
        """An output as its file is called now: the run directory may have been moved."""
        place = merged.file.rpartition(f"/{self.folder.output.name}/")[2]
        return replace(merged, file=str(self.folder.output / place))

    def store(
        self,
        commits: Sequence[Commit],
        events: tuple[int, str],
        histograms: Sequence[Named],
        accumulators: ByDataset,
        outputs: Sequence[MergedOutput],
    ) -> None:
        """Stores the results of the run, those that it keeps with them."""
        if not any(each.digest for each in self.run.results):
            return
        files = self._store_sums(histograms, accumulators)
        flows = summed_cutflows(commits)
        now = []
        is_one_build = {commit.build for commit in commits} <= {build_identity()}
        for each in self.run.results:
            if each.digest and each.digest in self.run.kept:
                stored = self.stored[each.digest]
                own = files if each.kind == SUMS else stored.files
                now.append(replace(stored, aside=False, files=own))
            elif each.digest and is_one_build:
                made = Stored(each, time.time(), build_identity(), *events)
                now += self._made(made, each, commits, files, flows, outputs)
        Store.read(self.folder).after(now).write(self.folder)

    def _made(
        self, made: Stored, result: ResultDigest, commits: Sequence[Commit],
        sums: tuple[StoredFile, ...], flows: Any, outputs: Sequence[MergedOutput],
    ) -> list[Stored]:  # fmt: skip
        """The result, as it is stored; none if it cannot be."""
        if result.kind == SUMS:
            nan: dict[str, int] = {}
            for commit in commits:
                for name, n in commit.nan_fills.items():
                    if name.partition("/")[0].partition("@")[0] == result.label:
                        nan[name] = nan.get(name, 0) + n
            return [replace(made, files=sums, nan_fills=nan)]
        if result.kind == CUTFLOW:
            if flows is None:
                return []
            own = {
                n: {p: c for p, c in paths.items() if p.partition("@")[0] == result.label}
                for n, paths in flows.items()
            }
            return [replace(made, cutflow=own)]
        merged = [each for each in outputs if each.label.partition("/")[0] == result.label]
        places = [f for each in merged for f in _files_of(self.folder, each)]
        linked = [store_output(self.folder, file, result.digest) for file in places]
        files = tuple(file for file in linked if file)
        if len(files) < len(places):
            return []
        told = tuple(to_builtins(each) for each in merged)
        return [replace(made, files=files, merged=told, written=_written(commits, result.label))]

    def _store_sums(
        self, histograms: Sequence[Named], accumulators: ByDataset
    ) -> tuple[StoredFile, ...]:
        pieces: dict[str, Sequence[bytes | memoryview]] = {
            "histograms": encode(histograms) if histograms else [],
            "accumulators": encode_part(accumulators),
        }
        return tuple(store_bytes(self.folder, kind, each) for kind, each in pieces.items() if each)


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
