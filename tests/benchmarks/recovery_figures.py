"""Figures from the run directories of recovery.py: deaths, losses, times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

Line = dict[str, Any]


@dataclass(frozen=True)
class Session:
    """One life of a parent: when its process was started and when it was gone [s since the
    epoch]."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Run:
    """A run directory, the calls of its module by pid, and the sessions it took."""

    timeline: list[Line]
    ledger: list[Line]
    calls: dict[int, list[tuple[float, float]]]
    sessions: Sequence[Session]

    @classmethod
    def read(cls, folder: Path, calls: Path, sessions: Sequence[Session]) -> Run:
        """Reads the records of a job that has ended well."""
        ledger = [line for file in folder.glob("ledger/child-*.jsonl") for line in _lines(file)]
        return cls(
            _lines(folder / "monitoring" / "events.jsonl"),
            sorted(ledger, key=lambda line: float(line["start_s"])),
            {int(file.name): _calls(file) for file in calls.iterdir()},
            sessions,
        )

    @property
    def wall_s(self) -> float:
        """Wall time of the job's processes, one after the other."""
        return sum(session.end_s - session.start_s for session in self.sessions)

    @property
    def event_loop_s(self) -> float:
        """From the first call in any child to the last commit."""
        return max(self._commits()) - min(self.calls[pid][0][0] for pid in self._pids())

    @property
    def idle_at_end(self) -> float:
        """Mean time that children wait for the last one, as a fraction of the event loop."""
        last: dict[int, float] = {}
        for line in self.ledger:
            last[line["child"]] = max(line["end_s"], last.get(line["child"], 0.0))
        return (max(last.values()) - sum(last.values()) / len(last)) / self.event_loop_s

    def units_at(self, fraction: float, n: int) -> list[int]:
        """`n` units that are begun one after the other when so much of the job is done."""
        place = int(fraction * len(self.ledger))
        return [int(line["unit"]) for line in self.ledger[place : place + n]]

    def deaths(self) -> list[dict[str, float]]:
        """Deaths of killed children, in order; times [s]. `lost`: of the unit in flight, from its
        begin to its last event; `redone`: of the same unit in the next child; the others count
        from the last event of the dead child: until the parent knew, until the next child was
        forked, until the first event of that one was begun."""
        return [
            self._death(place, line)
            for place, line in enumerate(self.timeline)
            if line["event"] == "child_exit" and line["exit_code"] == -9
        ]

    def _death(self, place: int, line: Line) -> dict[str, float]:
        forks = (e for e in self.timeline[place:] if e["event"] == "fork")
        fork = next(e for e in forks if e["child"] == line["child"])
        end_s, again = self.calls[line["pid"]][-1][1], self.calls[fork["pid"]]
        redone = next(e for e in self.ledger if e["pid"] == fork["pid"])
        return {
            "child": line["child"],
            "lost": self._lost(line["pid"], end_s),
            "redone": redone["end_s"] - redone["start_s"],
            "noticed": line["time_s"] - end_s,
            "forked": fork["time_s"] - end_s,
            "first_event": again[0][0] - end_s,
        }

    def _lost(self, pid: int, death_s: float) -> float:
        """Child time [s] from its last commit, or first event, to its death."""
        committed = (line["end_s"] for line in self.ledger if line["pid"] == pid)
        return death_s - max((*map(float, committed), self.calls[pid][0][0]))

    def lost_with_parent(self) -> float:
        """Child time [s] that was lost when the first parent died, with all its children."""
        death_s = self.sessions[0].end_s
        first = {e["pid"] for e in self.timeline if e["event"] == "fork" and e["time_s"] < death_s}
        return sum(self._lost(pid, death_s) for pid in first)

    def start_up(self, session: Session) -> dict[str, float]:
        """Times [s] of a session's steps until the first event; `import`: of Python, until the job
        begins."""
        inside = [e for e in self.timeline if session.start_s < e["time_s"] < session.end_s]
        at = {name: _first(inside, name) for name in _STEPS}
        pids = [e["pid"] for e in inside if e["event"] == "fork"]
        at["first_event"] = min(self.calls[pid][0][0] for pid in pids)
        times = {"import": at["job_start"] - session.start_s}
        times |= {name: at[name] - at[before] for before, name in pairwise(at)}
        return times | {"all": at["first_event"] - session.start_s}

    def _pids(self) -> set[int]:
        return {line["pid"] for line in self.ledger}

    def _commits(self) -> list[float]:
        return [line["end_s"] for line in self.ledger]


_STEPS = ("job_start", "index_done", "modules_built", "fork")


def _first(timeline: list[Line], event: str) -> float:
    return min(float(line["time_s"]) for line in timeline if line["event"] == event)


def _lines(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]


def _calls(file: Path) -> list[tuple[float, float]]:
    pairs = [line.split() for line in file.read_text().splitlines()]
    return [(float(begin), float(end)) for begin, end in pairs]
