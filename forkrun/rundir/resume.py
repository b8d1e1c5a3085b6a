"""Resumes an unfinished job: its commits are verified, not trusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.caller import option
from forkrun.errors import OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.fingerprint import BUILD, Fingerprint, differences, read_fingerprint
from forkrun.rundir.ledger import Commit, ledger_files, read_ledgers, revoke

Integers = npt.NDArray[np.int64]


def is_worth_keeping(folder: RunDirectory, now: Fingerprint) -> bool:
    """Whether the job resumes the present run, or is refused as another job. False: nothing was
    committed, and something was fixed since."""
    before = read_fingerprint(folder.fingerprint)
    if folder.is_finished() or any(f.stat().st_size for f in ledger_files(folder.ledger)):
        return True
    return not (before and differences(before, now))


def check_same_job(
    folder: RunDirectory, now: Fingerprint, whole: Fingerprint | None = None
) -> None:
    """Raises OutputError, which lists the changes since the run directory was started. `whole`: of
    the job that this is a part of, whose code may have been replaced."""
    before = read_fingerprint(folder.fingerprint)
    if not before:
        raise OutputError(
            f"{folder.fingerprint}: cannot be read, so it cannot be compared with this job;"
            f" choose another run directory with {option('-o')}, or replace it with"
            f" {option('--force')}"
        )
    changed = differences(_with_new_code(before, now, whole or {}), now)
    if not changed:
        return
    more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
    raise OutputError(
        f"{folder.path}: this run directory belongs to another job; what has changed:"
        f" {'; '.join(changed[:5])}{more}. Choose another one with {option('-o')},"
        f" or replace it with {option('--force')}"
    )


def _with_new_code(before: Fingerprint, now: Fingerprint, whole: Fingerprint) -> Fingerprint:
    """`before` with the present code, where the old code was replaced on purpose."""
    replaced = [mended["code"] for mended in whole.get("mended", ())]
    if not replaced:
        return before
    code = {
        path: now["code"].get(path) if any(m.get(path) == old for m in replaced) else old
        for path, old in before["code"].items()
    }
    same = {path: digest for path, digest in now["code"].items() if path not in code}
    return {**before, "code": {**{p: d for p, d in code.items() if d is not None}, **same}}


def check_part_of(whole: RunDirectory, before: Fingerprint, now: Fingerprint) -> None:
    """Raises OutputError, which lists the changes since a job on many nodes was submitted, with the
    fingerprint `before`. A node knows its own files, lumis and code; all of these must be
    unchanged."""
    if not before:
        raise OutputError(f"{whole.fingerprint}: cannot be read: submit the job to another folder")
    if changed := _changed(before, now):
        raise OutputError(
            f"{whole.path}: since the job was submitted these have changed: {changed}. Put them"
            " back and resubmit, or submit to another folder"
        )


def check_extends(before: Fingerprint, now: Fingerprint) -> None:
    """Raises OutputError unless `now` is the same job with more input."""
    now = {**now, "configuration": {**now["configuration"], "source": None}}
    before = {**before, "configuration": {**before["configuration"], "source": None}}
    if changed := _changed(now, before):
        raise OutputError(
            f"since the job was submitted these have changed: {changed}. Put them back, or submit"
            " to another folder"
        )


def _changed(whole: Fingerprint, part: Fingerprint) -> str:
    """First differences between a job and a part of it; "" if none."""
    changed = [
        text
        for name in part.keys() - {"units of work", "shipped", "mended", "program", BUILD}
        for text in _differences_of_part(name, whole.get(name), part[name])
    ]
    return "; ".join(changed[:5])


def _differences_of_part(part: str, before: Any, now: Any) -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        before = {name: before[name] for name in now if name in before}
        now = {name: now[name] for name in before}
    return differences({part: before}, {part: now})


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
    is_done = np.zeros(len(n_events), dtype=np.bool_)
    damaged: list[str] = []
    revoked = []
    commits = read_ledgers(folder.ledger, damaged)
    problems = damaged if thorough else []
    for commit in commits:
        tick()
        problem = _problem(folder.path, commit, n_events, thorough)
        if problem is None and is_done[commit.places].any():
            problem = "it was committed twice"
        if problem is None:
            is_done[commit.places] = True
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
        return f"{commit.n_events} events were read, not {n_planned}"
    for part in commit.parts:
        file = run / part.file
        try:
            size = file.stat().st_size
        except OSError:
            return f"{part.file} is missing"
        if size != part.n_bytes:
            return f"{part.file} has {size} bytes, not {part.n_bytes}"
        if thorough and _core.file_checksum(str(file)) != part.checksum:
            return f"{part.file} is not as it was written (checksum)"
    return None
