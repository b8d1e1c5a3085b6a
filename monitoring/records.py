"""What a run directory says about its job, as values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from forkrun.base.json_lines import read_json_lines
from forkrun.errors import InputError
from forkrun.monitoring.process_reading import ProcessReading


@dataclass(frozen=True, kw_only=True)
class Sample(ProcessReading):
    """One process at one time. `child` is None for the parent; `time_s` since the epoch. `look`:
    samples of one number are a look at `n_looked` processes together; None: of this one alone.
    `own_cost_s`: CPU time of the process itself, where it was its own look."""

    time_s: float
    child: int | None
    pid: int
    n_events_done: int
    look: int | None = None
    n_looked: int = 1
    own_cost_s: float = 0.0

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        known = [field.name for field in fields(cls) if field.name in line]
        return cls(**{name: line[name] for name in known})

    @property
    def cpu_s(self) -> float:
        """CPU time, user and system."""
        return self.cpu_user_s + self.cpu_system_s


@dataclass(frozen=True)
class Written:
    """What a unit or a merge wrote for one output. `digest`: None of a file without ids."""

    n_events: int
    digest: str | None
    n_bytes: int

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["n_events"], data["digest"], data.get("n_bytes", 0))


@dataclass(frozen=True)
class Committed:
    """One line of a ledger: a unit of work that is safely written. `skipped`: events of it
    that were left out. Times since the epoch [s]."""

    unit: int
    child: int
    pid: int
    run: int
    lumi: int
    n_events: int
    digest: str
    skipped: Sequence[Mapping[str, Any]]
    skipped_digest: str
    outputs: Mapping[str, Written]
    start_s: float
    end_s: float
    cpu_s: float
    read_calls: int
    read_bytes: int

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        values = {field.name: line[field.name] for field in fields(cls)}
        values["outputs"] = {k: Written.from_json(v) for k, v in line["outputs"].items()}
        return cls(**values)

    @property
    def duration_s(self) -> float:
        """From the unit's begin to its commit."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class TimelineLine:
    """One event of the parent's timeline."""

    time_s: float
    event: str
    child: int | None
    details: Mapping[str, Any]

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        return cls(line["time_s"], line["event"], line.get("child"), line)


@dataclass(frozen=True)
class RunRecords:
    """Everything a report is made of. Empty mappings where the job did not get so far."""

    config: Mapping[str, Any]
    config_digest: str
    plan: Mapping[str, Any]
    ledger: tuple[Committed, ...] = ()
    samples: tuple[Sample, ...] = ()
    timeline: tuple[TimelineLine, ...] = ()
    host: Mapping[str, Any] | None = None
    sampler: Mapping[str, Any] | None = None

    @property
    def n_children(self) -> int:
        """Processes that process events: 1 also for a job without children."""
        planned = self.plan.get("children", self.config.get("forking", {}).get("children", 1))
        return max(int(planned), 1)

    def last_session(self) -> RunRecords:
        """Of a job that was gone on with: only what has happened since."""
        starts = self.times("job_start")
        if len(starts) < 2:
            return self
        return replace(
            self,
            ledger=tuple(line for line in self.ledger if line.start_s >= starts[-1]),
            samples=tuple(sample for sample in self.samples if sample.time_s >= starts[-1]),
            timeline=tuple(line for line in self.timeline if line.time_s >= starts[-1]),
        )

    def times(self, event: str) -> list[float]:
        """When a timeline event happened, in order [s]."""
        return [line.time_s for line in self.timeline if line.event == event]

    def last(self, event: str) -> TimelineLine | None:
        """The last timeline event of this name."""
        return next((line for line in reversed(self.timeline) if line.event == event), None)


def read_records(run_dir: Path) -> RunRecords:
    """Reads a run directory, whatever state its job is in."""
    monitoring = run_dir / "monitoring"
    if not (run_dir / "config.json").exists() and not monitoring.is_dir():
        raise InputError(f"{run_dir}: not a run directory (it has no config.json)")
    try:
        return _read_records(run_dir, monitoring)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{run_dir}: its records cannot be read: {error!r}") from error


def _read_records(run_dir: Path, monitoring: Path) -> RunRecords:
    ledgers = sorted((run_dir / "ledger").glob("child-*.jsonl"))
    revoked = read_json_lines(run_dir / "ledger" / "revoked.jsonl")
    gone = {(line["unit"], line["end_s"]) for line in revoked}
    lines = [line for path in ledgers for line in read_json_lines(path)]
    lines = [line for line in lines if (line["unit"], line["end_s"]) not in gone]
    samples = read_json_lines(monitoring / "samples.jsonl")
    timeline = read_json_lines(monitoring / "events.jsonl")
    config = run_dir / "config.json"
    digest = hashlib.sha256(config.read_bytes()).hexdigest() if config.exists() else ""
    return RunRecords(
        config=_read_json(config) or {},
        config_digest=digest,
        plan=_read_json(run_dir / "plan.json") or {},
        ledger=tuple(sorted(map(Committed.from_json, lines), key=lambda line: line.start_s)),
        samples=tuple(sorted(map(Sample.from_json, samples), key=lambda s: s.time_s)),
        timeline=tuple(sorted(map(TimelineLine.from_json, timeline), key=lambda t: t.time_s)),
        host=_read_json(monitoring / "host.json"),
        sampler=_read_json(monitoring / "sampler.json"),
    )


def _read_json(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
