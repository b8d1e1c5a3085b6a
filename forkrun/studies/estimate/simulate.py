"""List scheduling: what a finite number of threads makes of a graph."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, replace
from typing import NamedTuple

from forkrun.studies.estimate.graph import EstimateGraph

UNLIMITED = 1 << 30


class Call(NamedTuple):
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
        return self.calls[-1].end_s if self.calls else 0.0

    @property
    def busy_s(self) -> float:
        """Sum over all calls."""
        return sum(call.end_s - call.start_s for call in self.calls)


def simulate(
    graph: EstimateGraph, n_events: int, n_threads: int = UNLIMITED, in_flight: int = 1
) -> Execution:
    """`n_events` events from the first begin to the last end, as `Simulation` has them."""
    calls: list[Call] = []
    Simulation(graph, n_threads, in_flight, n_events, calls).run(n_events)
    event_end_s = [0.0] * n_events
    for call in calls:
        event_end_s[call.event] = call.end_s
    return Execution(tuple(calls), tuple(event_end_s))


@dataclass(slots=True)
class _Event:
    """By module: its time, how many of its inputs are not made, whether it was asked for.
    `n_open` : modules that were asked for and have not ended."""

    number: int
    times_s: list[float]
    missing: list[int]
    asked: bytearray
    n_open: int = 0
    did_last: bool = False


class _Ready(NamedTuple):
    """A call that a thread may take. `has_lock` : it was handed over to it."""

    event: _Event
    module: int
    cause: int
    has_lock: bool


class Simulation:
    """`n_events` events (None: without end), at most `in_flight` at a time; event i has the times
    of i modulo `graph.n_events`. Ready calls begin in the order in which they became ready.

    `now_s` : since the first begin. `busy_s` : sum of what calls took until now, those that are
    running included. Calls are added to `calls` when they end, if it is given."""

    def __init__(
        self,
        graph: EstimateGraph,
        n_threads: int,
        in_flight: int,
        n_events: int | None = None,
        calls: list[Call] | None = None,
    ) -> None:
        self.now_s = 0.0
        self.busy_s = 0.0
        self.n_calls = 0
        self.n_ended = 0
        self._graph = graph
        self._times_s = graph.times_s.T.tolist()
        self._consumers = _consumers(graph)
        self._then = [graph.then.get(module, ()) for module in range(len(graph.labels))]
        self._locks = _locks(graph)
        self._calls = calls
        self._n_free = n_threads
        self._in_flight = in_flight
        self._n_events = n_events
        self._n_begun = 0
        self._n_started = 0
        self._ready: deque[_Ready] = deque()
        # End, a number that no other has, event, module, begin, cause.
        self._running: list[tuple[float, int, _Event, int, float, int]] = []
        # What waits for a lock; locks that are free are not there.
        self._waiting: dict[int, deque[tuple[_Event, int]]] = {}
        self._fresh, self._first = self._fresh_event()
        self._begin_events(-1)
        self._start()

    def run(self, n_ended: int) -> None:
        """Until that many events have ended since the begin, or all have."""
        running = self._running
        while running and self.n_ended < n_ended:
            now_s = running[0][0]
            self.busy_s += len(running) * (now_s - self.now_s)
            self.now_s = now_s
            while running and running[0][0] == now_s:
                _, _, event, module, start_s, cause = heapq.heappop(running)
                if self._calls is not None:
                    self._calls.append(Call(module, event.number, start_s, now_s, cause))
                self._end(event, module)
            self._start()

    def _fresh_event(self) -> tuple[_Event, list[int]]:
        """An event as each of them begins, and its modules that are ready then."""
        missing = [len(inputs) for inputs in self._graph.inputs]
        event = _Event(0, [], missing, bytearray(len(missing)))
        for module in self._graph.first:
            self._ask(event, module, -1)
        self._ask_last(event, -1)
        modules = [ready.module for ready in self._ready]
        self._ready.clear()
        return event, modules

    def _begin_events(self, cause: int) -> None:
        fresh = self._fresh
        while self._n_begun != self._n_events and self._n_begun - self.n_ended < self._in_flight:
            event = replace(
                fresh,
                number=self._n_begun,
                times_s=self._times_s[self._n_begun % len(self._times_s)],
                missing=fresh.missing.copy(),
                asked=fresh.asked.copy(),
            )
            self._n_begun += 1
            self.n_ended += event.n_open == 0
            self._ready.extend([_Ready(event, module, cause, False) for module in self._first])

    def _ask(self, event: _Event, module: int, cause: int) -> None:
        """For it and, first to last, for what it needs and nobody has asked for."""
        left = [module]
        while left:
            module = left.pop()
            if event.asked[module]:
                continue
            event.asked[module] = True
            event.n_open += 1
            if event.missing[module] == 0:
                self._ready.append(_Ready(event, module, cause, False))
            else:
                left.extend(reversed(self._graph.inputs[module]))

    def _ask_last(self, event: _Event, cause: int) -> None:
        if event.n_open == 0 and not event.did_last:
            event.did_last = True
            for module in self._graph.last:
                self._ask(event, module, cause)

    def _start(self) -> None:
        ready, locks, waiting, now_s = self._ready, self._locks, self._waiting, self.now_s
        while self._n_free and ready:
            event, module, cause, has_lock = ready.popleft()
            lock = locks[module]
            if lock is not None and not has_lock:
                if lock in waiting:
                    waiting[lock].append((event, module))
                    continue
                waiting[lock] = deque()
            self._n_free -= 1
            self._n_started += 1
            end_s = now_s + event.times_s[module]
            call = (end_s, self._n_started, event, module, now_s, cause)
            heapq.heappush(self._running, call)

    def _end(self, event: _Event, module: int) -> None:
        index = self.n_calls
        self.n_calls += 1
        self._n_free += 1
        self._unlock(self._locks[module], index)
        event.n_open -= 1
        missing, asked = event.missing, event.asked
        for consumer in self._consumers[module]:
            missing[consumer] -= 1
            if missing[consumer] == 0 and asked[consumer]:
                self._ready.append(_Ready(event, consumer, index, False))
        for following in self._then[module]:
            self._ask(event, following, index)
        if event.n_open == 0:
            self._ask_last(event, index)
            self.n_ended += event.n_open == 0
            self._begin_events(index)

    def _unlock(self, lock: int | None, index: int) -> None:
        if lock is None:
            return
        if self._waiting[lock]:
            self._ready.append(_Ready(*self._waiting[lock].popleft(), index, True))
        else:
            del self._waiting[lock]


def _consumers(graph: EstimateGraph) -> list[list[int]]:
    consumers: list[list[int]] = [[] for _ in graph.labels]
    for module, inputs in enumerate(graph.inputs):
        for maker in inputs:
            consumers[maker].append(module)
    return consumers


def _locks(graph: EstimateGraph) -> list[int | None]:
    """By module: a number of its own, -1 for all unsafe ones, None without a lock."""
    return [
        module if kind == "one" else -1 if kind == "unsafe" else None
        for module, kind in enumerate(graph.concurrency)
    ]
