"""State of a running job, and of each of its children or nodes."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins

from forkrun.base.durable import read_json
from forkrun.base.regular_file import open_regular
from forkrun.rundir.directory import RunDirectory

_MOST_AT_ONCE = 4 << 20
"""Most bytes of a file read in one look; the next look reads the rest."""


class Tail:
    """Complete lines of a file, each once. A missing or special file has none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._begun = b""

    def lines(self) -> list[bytes]:
        """Lines completed since the last call. Starts from the beginning if the file has become
        shorter."""
        try:
            descriptor = open_regular(self.path)
        except OSError:
            return []
        try:
            return self._new(descriptor)
        except OSError:
            return []
        finally:
            os.close(descriptor)

    def _new(self, descriptor: int) -> list[bytes]:
        if os.fstat(descriptor).st_size < self._offset:
            self._offset, self._begun = 0, b""
        data = os.pread(descriptor, _MOST_AT_ONCE, self._offset)
        self._offset += len(data)
        *complete, self._begun = (self._begun + data).split(b"\n")
        return complete


class JsonTail:
    """JSON objects in the lines of a file; damaged lines are left out."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)

    def values(self) -> Iterator[dict[str, Any]]:
        """Objects since the last call."""
        for line in self._tail.lines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


_WINDOW_S = 20.0
"""Time over which commits give the current rate."""
_FEW = 10
"""Number of commits below which the current rate is unreliable."""
_HEAD_BYTES = 4096
"""Bytes of plan.json that contain its counts."""
_N_LINES = 200
_COUNTS = re.compile(rb'"(n_events|children)": (\d+)')


class Worker(Struct):
    """A child or a node. Memory in bytes; `busy_s`: sum of commit durations; `n_at_once`: number of
    its children, `n_threads`: of each of these; `what`: the last committed lumi, or how it
    ended."""

    name: str
    n_events: int = 0
    n_commits: int = 0
    busy_s: float = 0.0
    cpu_s: float = 0.0
    last_s: float = 0.0
    pss: int = 0
    private: int = 0
    what: str = ""
    is_over: bool = False
    n_at_once: int = 1
    n_threads: int = 1

    @property
    def rate(self) -> float | None:
        """Events per second while working."""
        return self.n_at_once * self.n_events / self.busy_s if self.busy_s else None

    @property
    def cpu_efficiency(self) -> float | None:
        """CPU time divided by the time of its threads while working."""
        return self.cpu_s / self.busy_s / self.n_threads if self.busy_s else None


class Rate:
    """Recent events per second, from commits; if these are far apart, since the beginning."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, int]] = deque()
        self._n_events, self._begin_s = 0, float("inf")

    def add(self, start_s: float, end_s: float, n_events: int) -> None:
        """Notes a commit."""
        self._late.append((end_s, n_events))
        self._n_events, self._begin_s = self._n_events + n_events, min(self._begin_s, start_s)

    def at(self, now_s: float) -> float:
        """The rate at a time [s since the epoch]."""
        while self._late and self._late[0][0] < now_s - _WINDOW_S:
            self._late.popleft()
        length_s = now_s - self._begin_s
        if len(self._late) < _FEW or length_s < _WINDOW_S:
            return self._n_events / max(length_s, 1.0) if self._n_events else 0.0
        return sum(n for _, n in self._late) / _WINDOW_S


class LiveRun:
    """State of one run directory. `look` reads new data; everything else is the state since."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = RunDirectory(path)
        self._ledgers: dict[Path, JsonTail] = {}
        self._logs: dict[Path, Tail] = {}
        self._timeline = JsonTail(self._folder.timeline)
        self._samples = JsonTail(self._folder.samples)
        self._rate = Rate()
        self.workers: dict[int, Worker] = {}
        self.parent = Worker("parent")
        self.n_planned: int | None = None
        self._n_threads = 1
        self.name = path.name
        self.started_s: float | None = None
        self.phase = "starts"
        self.outcome: str | None = None
        self.remarks: deque[str] = deque(maxlen=_N_LINES)
        self.lines: deque[str] = deque(maxlen=_N_LINES)
        self.is_gone = False

    def look(self) -> None:
        """Reads everything written since the last look."""
        self.is_gone = not self.path.is_dir()
        if self.is_gone:
            return
        if self.n_planned is None:
            self._read_plan()
        for line in self._timeline.values():
            self._take_event(line)
        for sample in self._samples.values():
            self._take_sample(sample)
        self._read_ledgers()
        self._read_logs()

    @property
    def n_events(self) -> int:
        return sum(worker.n_events for worker in self.workers.values())

    def rate(self, now_s: float) -> float:
        """Recent events per second."""
        return self._rate.at(now_s)

    def _read_plan(self) -> None:
        try:
            with self._folder.plan.open("rb") as file:
                head = file.read(_HEAD_BYTES)  # a plan may be large, and begins with its counts
        except OSError:
            return
        counts = {key.decode(): int(value) for key, value in _COUNTS.findall(head)}
        self.n_planned = counts.get("n_events")
        self._n_threads = int(read_json(self._folder.config).get("threads", {}).get("per_child", 1))

    def _take_event(self, line: Mapping[str, Any]) -> None:
        match line.get("event"):
            case "job_start":
                self.started_s, self.outcome, self.phase = line.get("time_s"), None, "starts"
                self._rate = Rate()  # without the gap since the session before
            case "index_done":
                self.phase = "makes modules"
            case "fork" | "child_started" | "child_first_event":
                self.phase = "processes"
            case "child_exit" if isinstance(child := line.get("child"), int):
                worker = self._worker(child)
                worker.what, worker.is_over = str(line.get("status", "ended")), True
                worker.pss = worker.private = 0
            case "merge_start":
                self.phase = "merges"
            case "job_end":
                self.outcome = "stopped" if line.get("unfinished") else str(line.get("outcome"))
            case "warning" | "recovery":
                self.remarks.append(str(line.get("text", "")))

    def _take_sample(self, sample: Mapping[str, Any]) -> None:
        child = sample.get("child")
        worker = self._worker(child) if isinstance(child, int) else self.parent
        if not worker.is_over:
            worker.pss = int(sample.get("pss_bytes", 0))
            worker.private = int(sample.get("private_bytes", 0))

    def _read_ledgers(self) -> None:
        for file in sorted(self._folder.ledger.glob("child-*.jsonl")):
            tail = self._ledgers.setdefault(file, JsonTail(file))
            for commit in tail.values():
                self._take_commit(commit)

    def _take_commit(self, commit: Mapping[str, Any]) -> None:
        try:
            worker = self._worker(int(commit["child"]))
            n_events, end_s = int(commit["n_events"]), float(commit["end_s"])
            busy_s, cpu_s = end_s - float(commit["start_s"]), float(commit["cpu_s"])
        except (KeyError, TypeError, ValueError):
            return
        worker.n_events += n_events
        worker.n_commits += 1
        worker.busy_s, worker.cpu_s = worker.busy_s + busy_s, worker.cpu_s + cpu_s
        worker.last_s = max(worker.last_s, end_s)
        if end_s - busy_s >= (self.started_s or 0.0):
            self._rate.add(end_s - busy_s, end_s, n_events)
        if not worker.is_over:
            worker.what = f"run {commit.get('run')}, lumi {commit.get('lumi')}"

    def _worker(self, child: int) -> Worker:
        worker = Worker(f"child {child}", n_threads=self._n_threads)
        return self.workers.setdefault(child, worker)

    def _read_logs(self) -> None:
        for file in self._folder.logs.glob("*.log"):
            tail = self._logs.setdefault(file, Tail(file))
            origin = "parent" if file.stem == "parent" else file.stem.partition("-")[2]
            for line in tail.lines():
                self.lines.append(f"{origin}: {line.decode('utf-8', 'replace')}")


class LiveJob(Struct):
    """A job on this machine or on many nodes. `nodes`: by number; empty unless it is on nodes."""

    whole: LiveRun
    nodes: dict[int, LiveRun] = field(default_factory=dict)

    def look(self) -> None:
        """Reads new data of the job and of all nodes."""
        self.whole.look()
        folder = RunDirectory(self.whole.path)
        if folder.nodes.is_dir():
            for place in sorted(folder.nodes.iterdir()):
                if place.name.isdecimal() and place.is_dir() and not place.is_symlink():
                    self.nodes.setdefault(int(place.name), LiveRun(place)).look()

    @property
    def runs(self) -> list[LiveRun]:
        """Run directories whose children process events."""
        return list(self.nodes.values()) or [self.whole]

    @property
    def n_events(self) -> int:
        return sum(run.n_events for run in self.runs)

    def rate(self, now_s: float) -> float:
        """Recent events per second."""
        return sum(run.rate(now_s) for run in self.runs)

    def left_s(self, now_s: float) -> float | None:
        """Remaining time at the current rate."""
        rate = self.rate(now_s)
        if self.whole.n_planned is None or not rate:
            return None
        return max(self.whole.n_planned - self.n_events, 0) / rate

    def rows(self) -> Iterator[Worker]:
        """Children, or nodes of a job on nodes."""
        if not self.nodes:
            yield from (worker for _, worker in sorted(self.whole.workers.items()))
        for number, run in sorted(self.nodes.items()):
            yield _as_worker(number, run)

    def to_json(self, now_s: float) -> dict[str, Any]:
        """Content of the live view, for programs."""
        run, (pss, private) = self.whole, self.memory
        return {
            "name": run.name,
            "state": run.outcome or run.phase,
            "has_ended": run.outcome is not None,
            "started_s": run.started_s,
            "n_events": self.n_events,
            "n_events_planned": run.n_planned,
            "rate_events_per_s": self.rate(now_s),
            "left_s": self.left_s(now_s),
            "pss_bytes": pss,
            "private_bytes": private,
            "remarks": [text for each in (run, *self.nodes.values()) for text in each.remarks],
            "nodes" if self.nodes else "children": [to_builtins(worker) for worker in self.rows()],
        }

    @property
    def memory(self) -> tuple[int, int]:
        """PSS and private memory of all live processes [bytes]."""
        workers = [each for run in self.runs for each in (run.parent, *run.workers.values())]
        return sum(each.pss for each in workers), sum(each.private for each in workers)


def _as_worker(number: int, run: LiveRun) -> Worker:
    workers = [run.parent, *run.workers.values()]
    return Worker(
        name=f"node {number}",
        n_events=run.n_events,
        n_commits=sum(each.n_commits for each in workers),
        busy_s=sum(each.busy_s for each in workers),
        cpu_s=sum(each.cpu_s for each in workers),
        last_s=max(each.last_s for each in workers),
        pss=sum(each.pss for each in workers),
        private=sum(each.private for each in workers),
        what=run.outcome or run.phase,
        is_over=run.outcome is not None,
        n_at_once=max(len(run.workers), 1),
        n_threads=max(each.n_threads for each in workers),
    )
