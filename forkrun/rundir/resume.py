"""Goes on with a job that did not come to its end: what it committed is verified, not trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from forkrun import _core
from forkrun.errors import OutputError
from forkrun.index.ranges import Integers
from forkrun.rundir.directory import RunDirectory, output_errors, read_json
from forkrun.rundir.fingerprint import Fingerprint, differences
from forkrun.rundir.ledger import REVOKED, Commit, read_ledgers


def check_same_job(folder: RunDirectory, now: Fingerprint) -> None:
    """Raises OutputError that says what has changed since the run directory was begun."""
    changed = differences(read_json(folder.fingerprint), now)
    if not changed:
        return
    more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
    raise OutputError(
        f"{folder.path}: this run directory belongs to another job; what has changed:"
        f" {'; '.join(changed[:5])}{more}. Choose another one with -o, or replace it with --force"
    )


def valid_commits(
    folder: RunDirectory, n_events: Integers, *, thorough: bool
) -> tuple[list[Commit], list[str]]:
    """The commits whose files are as they were written; what is wrong with others, which are
    revoked. `n_events` : (n_units,) of the plan. `thorough`: checksums, not sizes only."""
    valid: dict[int, Commit] = {}
    problems, revoked = [], []
    for commit in read_ledgers(folder.ledger):
        problem = _problem(folder.path, commit, n_events, thorough)
        if problem is None and commit.unit in valid:
            problem = "it was committed twice"
        if problem is None:
            valid[commit.unit] = commit
        else:
            problems.append(f"unit {commit.unit}: {problem}")
            revoked.append((commit, problem))
    _revoke(folder, revoked)
    return list(valid.values()), problems


def _problem(run: Path, commit: Commit, n_events: Integers, thorough: bool) -> str | None:
    if not 0 <= commit.unit < len(n_events):
        return "it is not in the plan"
    if commit.n_events + len(commit.skipped) != n_events[commit.unit]:
        return f"{commit.n_events} events were read, not {n_events[commit.unit]}"
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


def _revoke(folder: RunDirectory, commits: Iterable[tuple[Commit, str]]) -> None:
    lines = [
        json.dumps({"unit": commit.unit, "end_s": commit.end_s, "why": why}) + "\n"
        for commit, why in commits
    ]
    if not lines:
        return
    path = folder.ledger / REVOKED
    with output_errors(path), path.open("a", encoding="utf-8") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
