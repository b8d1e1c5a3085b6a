"""What a run keeps of the earlier ones in its directory, and why it computes the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.quantities import plural
from forkrun.parent.again.digests import FORKRUN, JobResults
from forkrun.parent.again.reduced import reduced_job
from forkrun.parent.preparation import PreparedJob
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.fingerprint import differences, read_fingerprint
from forkrun.rundir.ledger import read_ledgers
from forkrun.rundir.results import CUTFLOW, SUMS, ResultDigest, RunResults, Store, Stored

_SHOWN = 4
_MIXED = "the run was begun with other code, packages or builds"
"""What a resumed run may have, and is not stored."""


class Keeping(Struct, frozen=True):
    """`run`: the results of the job, with those that are kept; `before`: what is stored, by kind
    and label; `good`: digests of what is stored as it was written."""

    results: JobResults
    run: RunResults
    before: dict[tuple[str, str], Stored]
    good: frozenset[str]
    known: frozenset[tuple[str, str]] = frozenset()
    """Results that the run before has asked for, if it was finished, or that are stored."""

    @classmethod
    def of(cls, folder: RunDirectory, job: PreparedJob, *, force: bool = False) -> Keeping:
        """What a run that begins now may keep; with `force` nothing."""
        results = JobResults(job)
        store = Store() if force else Store.read(folder)
        good = store.good(folder)
        digests = results.digests()
        kept = tuple(each.digest for each in digests if each.digest in good)
        before = {s.result.key: s for s in sorted(store.results, key=lambda s: not s.aside)}
        last = RunResults.read(folder).results if folder.is_finished() else ()
        known = frozenset(before) | {each.key for each in last}
        return cls(results, RunResults(digests, kept), before, frozenset(good), known)

    def resumed(self, begun: RunResults) -> Keeping | None:
        """What the run that was `begun` keeps, perhaps of another build; None if that is not stored
        any more, or depends on what has changed."""
        before = {each.key: each for each in begun.results}
        results = tuple(_resumed(before.get(each.key), each, begun) for each in self.run.results)
        if not set(begun.kept) <= {each.digest for each in results} & self.good:
            return None
        return replace(self, run=RunResults(results, begun.kept))

    @property
    def computed(self) -> list[ResultDigest]:
        """Results that are not kept."""
        return [each for each in self.run.results if each.digest not in self.run.kept]

    @property
    def job(self) -> PreparedJob:
        """The job of what is computed."""
        if not self.run.kept:
            return self.results.job
        return reduced_job(self.results, self.computed)

    @property
    def knows_job(self) -> bool:
        """Whether the job asks for anything that the one before has asked for."""
        keys = {each.key for each in self.run.results}
        keys = {key for key in keys if key[0] != CUTFLOW} or keys  # many jobs have a path "main"
        return bool(keys & self.known)

    def why(self, result: ResultDigest) -> str:
        """Why a result is computed, or that it is kept."""
        if result.digest and result.digest in self.run.kept:
            return "kept"
        if result.reasons:
            return f"always computed: {'; '.join(result.reasons[:_SHOWN])}"
        if (before := self.before.get(result.key)) is None:
            return "new"
        changed = _changed(before.result, result)
        return f"changed: {', '.join(changed[:_SHOWN])}" if changed else "not stored as written"

    @property
    def text(self) -> str:
        """One line for people."""
        fills = [each for each in self.run.results if each.kind != CUTFLOW]
        counted = fills or list(self.run.results)
        n_kept = sum(each.digest in self.run.kept for each in counted)
        if not self.computed:
            return f"kept {_all(counted)}: nothing to compute"
        names = [each.title or each.label for each in self.computed if each.kind != CUTFLOW]
        names = names or [each.name for each in self.computed]
        why = _listed(list(dict.fromkeys(map(self.why, self.computed))), "; ")
        if not self.run.kept:
            return f"computing {_all(counted)} again ({why})"
        return f"kept {n_kept} of {_all(counted)}; computing {_listed(names)} ({why})"

    def explained(self) -> Iterable[str]:
        """A line for each result."""
        width = max((len(each.name) for each in self.run.results), default=0)
        return [f"{each.name:<{width}}  {self.why(each)}" for each in self.run.results]


def decide(
    folder: RunDirectory, job: PreparedJob, is_begun: bool, *, force: bool, is_new: bool
) -> tuple[Keeping, bool]:
    """What the run keeps, and whether it resumes what `is_begun` there. A changed job begins again
    where the one before was finished, or has left results that are stored; `is_new`: so does one
    with results that are always computed. What was begun and cannot be kept is not touched: that is
    refused later."""
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
    """Whether all results are there, and the events of the same plan have been processed."""
    before = read_fingerprint(folder.fingerprint)
    same = before.get("units of work") == keeping.results.job.fingerprint["units of work"]
    if not (keeping.run.are_all_kept and same and folder.is_finished()):
        return False
    units = keeping.results.job.plan.units
    return sum(commit.n_units for commit in read_ledgers(folder.ledger)) == len(units)


def _resumed(before: ResultDigest | None, now: ResultDigest, begun: RunResults) -> ResultDigest:
    """A result of a run that is resumed: that of the run that was `begun`, where it keeps it."""
    if before is not None and before.digest == now.digest:
        return now
    if before and before.digest in begun.kept and _changed(before, now) == [FORKRUN]:
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
