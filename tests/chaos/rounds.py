"""Rounds of chaos: a job over two datasets is run while its processes are killed, hang, raise, lose
files and find no space, and its parent is killed and the job resumed; in the end its output has the
same bytes as if nothing had happened. Lumis are in one piece in the input, or scattered; these are
taken in the order of the input or lumi by lumi."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.files import write_events
from tests.support.jobs import (
    environment,
    forkrun,
    jets_job,
    left_behind,
    lumi_by_lumi,
    module,
    output_digests,
    running,
    write_job,
)

N_LUMIS = 300
EVENTS_PER_LUMI = 20
DATASETS = ("first", "second")
"""Their lumis have the same numbers."""
CLUSTER = 50  # so many of them that each child begins with some of its own
KINDS = ("whole", "input", "lumi")
"""Of jobs: over lumis in one piece; over scattered ones, in either order."""
_EVENT_S = 0.001
"""Time of an event of scattered lumis: a job has some twenty commits to disturb."""
_FAULTS = (
    "SIGKILL",
    "SIGSEGV",
    "SIGABRT",
    "SIGALRM",
    "exit",
    "raise",
    "hang",
    "ENOSPC",
    "truncate",
)
_MOMENTS = ("begin", "before_rename", "after_rename", "after_ledger")
_AIMS = ("index", "resume", "merge", "outputs", "report")
"""Where the parent or its helper is killed in the midst of it; while an output is made, the merging
process."""
_TIME_LIMIT_S = 120.0
_MOST_SESSIONS = 12
_NO_SPACE = 4  # exit code: whoever resumes has made room


@dataclass(frozen=True)
class Bench:
    """Jobs that can be disturbed, by kind. `truth`: digests of what each gives if it is not."""

    folder: Path
    jobs: dict[str, Path]
    truth: dict[str, dict[str, str]]

    @classmethod
    def make(cls, folder: Path, n_lumis: int = N_LUMIS) -> Bench:
        """Inputs, jobs and undisturbed runs in a folder."""
        bench = cls(folder, {}, {})
        for kind in KINDS:
            place = folder / kind
            place.mkdir()
            files = (_write_whole if kind == "whole" else _write_scattered)(place, n_lumis)
            bench.jobs[kind] = write_job(place, _job(kind, files))
            run = place / "undisturbed"
            code, said = _Session(bench, kind, run, [], _SETTINGS).run(None)
            if code:
                raise RuntimeError(said)
            bench.truth[kind] = output_digests(run)
        return bench


def _write_whole(folder: Path, n_lumis: int) -> dict[str, str]:
    each = n_lumis // len(DATASETS)
    shape = ("--events", EVENTS_PER_LUMI * each, "--lumis", each, "--runs", 1, "--cluster", CLUSTER)
    for seed, name in enumerate(DATASETS):
        made = forkrun("sample", f"{name}.root", *shape, "--seed", seed + 1, cwd=folder)
        if made.code:
            raise RuntimeError(made.err)
    return {name: str(folder / f"{name}.root") for name in DATASETS}


def _write_scattered(folder: Path, n_lumis: int) -> dict[str, str]:
    """Neighbours are of different lumis."""
    each = n_lumis // len(DATASETS)
    n_events = EVENTS_PER_LUMI * each
    return {
        name: str(
            write_events(
                folder / f"{name}.root",
                [(1, 1 + (7 * event + seed) % each, 1) for event in range(n_events)],
            )
        )
        for seed, name in enumerate(DATASETS)
    }


def _job(kind: str, files: dict[str, str]) -> dict[str, Any]:
    """One that has commits to disturb: where lumis are whole, each is committed by itself."""
    job = jets_job(
        [],
        datasets=[{"name": name, "files": [file]} for name, file in files.items()],
        outputs=[{"label": "skim", "paths": ["skim"]}, {"label": "all"}],
        recovery={"hang_timeout": 1.0, "grace": 0.5},
    )
    if kind == "whole":
        return lumi_by_lumi(job)
    job["source"]["order"] = kind
    job["modules"].append(module("sleep", "Sleep", n_first=0, factor=1, time_s=_EVENT_S))
    job["paths"]["skim"].insert(0, "sleep")
    return job


_SETTINGS = {"forking.children": "3", "threads.per_child": "1", "threads.executor": '"tbb"'}


@dataclass
class Round:
    """How a round went. `n_met`: of the aims; `problem`: "" if the job survived."""

    seed: int
    kind: str
    faults: list[dict[str, Any]]
    aims: list[str] = field(default_factory=list)
    n_met: int = 0
    problem: str = ""
    n_sessions: int = 0
    n_struck: int = 0
    wall_s: float = field(default=0.0)


def run_round(bench: Bench, seed: int) -> Round:
    """One job with faults that follow from the seed, resumed until it is done."""
    dice = random.Random(seed)
    folder = bench.folder / f"round-{seed}"
    this = Round(seed, KINDS[seed % len(KINDS)], list(_faults(dice)))
    start_s = time.monotonic()
    kills_s = [dice.uniform(0.5, 3.0) for _ in range(dice.choice((0, 0, 1, 2)))]
    this.aims = dice.sample(_AIMS, dice.choice((0, 0, 1, 1, 2)))
    if "resume" in this.aims:  # for that the job has to be interrupted before
        this.aims = ["merge", "resume"]
    aims = list(this.aims)
    faults, code, said = this.faults, 1, ""
    while code and this.n_sessions < _MOST_SESSIONS:
        this.n_sessions += 1
        session = _Session(bench, this.kind, folder, faults, _layout(dice))
        # Blows come with time: on a slow machine no merge would come to its end between two.
        strikes = dice if this.n_sessions <= _MOST_SESSIONS // 2 else None
        kill_after_s = kills_s.pop() if kills_s else None
        code, said = session.run(kill_after_s, strikes, aims[0] if aims else "")
        if session.has_met_aim:
            aims.pop(0)
            this.n_met += 1
        over = ("kill_parent", "ENOSPC") if code == _NO_SPACE else ("kill_parent",)
        faults = [fault for fault in faults if fault["fault"] not in over]
    this.problem = f"exit code {code}: {said}" if code else _problem(bench.truth[this.kind], folder)
    this.n_struck = _n_recoveries(folder) + this.n_sessions - 1
    this.wall_s = time.monotonic() - start_s
    return this


def _faults(dice: random.Random) -> Iterator[dict[str, Any]]:
    for _ in range(dice.randint(1, 5)):
        moment = dice.choice(_MOMENTS)
        fault = dice.choice(_FAULTS)
        yield {
            "fault": fault,
            "at": "begin" if fault == "SIGALRM" else moment,
            "unit": dice.choice((None, dice.randrange(N_LUMIS // 2))),
            "times": dice.choice((1, 1, 2)),
            "delay_s": dice.uniform(0.0001, 0.01),
        }
    if dice.random() < 0.3:
        yield {"fault": "kill_parent", "at": dice.choice(_MOMENTS), "unit": dice.randrange(100)}


def _layout(dice: random.Random) -> dict[str, str]:
    return {
        "forking.children": str(dice.randint(1, 5)),
        "threads.per_child": str(dice.randint(1, 3)),
        "threads.executor": dice.choice(('"tbb"', '"serial"')),
        "forking.recycle_events": dice.choice(("0", "0", "400")),
    }


class _Session:
    """One parent's life."""

    def __init__(
        self,
        bench: Bench,
        kind: str,
        folder: Path,
        faults: list[dict[str, Any]],
        layout: dict[str, str],
    ) -> None:
        settings = [part for key, value in layout.items() for part in ("--set", f"{key}={value}")]
        self._arguments = ["run", bench.jobs[kind], "-o", folder, "--no-plots", *settings]
        self._folder = bench.folder
        self.has_met_aim = False
        self._environment = environment(FORKRUN_CHAOS=json.dumps(faults), CHAOS_ROUND=str(folder))

    def run(
        self, kill_after_s: float | None, dice: random.Random | None = None, aim: str = ""
    ) -> tuple[int, str]:
        """Exit code and output. With `dice` children are killed from outside as well; the
        parent is, after some time. `aim`: a station where a process is killed."""
        variables = {**self._environment, **({"FORKRUN_CACHE": ""} if aim == "index" else {})}
        with running(*self._arguments, cwd=self._folder, env=variables) as process:
            self._disturb(process, kill_after_s, dice, aim)
            if process.poll() is None:
                return 1, f"it did not end within {_TIME_LIMIT_S:.0f} s"
            _, said = process.communicate()
            left = left_behind(f"CHAOS_ROUND={self._environment['CHAOS_ROUND']}")
        return (1, f"processes were left behind: {left}") if left else (process.returncode, said)

    def _disturb(
        self,
        process: subprocess.Popen[str],
        kill_after_s: float | None,
        dice: random.Random | None,
        aim: str,
    ) -> None:
        """Until it ends or has had its time."""
        start_s = time.monotonic()
        n_before = len(self._events())
        while process.poll() is None and time.monotonic() - start_s < _TIME_LIMIT_S:
            if kill_after_s is not None and time.monotonic() - start_s > kill_after_s:
                process.kill()
            elif dice and aim and self._is_at(aim, process.pid, n_before):
                parent = [] if aim == "outputs" else [process.pid]
                self.has_met_aim = _kill_one([*parent, *_children(process.pid)], dice)
                aim = ""
            elif dice and dice.random() < 0.05:
                _kill_one(_children(process.pid), dice)
            time.sleep(0.002 if aim else 0.05)

    def _events(self) -> list[str]:
        """Names of the events in the timelines of all sessions."""
        file = Path(self._environment["CHAOS_ROUND"]) / "monitoring" / "events.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.split('"event":"')[-1].split('"')[0] for line in lines]

    def _is_at(self, aim: str, parent: int, n_before: int) -> bool:
        if aim == "index":
            return any(_is_index_helper(pid) for pid in _children(parent))
        if aim == "outputs":
            outputs = Path(self._environment["CHAOS_ROUND"]) / "output"
            with contextlib.suppress(FileNotFoundError):  # removed while it is listed
                return any(outputs.glob("*.root.*part"))
            return False
        begin, end = {
            "resume": ("resume", "fork"),
            "merge": ("merge_start", "merge_end"),
            "report": ("merge_end", "job_end"),
        }[aim]
        now = self._events()[n_before:]
        return begin in now and end not in now


def _is_index_helper(pid: int) -> bool:
    try:
        return b"forkrun.index.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _kill_one(pids: list[int], dice: random.Random) -> bool:
    """Whether one was there to be killed."""
    if not pids:
        return False
    number = dice.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV))
    try:
        os.kill(dice.choice(pids), number)
    except ProcessLookupError:
        return False
    return True


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _problem(truth: dict[str, str], folder: Path) -> str:
    """ "" if the run is complete, by count and digest, and has the bytes it should have."""
    events = json.loads((folder / "report.json").read_bytes())["events"]
    if events["n_events_read"] != events["n_events_planned"] or not events["digests_agree"]:
        return f"{events['n_events_read']} of {events['n_events_planned']} events were read"
    if not all(output["agree"] for output in events["outputs"]):
        return "what was merged is not what was written"
    digests = output_digests(folder)
    different = [name for name in truth if digests.get(name) != truth[name]]
    return f"other bytes than undisturbed: {', '.join(different)}" if different else ""


def _n_recoveries(folder: Path) -> int:
    events = folder / "monitoring" / "events.jsonl"
    return events.read_text().count('"recovery"') if events.exists() else 0
