"""Rounds of faults: a command meets calls that fail; whatever became of it, the job can be brought
to its end afterwards and then gives the bytes that it gives if nothing fails."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forkrun._core import events_of_fragment, file_checksum
from tests.faults.bench import RESUME, STATIONS, Bench, Calls, Ended, Fault, contents
from tests.support.jobs import left_behind

_ERRORS = {
    "open": ("EIO", "EMFILE", "EACCES", "ENOSPC", "EINTR", "kill"),
    "read": ("EIO", "EINTR", "short", "kill"),
    "write": ("EIO", "ENOSPC", "EDQUOT", "EINTR", "short", "kill"),
    "seek": ("EIO",),
    "sync": ("EIO", "ENOSPC", "kill"),
    "rename": ("EIO", "ENOSPC", "EROFS", "kill"),
    "map": ("ENOMEM",),
    "fork": ("EAGAIN", "ENOMEM"),
    "close": ("EIO", "ENOSPC", "EDQUOT"),
    "mkdir": ("ENOSPC", "EROFS", "EIO", "kill"),
    "unlink": ("EIO", "EROFS", "kill"),
    "truncate": ("EIO", "ENOSPC"),
}
_EXIT_CODES = {3, 4, 5, 6}
"""Input, output, processing, verification: what a call that fails may end a command with."""
_TEMPORARY = ("**/*.part", "**/*.tmp", "lock", "units")


@dataclass(frozen=True)
class Plan:
    """Faults of one command after the other: of a station, then of the same job again."""

    station: str
    sessions: tuple[tuple[Fault, ...], ...]

    def __str__(self) -> str:
        """As `--repeat` takes it."""
        return " / ".join([self.station, *(" ".join(map(str, faults)) for faults in self.sessions)])

    @classmethod
    def parse(cls, text: str) -> Plan:
        station, *sessions = text.split(" / ")
        return cls(station, tuple(tuple(map(Fault.parse, s.split())) for s in sessions))


@dataclass
class Round:
    """How a round went. `codes`: of its commands; `messages`: what those said that failed."""

    plan: Plan
    codes: list[int | None] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    injected: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def draw_plan(bench: Bench, seed: int, only: str | None = None) -> Plan:
    """`only`: a kind of call."""
    dice = random.Random(seed)
    name = dice.choice(["run", "run", "run", "run-alone", "resume", "resume", "merge", "report"])
    sessions = [_draw(dice, bench.calls[name], only)]
    if name != "report" and dice.random() < 0.25:
        sessions.append(_draw(dice, bench.calls["resume"], only))
    return Plan(name, tuple(sessions))


def _draw(dice: random.Random, calls: Calls, only: str | None) -> tuple[Fault, ...]:
    kinds = sorted({kind for kind, _, _ in calls if only in (None, kind)})
    n = dice.choice((1, 1, 1, 2, 3)) if kinds else 0
    return tuple(_draw_fault(dice, calls, dice.choice(kinds)) for _ in range(n))


def _draw_fault(dice: random.Random, calls: Calls, kind: str) -> Fault:
    """Kinds and processes that call rarely get as many as others."""
    _, who, place = dice.choice(sorted(key for key in calls if key[0] == kind))
    error = dice.choice(_ERRORS[kind])
    lasts = error not in ("EINTR", "kill") and dice.random() < 0.25
    first = dice.randint(1, calls[kind, who, place])
    return Fault(kind, error, who, place, first, 0 if lasts else dice.choice((1, 1, 1, 2)))


def run_round(bench: Bench, plan: Plan, name: str) -> Round:
    """The commands with their faults; then the same again without, which has to end well."""
    station, this = STATIONS[plan.station], Round(plan)
    folder = bench.prepare(station, name)
    arguments = station.arguments
    for faults in plan.sessions:
        ended = bench.run(arguments, folder, faults)
        _note(this, ended, folder)
        this.violations += [*_wrong_end(ended), *_half_written(bench, folder / "run")]
        if ended.code == 0:
            this.violations += _wrong_result(bench, folder, "at once", ended, faults)
            return this
        arguments = station.again
    _let_an_hour_pass(folder / "run")
    ended = bench.run(_again(station.again, folder / "run"), folder)
    _note(this, ended, folder)
    if ended.code:
        this.violations.append(f"cannot be brought to its end: exit code {ended.code}: {ended.err}")
    else:
        this.violations += _wrong_result(bench, folder, "when it was resumed", ended)
    return this


def _let_an_hour_pass(run: Path) -> None:
    """A report leaves alone what another report may be writing."""
    an_hour_ago_s = time.time() - 3600
    for path in run.glob("**/*.part"):
        os.utime(path, (an_hour_ago_s, an_hour_ago_s), follow_symlinks=False)


def _again(arguments: Sequence[str], run: Path) -> Sequence[str]:
    """The same command, or `resume` where there is something to resume."""
    return RESUME if arguments[0] == "run" and (run / "config.json").exists() else arguments


def _note(this: Round, ended: Ended, folder: Path) -> None:
    this.codes.append(ended.code)
    this.injected += ended.injected
    if ended.code:
        this.messages.append(ended.err)
    if left := left_behind(f"FAULTS_FOLDER={folder}"):
        this.violations.append(f"processes were left behind: {left}")


def _wrong_end(ended: Ended) -> Iterator[str]:
    """What is wrong with exit code and message."""
    is_killed = any(line.startswith("kill ") and " parent " in line for line in ended.injected)
    if ended.code is None:
        yield "it did not end"
        return
    if ended.code not in _EXIT_CODES | {0} and not (is_killed and ended.code == -9):
        yield f"exit code {ended.code}: {ended.err}"
    if "Traceback" in ended.err or "internal error" in ended.err:
        yield f"a traceback on the terminal: {ended.err}"
    told = [line for line in ended.err.splitlines() if line.startswith("forkrun: ")]
    if ended.code and ended.code > 0 and not told:
        yield f"it does not say what is wrong: {ended.err!r}"


def _half_written(bench: Bench, run: Path) -> Iterator[str]:
    """Files under final names that are not whole."""
    for file in [*run.glob("*.json"), *run.glob("ledger/*.json")]:
        try:
            json.loads(file.read_bytes())
        except ValueError as error:
            yield f"{file.name} is half-written: {error}"
    for name, digest in contents(run).items():
        if name.endswith(".root") and bench.truth.get(name) != digest:
            yield f"{name} is not what it should be"
    for file in run.glob("ledger/child-*.jsonl"):
        for line in file.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield from _unreadable(run, json.loads(line))


def _unreadable(run: Path, commit: dict[str, object]) -> Iterator[str]:
    """Files of a commit whose checksum agrees, but which are no fragments, or other ones."""
    for part in commit["outputs"].values():  # type: ignore[attr-defined]
        file = run / part["file"]
        if not file.exists() or file_checksum(str(file)) != part["checksum"]:
            continue
        try:
            n_events = events_of_fragment(str(file))
        except Exception as error:
            yield f"{part['file']} was committed, but cannot be read: {error!r}"
            continue
        if n_events != part["n_events"]:
            yield f"{part['file']} has {n_events} events, not {part['n_events']}"


def _wrong_result(
    bench: Bench, folder: Path, when: str, ended: Ended, faults: Sequence[Fault] = ()
) -> Iterator[str]:
    """What is wrong with a job that says it is done. A report that could not be written is no
    fault, if the job says so; what a disk refuses to remove stays."""
    run = folder / "run"
    found = contents(run)
    for name in bench.truth.keys() | found.keys():
        if bench.truth.get(name) != found.get(name):
            yield f"{when}: {name} is not what it should be"
    if not any(fault.kind == "unlink" and fault.n == 0 for fault in faults):
        left = [file for pattern in _TEMPORARY for file in run.glob(pattern)]
        for file in [*left, *(folder / "tmp").iterdir()]:
            yield f"{when}: {file.relative_to(folder)} was left behind"
    report = run / "report.json"
    if not report.exists():
        if "the report could not be written" not in ended.err:
            yield f"{when}: there is no report.json"
        return
    events = json.loads(report.read_bytes())["events"]
    if events["n_events_read"] != events["n_events_planned"] or not events["digests_agree"]:
        yield f"{when}: {events['n_events_read']} of {events['n_events_planned']} events were read"
