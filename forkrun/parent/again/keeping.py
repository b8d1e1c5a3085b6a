"""Results that a run keeps from earlier ones in its directory; reasons for computing the others."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.quantities import date, plural
from forkrun.errors import InputError
from forkrun.histograms.configured_axes import made_of_fine, shown_axes
from forkrun.histograms.parts import read_parts
from forkrun.parent.again.digests import FORKRUN, JobResults
from forkrun.parent.again.reduced import reduced_job
from forkrun.parent.preparation import PreparedJob
from forkrun.plan.event_row import EventRow, Stretch, Stretches, cut_at
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import differences
from forkrun.rundir.fingerprint import read_fingerprint
from forkrun.rundir.ledger import NO_EVENTS, Commit, OutputPart, read_ledgers
from forkrun.rundir.results import (
    CUTFLOW,
    OUTPUT,
    SUMS,
    InputPart,
    Piece,
    ResultDigest,
    RunResults,
    Store,
    Stored,
    join_fragments,
    origins_of,
    plain_label,
)

_SHOWN = 4
_MIXED = "the run was begun with other code, packages or builds"
"""Reason why results of a resumed run are not stored."""


class Keeping(Struct, frozen=True, dict=True):
    """`run`: the results of the job, including kept ones; `before`: stored results, by kind and
    label; `good`: intact stored results, by digest; `inputs`: parts of the input with stored
    pieces, by name."""

    results: JobResults
    run: RunResults
    before: dict[tuple[str, str], Stored]
    good: Mapping[str, Stored]
    inputs: dict[str, InputPart]
    known: frozenset[tuple[str, str]] = frozenset()
    """Results requested by the previous run, if it was finished, or stored."""
    unlike: Mapping[str, str] = {}
    """Reasons why stored fine sums cannot be used, by label."""

    @classmethod
    def of(cls, folder: RunDirectory, job: PreparedJob, *, force: bool = False) -> Keeping:
        """Results that a new run may keep; none with `force`."""
        results = JobResults(job)
        store = Store() if force else Store.read(folder)
        good = store.good(folder)
        row = EventRow(job.plan.units)
        unlike = _drop_unlike(folder, results, good)
        run = _kept(results, row, good, store.inputs)
        while _drop_damaged(folder, run, good):
            run = _kept(results, row, good, store.inputs)
        before = {s.result.key: s for s in sorted(store.results, key=lambda s: not s.aside)}
        last = RunResults.read(folder).results if folder.is_finished() else ()
        known = frozenset(before) | {each.key for each in last}
        return cls(results, run, before, good, store.inputs, known, unlike)

    def resumed(self, begun: RunResults) -> Keeping | None:
        """Results kept by the run that was `begun`, perhaps of another build; None if they are no
        longer stored, or depend on changes."""
        before = {each.key: each for each in begun.results}
        results = tuple(_resumed(before.get(each.key), each, begun) for each in self.run.results)
        digests = {each.digest for each in results} & self.good.keys()
        if not {*begun.kept, *begun.parts} <= digests or begun.files != self.run.files:
            return None
        again = replace(begun, results=results)
        known = all(part in self.inputs for parts in begun.parts.values() for part in parts)
        return replace(self, run=again) if known else None

    @cached_property
    def computed(self) -> list[ResultDigest]:
        """Results that are not kept as a whole."""
        return [each for each in self.run.results if not self.run.keeps(*each.key)]

    @cached_property
    def parts(self) -> list[tuple[str, Stretch]]:
        """Parts of the input whose events are not processed: name, and range among all events."""
        parts = self.run.parts
        computed = [*self._outputs, *self.computed]
        mine = [parts.get(each.digest, ()) for each in computed] or [*parts.values()]
        row = EventRow(self.results.job.plan.units)
        numbers = self.results.numbers
        found = [(n, row.place_of(self.inputs[n].ranges, numbers)) for n in mine[0]] if mine else []
        return [(name, place) for name, place in found if place]

    @property
    def _outputs(self) -> list[ResultDigest]:
        """Outputs that are made again; all have the same kept parts."""
        return [each for each in self.computed if each.kind == OUTPUT]

    @cached_property
    def whole_job(self) -> PreparedJob:
        """The job, with units that end at the limits of unprocessed events."""
        job = self.results.job
        if not self.parts:
            return job
        places = [place for _, stretch in self.parts for place in stretch]
        units = cut_at(job.plan.units, places)
        job.schedule.conditions.reorder(units.lumi_key, units.n_events)
        return replace(job, plan=replace(job.plan, units=units))

    @property
    def job(self) -> PreparedJob:
        """The job for the computed results."""
        if not self.run.kept:
            return self.whole_job
        return reduced_job(self.results, self.computed, self.whole_job.plan)

    def commits(self, folder: RunDirectory) -> list[Commit]:
        """Ledger entries for events that earlier runs have processed."""
        plan, now_s = self.whole_job.plan, time.time()
        before = np.concatenate(([0], np.cumsum(plan.units.n_events)))
        found = []
        for name, stretch in self.parts:
            first, end = before.searchsorted(stretch).tolist()
            part, whole = self.inputs[name], plan.units.stretch(first, end - first)
            fragments = self._fragments(folder, name)
            found.append(
                Commit(
                    first, 0, os.getpid(), whole.run, whole.lumi, part.n_events, part.events, (),
                    NO_EVENTS, fragments, None, now_s, now_s, 0.0, 0.0, 0, 0, end - first,
                    build=part.last.build, dataset=plan.dataset_of(whole),
                    computed_s=part.last.computed_s,
                )
            )  # fmt: skip
        return found

    def _fragments(self, folder: RunDirectory, part: str) -> dict[str, OutputPart]:
        """Stored fragments of a part of the input, by output, with the present numbers of files."""
        numbers, stored = self.results.numbers, self.inputs[part]
        keys = (key for key, *_ in stored.ranges)
        moved = {old: numbers[key] for key, old in zip(keys, stored.numbers, strict=True)}
        moved = {old: new for old, new in moved.items() if old != new}
        found = {}
        for each in self._outputs:
            (piece,) = self.good[each.digest].of([part])
            file = piece.files[0]
            if moved or len(piece.files) > 1:
                paths = [str(folder.stored / own.name) for own in piece.files]
                file = join_fragments(folder, f"moved.{file.name}", paths, moved)
            assert piece.written is not None
            place = f"{folder.stored.name}/{file.name}"
            events = piece.written.n_events, piece.written.digest
            found[each.label] = OutputPart(place, *events, file.n_bytes, file.checksum)
        return found

    @property
    def knows_job(self) -> bool:
        """Whether the job requests any result that the previous one has requested."""
        keys = {each.key for each in self.run.results}
        keys = {key for key in keys if key[0] != CUTFLOW} or keys  # many jobs have a path "main"
        return bool(keys & self.known)

    def why(self, result: ResultDigest) -> str:
        """Reason for computing a result, or "kept" and when it was computed."""
        if self.run.keeps(*result.key):
            fine = result.kind == SUMS and self.good[result.digest].result.files != result.files
            return f"kept{self._when(result)}{'; made from the fine sums' * fine}"
        if result.reasons:
            return f"always computed: {'; '.join(result.reasons[:_SHOWN])}"
        if (before := self.before.get(result.key)) is None:
            return "new"
        if result.kind == SUMS and (unlike := self.unlike.get(result.label)):
            return f"changed: axes of {result.label}: {unlike}"
        if result.digest in self.run.parts and not self._n_new:
            return "other input, settings or files: made of stored events"
        if result.digest in self.run.parts or (result.digest in self.good and not result.files):
            return f"new or changed input: {self._n_new:,} of {plural(self._n_all, 'event')}"
        if before.result.digest == result.digest and before.result.files != result.files:
            return f"changed: input or settings of {result.label}"
        changed = _changed(before.result, result)
        return f"changed: {', '.join(changed[:_SHOWN])}" if changed else "not stored as written"

    def _when(self, result: ResultDigest) -> str:
        runs = origins_of(self.inputs[name] for name in self.run.parts.get(result.digest, ()))
        told = [f"on {date(run.computed_s)} by forkrun {run.build}" for run in runs]
        if len(told) > 1:
            told = [
                f"{plural(run.n_events, 'event')} {t}" for run, t in zip(runs, told, strict=True)
            ]
        return f": computed {_listed(told)}" if told else ""

    @property
    def text(self) -> str:
        """One-line summary for the user."""
        fills = [each for each in self.run.results if each.kind != CUTFLOW]
        counted = fills or list(self.run.results)
        n_kept = sum(self.run.keeps(*each.key) for each in counted)
        if not self.computed:
            return f"kept {_all(counted)}: nothing to compute"
        names = [each.title or each.label for each in self.computed if each.kind != CUTFLOW]
        names = names or [each.name for each in self.computed]
        why = _listed(list(dict.fromkeys(map(self.why, self.computed))), "; ")
        if self.parts:
            n_before = self._n_all - self._n_new
            some = _all(
                [each for each in counted if not self.run.keeps(*each.key)] or self.computed
            )
            of = f"{n_before:,} of {plural(self._n_all, 'event')} of {some}"
            whole = f"{n_kept} of {_all(counted)}, and " if n_kept else ""
            return f"kept {whole}{of}; computing the others ({why})"
        if not self.run.kept:
            return f"computing {_all(counted)} again ({why})"
        return f"kept {n_kept} of {_all(counted)}; computing {_listed(names)} ({why})"

    @property
    def _n_all(self) -> int:
        return self.results.job.plan.n_events

    @property
    def _n_new(self) -> int:
        return self._n_all - sum(end - begin for _, (begin, end) in self.parts)

    def explained(self) -> Iterable[str]:
        """One line per result."""
        width = max((len(each.name) for each in self.run.results), default=0)
        return [f"{each.name:<{width}}  {self.why(each)}" for each in self.run.results]


def decide(
    folder: RunDirectory, job: PreparedJob, is_begun: bool, *, force: bool, is_new: bool
) -> tuple[Keeping, bool]:
    """Decides which results the run keeps, and whether it resumes the run that `is_begun`. A
    changed job starts again if the previous one was finished, or has left stored results; `is_new`:
    so does one with results that are always computed. A started run that cannot be kept is left
    alone, and refused later."""
    found = Keeping.of(folder, job, force=force and not is_begun)
    if not is_begun:
        return found, False
    if differences(read_fingerprint(folder.fingerprint), job.fingerprint):
        return found, not found.knows_job
    begun = RunResults.read(folder)
    resumed = found.resumed(begun)
    asks = is_new and bool(begun.results) and folder.is_finished()
    if resumed and not (asks and any(each.reasons for each in resumed.run.results)):
        return resumed, True
    return found, False


def is_joined(folder: RunDirectory, keeping: Keeping) -> bool:
    """Whether all results are stored, and the events of the same plan have been processed."""
    before, now = read_fingerprint(folder.fingerprint), keeping.results.job.fingerprint
    same = all(before.get(part) == now[part] for part in ("units of work", "input"))
    if not (keeping.run.are_all_kept and same and folder.is_finished()):
        return False
    n_events = sum(commit.n_events for commit in read_ledgers(folder.ledger))
    return n_events == keeping.results.job.plan.n_events


def _kept(
    results: JobResults, row: EventRow, good: Mapping[str, Stored], inputs: Mapping[str, InputPart]
) -> RunResults:
    """Results to keep: whole ones, and for the others pieces, whose events none computes."""
    digests, numbers = results.digests(), results.numbers
    known = {name: place for name, part in inputs.items()
             if (place := row.place_of(part.ranges, numbers))}  # fmt: skip
    line = Stretches(len(row), known)
    names = {d.digest: [p.part for p in s.pieces] for d in digests if (s := good.get(d.digest))}
    parts = {digest: line.chosen(own) for digest, own in names.items()}
    parts = {d: own for d, own in parts.items() if not line.missing(own).any()}
    whole = {each.digest for each in digests if each.kind != OUTPUT} & parts.keys()
    whole |= {d.digest for d in digests if d.kind == OUTPUT and _has_files(d, good)}
    computed = [each.digest for each in digests if each.digest not in whole]
    outputs = [d.digest for d in digests if d.kind == OUTPUT and d.digest not in whole]
    if outputs:  # these need fragments of the same parts
        same = set.intersection(*({*names.get(digest, ())} for digest in outputs))
        names |= {d: [n for n in names[d] if n in same] for d in outputs if d in names}
    new = np.zeros(len(line.sizes), np.bool_)
    while True:
        more = new.copy()
        for digest in computed:
            parts[digest] = line.chosen(names.get(digest, ()), new) if digest else []
            more |= line.missing(parts[digest])
        if (more == new).all():
            break
        new = more
    kept = tuple(each.digest for each in digests if each.digest in whole)
    return RunResults(
        digests, kept, {d: tuple(own) for d, own in parts.items() if own}, results.files
    )


def _has_files(output: ResultDigest, good: Mapping[str, Stored]) -> bool:
    """Whether the stored files of an output are those of the present input and settings."""
    stored = good.get(output.digest)
    return stored is not None and bool(stored.files) and stored.result.files == output.files


def _drop_unlike(
    folder: RunDirectory, results: JobResults, good: dict[str, Stored]
) -> dict[str, str]:
    """Removes pieces with fine sums of which the job's axes cannot be made; returns the reasons."""
    reasons: dict[str, str] = {}
    for each in results.digests():
        stored = good.get(each.digest)
        if each.kind != SUMS or not each.files or not stored or stored.result.files == each.files:
            continue
        axes = shown_axes(results.described_modules[each.label])
        problems = [_problem_of_fine(folder, piece, each.label, axes) for piece in stored.pieces]
        pairs = zip(stored.pieces, problems, strict=True)
        good[each.digest] = replace(stored, pieces=tuple(p for p, problem in pairs if not problem))
        if any(problems):
            reasons[each.label] = next(filter(None, problems))
    return reasons


def _problem_of_fine(
    folder: RunDirectory, piece: Piece, label: str, axes: Mapping[int, Any]
) -> str:
    """Reason why stored sums of a module cannot be made into those of these axes; "": they can."""
    files = [folder.stored / file.name for file in piece.files]
    try:
        for file in files:
            named = read_parts(file) if file.suffix == ".histograms" else ()
            for _, _, sums in (each for each in named if plain_label(each[0]) == label):
                made_of_fine(sums, axes)
    except (ValueError, InputError) as error:
        return str(error)
    return ""


def _drop_damaged(folder: RunDirectory, run: RunResults, good: dict[str, Stored]) -> bool:
    """Removes damaged fragments that a run would use; returns whether there are any."""
    found = False
    for each in run.results:
        used = {*run.parts.get(each.digest, ())}
        if each.kind != OUTPUT or run.keeps(*each.key) or not used:
            continue
        stored = good[each.digest]
        pieces = tuple(
            piece
            for piece in stored.pieces
            if piece.part not in used
            or all(file.is_as_written(folder, thorough=True) for file in piece.files)
        )
        found |= len(pieces) < len(stored.pieces)
        good[each.digest] = replace(stored, pieces=pieces)
    return found


def is_damaged(folder: RunDirectory) -> bool:
    """Whether stored results that the present run keeps are not as they were written."""
    run, good = RunResults.read(folder), Store.read(folder).good(folder)
    return bool(Store.lost(run, good)) or _drop_damaged(folder, run, good)


def _resumed(before: ResultDigest | None, now: ResultDigest, begun: RunResults) -> ResultDigest:
    """Result of a resumed run: that of the run that was `begun`, if kept there."""
    if before is not None and before.digest == now.digest:
        return now
    if before and begun.keeps(*before.key) and _changed(before, now) == [FORKRUN]:
        return before
    return replace(now, reasons=(*now.reasons, _MIXED))


def _all(results: Sequence[ResultDigest]) -> str:
    if all(each.kind == SUMS for each in results):
        return plural(len(results), "histogram")
    return plural(len(results), "result")


def _changed(before: ResultDigest, now: ResultDigest) -> list[str]:
    names = [*now.parts, *(name for name in before.parts if name not in now.parts)]
    changed = [n for n in names if before.parts.get(n) != now.parts.get(n)]
    main = [n for n in changed if not n.startswith(("axes of", "order of"))]
    return main or changed


def _listed(names: Sequence[str], by: str = ", ") -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return by.join(names[:_SHOWN]) + more
