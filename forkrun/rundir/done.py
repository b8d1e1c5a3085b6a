"""Answers what of a job is done in a run directory: whether it holds the same job, which commits
are intact, and which units of nodes are missing. Commits are verified, not trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun import _core
from forkrun.base.caller import option
from forkrun.base.quantities import plural
from forkrun.errors import OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.fingerprint import BUILD, Fingerprint, read_fingerprint
from forkrun.rundir.ledger import Commit, ledger_files, read_ledgers, revoke
from forkrun.rundir.nodes import NodeRanges

if TYPE_CHECKING:  # `forkrun status` needs no NumPy
    from forkrun.base.lumis import Integers

_SHOWN = 5
_OF_UNITS = "units of work"

# --- the same job ---------------------------------------------------------------------------------


def differences(
    before: Mapping[str, Any], now: Mapping[str, Any], *, is_part: bool = False
) -> list[str]:
    """Describes the changes of a fingerprint or configuration; another build is no change.
    `is_part`: one is of a part of the other's job or input; compares what both have."""
    skipped = {BUILD, _OF_UNITS} if is_part else {BUILD}
    parts = (part for part in now if part not in skipped)
    return [text for p in parts for text in _differences(p, before.get(p), now[p], is_part)]


def _differences(part: str, before: Any, now: Any, is_part: bool) -> Iterator[str]:
    if before == now:
        return
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        yield part
        return
    names = [n for n in {**before, **now} if not is_part or (n in before and n in now)]
    yield from (f"{part}: {n}" for n in names if before.get(n) != now.get(n))


def listed(changes: Sequence[str]) -> str:
    """The first changes, for a message."""
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    return "; ".join(changes[:_SHOWN]) + more


def is_worth_keeping(folder: RunDirectory, now: Fingerprint) -> bool:
    """Whether the job resumes the present run, or is refused as another job. False: nothing was
    committed, and something was fixed since."""
    before = read_fingerprint(folder.fingerprint)
    if folder.is_finished() or any(f.stat().st_size for f in ledger_files(folder.ledger)):
        return True
    return not (before and differences(before, now))


def check_same_job(folder: RunDirectory, now: Fingerprint) -> None:
    """Raises OutputError, which lists the changes since the run directory was started."""
    before = read_fingerprint(folder.fingerprint)
    if not before:
        raise OutputError(
            f"{folder.fingerprint}: cannot be read, so it cannot be compared with this job;"
            f" choose another run directory with {option('-o')}, or replace it with"
            f" {option('--force')}"
        )
    if changed := differences(before, now):
        raise OutputError(
            f"{folder.path}: this run directory belongs to another job; what has changed:"
            f" {listed(changed)}. Choose another one with {option('-o')},"
            f" or replace it with {option('--force')}"
        )


def check_submitted(folder: RunDirectory, before: Fingerprint, now: Fingerprint) -> None:
    """Raises OutputError, which lists the changes since a job on many nodes was submitted, with the
    fingerprint `before`. `now`: of a node, which knows its own files, lumis and code; or of the job
    with more input, or with other code that is left out."""
    if not before:
        raise OutputError(f"{folder.fingerprint}: cannot be read: submit the job to another folder")
    if changed := differences(before, now, is_part=True):
        raise OutputError(
            f"{folder.path}: since the job was submitted these have changed: {listed(changed)}. Put"
            " them back and resubmit, or submit to another folder"
        )


# --- commits --------------------------------------------------------------------------------------


def valid_commits(
    folder: RunDirectory,
    n_events: Integers,
    *,
    thorough: bool,
    tick: Callable[[], None] = lambda: None,
) -> tuple[list[Commit], list[str]]:
    """Commits whose files are unchanged, and the problems of the others, which are revoked.
    `n_events` : (n_units,) of the plan. `thorough`: compares checksums as well as sizes, and
    reports damaged lines. `tick` is called for each commit."""
    valid: list[Commit] = []
    is_done = bytearray(len(n_events))
    damaged: list[str] = []
    revoked = []
    commits = read_ledgers(folder.ledger, damaged)
    problems = damaged if thorough else []
    for commit in commits:
        tick()
        problem = _problem(folder.path, commit, n_events, thorough)
        if problem is None and any(is_done[commit.places]):
            problem = "it was committed twice"
        if problem is None:
            is_done[commit.places] = b"\1" * commit.n_units
            valid.append(commit)
        else:
            problems.append(f"unit {commit.unit}: {problem}")
            revoked.append((commit, problem))
    revoke(folder.ledger, revoked)
    return valid, problems


def _problem(run: Path, commit: Commit, n_events: Integers, thorough: bool) -> str | None:
    if not 0 <= commit.unit < commit.units.stop <= len(n_events):
        return "it is not in the plan"
    n_planned = int(n_events[commit.places].sum())
    if commit.n_events + len(commit.skipped) != n_planned:
        return f"it has read {plural(commit.n_events, 'event')}, not {n_planned}"
    for part in commit.parts:
        file = run / part.file
        try:
            size = file.stat().st_size
        except OSError:
            return f"{part.file} is missing"
        if size != part.n_bytes:
            return f"{part.file} has {plural(size, 'byte')}, not {part.n_bytes}"
        if thorough and _core.file_checksum(str(file)) != part.checksum:
            return f"{part.file} is not as it was written (checksum)"
    return None


# --- nodes ----------------------------------------------------------------------------------------


def is_node_done(
    folder: RunDirectory, ranges: NodeRanges, number: int, n_units: int, *, makes_outputs: bool
) -> bool:
    """Whether a node has committed all its units, here `n_units`, and has made its part of the
    outputs if it `makes_outputs`, or all were collected."""
    if n_units < ranges.n_units(number):
        return False
    return not makes_outputs or folder.node(number).outputs_of_node.exists() or folder.is_finished()


def missing_units(ranges: NodeRanges, commits: Sequence[Commit]) -> dict[int, int]:
    """Number of missing units, by incomplete node."""
    left = {n: ranges.n_units(n) for n in range(len(ranges))}
    for commit in commits:
        left[ranges.node_of(commit.unit)] -= commit.n_units
    return {n: n_left for n, n_left in left.items() if n_left > 0}
