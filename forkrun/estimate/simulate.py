"""List scheduling: what a finite number of threads makes of a graph."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

from forkrun.estimate.graph import EstimateGraph

UNLIMITED = 1 << 30


@dataclass(frozen=True)
class Call:
    """One module of one event. `cause` : index of the call whose end let it begin, -1 for none."""

    module: int
    event: int
    start_s: float
    end_s: float
    cause: int


@dataclass(frozen=True)
class Execution:
    """All calls in the order of their ends; by event, when the last of its calls ended."""

    calls: tuple[Call, ...]
    event_end_s: tuple[float, ...]

    @property
    def makespan_s(self) -> float:
        """From the first begin to the last end."""
        return max((call.end_s for call in self.calls), default=0.0)

    @property
    def busy_s(self) -> float:
        """Sum over all calls."""
        return sum(call.end_s - call.start_s for call in self.calls)


def simulate(
    graph: EstimateGraph, n_events: int, n_threads: int = UNLIMITED, in_flight: int = 1
) -> Execution:
    """`n_events` events, at most `in_flight` at a time; event i has the times of i modulo
    `graph.n_events`. Ready calls begin in the order in which they became ready."""
    return _Simulation(graph, n_events, n_threads, in_flight).run()


@dataclass
class _Event:
    asked: set[int] = field(default_factory=set)
    missing: dict[int, int] = field(default_factory=dict)
    """Inputs that are not made, by module that was asked for."""
    ended: set[int] = field(default_factory=set)
    n_open: int = 0
    did_last: bool = False


class _Simulation:
    def __init__(self, graph: EstimateGraph, n_events: int, n_threads: int, in_flight: int) -> None:
        self._graph = graph
        self._times = graph.times_s.tolist()
        self._consumers: list[list[int]] = [[] for _ in graph.labels]
        for module, inputs in enumerate(graph.inputs):
            for maker in inputs:
                self._consumers[maker].append(module)
        self._n_events = n_events
        self._n_free = n_threads
        self._n_begun = 0
        self._events: dict[int, _Event] = {}
        # Event, module, cause, and whether its lock was handed over to it.
        self._ready: deque[tuple[int, int, int, bool]] = deque()
        self._running: list[tuple[float, int, int, int, float, int]] = []
        self._n_started = 0
        # Event and module, by the lock that they wait for; locks that are free are not there.
        self._waiting: dict[str | int, deque[tuple[int, int]]] = {}
        self._calls: list[Call] = []
        self._event_end_s = [0.0] * n_events
        self._in_flight = in_flight

    def run(self) -> Execution:
        for _ in range(min(self._in_flight, self._n_events)):
            self._begin_event(-1)
        self._start(0.0)
        while self._running:
            now_s = self._running[0][0]
            while self._running and self._running[0][0] == now_s:
                end_s, _, event, module, start_s, cause = heapq.heappop(self._running)
                self._calls.append(Call(module, event, start_s, end_s, cause))
                self._end(event, module, len(self._calls) - 1)
            self._start(now_s)
        return Execution(tuple(self._calls), tuple(self._event_end_s))

    def _begin_event(self, cause: int) -> None:
        if self._n_begun == self._n_events:
            return
        event = self._n_begun
        self._n_begun += 1
        state = self._events[event] = _Event()
        for module in self._graph.first:
            self._ask(event, state, module, cause)
        self._finish_if_done(event, cause)

    def _ask(self, event: int, state: _Event, module: int, cause: int) -> None:
        if module in state.asked:
            return
        state.asked.add(module)
        state.n_open += 1
        missing = 0
        for maker in self._graph.inputs[module]:
            self._ask(event, state, maker, cause)
            missing += maker not in state.ended
        state.missing[module] = missing
        if missing == 0:
            self._ready.append((event, module, cause, False))

    def _start(self, now_s: float) -> None:
        while self._n_free and self._ready:
            event, module, cause, has_lock = self._ready.popleft()
            lock = self._lock(module)
            if lock is not None and not has_lock:
                if lock in self._waiting:
                    self._waiting[lock].append((event, module))
                    continue
                self._waiting[lock] = deque()
            self._n_free -= 1
            self._n_started += 1
            times = self._times[module]
            end_s = now_s + times[event % len(times)]
            heapq.heappush(self._running, (end_s, self._n_started, event, module, now_s, cause))

    def _lock(self, module: int) -> str | int | None:
        kind = self._graph.concurrency[module]
        return "unsafe" if kind == "unsafe" else module if kind == "one" else None

    def _end(self, event: int, module: int, index: int) -> None:
        self._n_free += 1
        self._unlock(self._lock(module), index)
        state = self._events[event]
        state.ended.add(module)
        state.n_open -= 1
        for consumer in self._consumers[module]:
            if consumer in state.missing:
                state.missing[consumer] -= 1
                if state.missing[consumer] == 0:
                    self._ready.append((event, consumer, index, False))
        for following in self._graph.then.get(module, ()):
            self._ask(event, state, following, index)
        self._finish_if_done(event, index)

    def _unlock(self, lock: str | int | None, index: int) -> None:
        if lock is None:
            return
        if self._waiting[lock]:
            self._ready.append((*self._waiting[lock].popleft(), index, True))
        else:
            del self._waiting[lock]

    def _finish_if_done(self, event: int, cause: int) -> None:
        state = self._events[event]
        if state.n_open == 0 and not state.did_last:
            state.did_last = True
            for module in self._graph.last:
                self._ask(event, state, module, cause)
        if state.n_open == 0:
            del self._events[event]
            self._event_end_s[event] = self._calls[cause].end_s if cause >= 0 else 0.0
            self._begin_event(cause)
