"""Simulates a graph on a finite number of threads, in the order of forkrun's own scheduler."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from forkrun.studies.estimate.graph import EstimateGraph

UNLIMITED = 1 << 30


class Call(NamedTuple):
    """One module of one event. `cause` : index of the call whose end started it, -1 for none."""

    module: int
    event: int
    start_s: float
    end_s: float
    cause: int


class Execution(Struct, frozen=True):
    """All calls, in order of end."""

    calls: tuple[Call, ...]

    @property
    def makespan_s(self) -> float:
        """Time from the first start to the last end."""
        return self.calls[-1].end_s if self.calls else 0.0

    @property
    def busy_s(self) -> float:
        """Sum of the durations of all calls."""
        return sum(call.end_s - call.start_s for call in self.calls)


def simulate(
    graph: EstimateGraph, n_events: int, n_threads: int = UNLIMITED, in_flight: int = 1
) -> Execution:
    """Runs `n_events` events to the end, as defined by `Simulation`."""
    calls: list[Call] = []
    Simulation(graph, n_threads, in_flight, n_events, calls).run(n_events)
    return Execution(tuple(calls))


class _Event(Struct):
    """An event in flight. By module: its time, number of missing inputs, whether it was requested
    and has ended. `n_open` : modules requested and not ended. `n_called` : number called, while
    modules are called in serial order; else None."""

    number: int
    times_s: list[float]
    missing: list[int]
    asked: bytearray
    ended: bytearray
    n_open: int = 0
    did_last: bool = False
    n_called: int | None = 0
    cause: int = -1


class _Task(NamedTuple):
    """A call that a thread may take, or (event None) the start of another event. `has_lock` : the
    lock was handed over to it."""

    event: _Event | None
    module: int
    cause: int
    has_lock: bool


class _Thread:
    """`tasks` : ready tasks; the thread takes the last, others take the first. `event` : the event
    whose modules it calls in serial order."""

    __slots__ = ("event", "number", "tasks")

    def __init__(self, number: int) -> None:
        self.number = number
        self.tasks: deque[_Task] = deque()
        self.event: _Event | None = None


class Simulation:
    """`n_events` events (None: unlimited), at most `in_flight` at a time; event i has the times
    of i modulo `graph.n_events`. In the order of forkrun's own scheduler:

    - A thread calls the modules of an event in their serial order, until another thread is idle or
      a module is in use by another event. Then the ready calls of the event become tasks of the
      thread; with more threads than events this happens at once.
    - A thread takes its last task; a thread without tasks takes the first of another thread. Calls
      made ready by a call become tasks of its thread, last of all the one that takes over its lock.
    - Tasks get a lock in the order of arrival.

    `now_s` : since the first start. `busy_s` : total duration of calls up to now, including running
    ones. Calls are added to `calls` when they end, if it is given."""

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
        self._order = serial_order(graph)
        self._consumers = _consumers(graph, self._order)
        self._then = [graph.then.get(module, ()) for module in range(len(graph.labels))]
        self._locks = _locks(graph)
        self._calls = calls
        self._n_threads = n_threads
        self._has_spare_threads = n_threads > in_flight
        self._n_events = n_events
        self._n_begun = 0
        self._n_started = 0
        self._missing = [len(inputs) for inputs in graph.inputs]
        # Threads are made when there is work for them; later they may be idle again.
        self._threads: list[_Thread] = []
        self._idle: list[_Thread] = []
        self._with_tasks: dict[_Thread, None] = {}
        # End, unique number, thread, event, module, start, cause.
        self._running: list[tuple[float, int, _Thread, _Event, int, float, int]] = []
        # Tasks waiting for each lock; free locks are absent.
        self._waiting: dict[int, deque[_Task]] = {}
        first = self._idle_thread()
        self._n_planned = in_flight if n_events is None else min(in_flight, n_events)
        for _ in range(self._n_planned):
            self._push(first, _Task(None, -1, -1, False))
        self._continue(first)

    def run(self, n_ended: int) -> None:
        """Runs until that many events have ended since the start, or all have."""
        running = self._running
        while running and self.n_ended < n_ended:
            n_running = len(running)
            end_s, _, thread, event, module, start_s, cause = heapq.heappop(running)
            self.busy_s += n_running * (end_s - self.now_s)
            self.now_s = end_s
            if self._calls is not None:
                self._calls.append(Call(module, event.number, start_s, end_s, cause))
            self._end(thread, event, module)
            self._continue(thread)

    # Threads

    def _idle_thread(self) -> _Thread:
        """An idle thread; one must exist."""
        if self._idle:
            return self._idle.pop()
        self._threads.append(_Thread(len(self._threads)))
        return self._threads[-1]

    def _is_work_wanted(self) -> bool:
        return bool(self._idle) or len(self._threads) < self._n_threads

    def _push(self, thread: _Thread, task: _Task) -> None:
        thread.tasks.append(task)
        self._with_tasks[thread] = None

    def _take(self, thread: _Thread, first: bool) -> _Task:
        task = thread.tasks.popleft() if first else thread.tasks.pop()
        if not thread.tasks:
            del self._with_tasks[thread]
        return task

    def _continue(self, thread: _Thread) -> None:
        """Continues this thread, and those given tasks by it, until each is in a call or idle."""
        continuing = deque([thread])
        while continuing:
            self._find_call(continuing.popleft(), continuing)

    def _find_call(self, thread: _Thread, continuing: deque[_Thread]) -> None:
        while not self._begin_next(thread, continuing):
            if thread.event is not None:
                continue
            if not thread.tasks and not self._with_tasks:
                self._idle.append(thread)
                return
            task = self._take(
                *((thread, False) if thread.tasks else (next(iter(self._with_tasks)), True))
            )
            self._share(thread, continuing)
            if task.event is None:
                self._begin_event(thread, task.cause)
            elif self._begin(thread, task):
                return

    def _share(self, thread: _Thread, continuing: deque[_Thread]) -> None:
        """Shares the thread's tasks with idle threads."""
        while thread.tasks and self._is_work_wanted():
            other = self._idle_thread()
            self._push(other, self._take(thread, True))
            continuing.append(other)

    # Calls

    def _begin_next(self, thread: _Thread, continuing: deque[_Thread]) -> bool:
        """Starts the next call of the event whose modules the thread calls in order. False if that
        event has ended, or continues as tasks."""
        event = thread.event
        if event is None or event.n_called is None:
            return False
        self._share(thread, continuing)
        module = self._order[event.n_called]
        lock = self._locks[module]
        if self._is_work_wanted() or (lock is not None and lock in self._waiting):
            thread.event = None
            self._make_tasks(thread, event)
            return False
        return self._begin(thread, _Task(event, module, event.cause, False))

    def _begin(self, thread: _Thread, task: _Task) -> bool:
        """Starts a call. False if the module is in use."""
        event, module, cause, has_lock = task
        assert event is not None
        lock = self._locks[module]
        if lock is not None and not has_lock:
            if lock in self._waiting:
                self._waiting[lock].append(task)
                return False
            self._waiting[lock] = deque()
        self._n_started += 1
        end_s = self.now_s + event.times_s[module]
        call = (end_s, self._n_started, thread, event, module, self.now_s, cause)
        heapq.heappush(self._running, call)
        return True

    def _end(self, thread: _Thread, event: _Event, module: int) -> None:
        index = self.n_calls
        self.n_calls += 1
        event.ended[module] = True
        event.cause = index
        if event.n_called is not None:
            self._end_in_order(thread, event, module)
        else:
            self._end_task(thread, event, module, index)
        lock = self._locks[module]
        if lock is None:
            return
        if self._waiting[lock]:
            waiting = self._waiting[lock].popleft()
            self._push(thread, _Task(waiting.event, waiting.module, index, True))
        else:
            del self._waiting[lock]

    def _end_in_order(self, thread: _Thread, event: _Event, module: int) -> None:
        assert event.n_called is not None
        event.asked[module] = True
        for consumer in self._consumers[module]:
            event.missing[consumer] -= 1
        event.n_called += 1
        if event.n_called == len(self._order):
            thread.event = None
            self._end_event(thread, event.cause)

    def _end_task(self, thread: _Thread, event: _Event, module: int, index: int) -> None:
        event.n_open -= 1
        for consumer in self._consumers[module]:
            event.missing[consumer] -= 1
            if event.missing[consumer] == 0 and event.asked[consumer]:
                self._push(thread, _Task(event, consumer, index, False))
        for following in self._then[module]:
            self._ask(thread, event, following, index)
        self._ask_last(thread, event, index)

    # Events

    def _begin_event(self, thread: _Thread, cause: int) -> None:
        n_modules = len(self._missing)
        times_s = self._times_s[self._n_begun % len(self._times_s)]
        asked, ended = bytearray(n_modules), bytearray(n_modules)
        event = _Event(self._n_begun, times_s, self._missing.copy(), asked, ended, cause=cause)
        self._n_begun += 1
        if not self._order:
            self._end_event(thread, cause)
        elif self._has_spare_threads:
            self._make_tasks(thread, event)
        else:
            thread.event = event

    def _end_event(self, thread: _Thread, cause: int) -> None:
        self.n_ended += 1
        if self._n_events is None or self._n_planned < self._n_events:
            self._n_planned += 1
            self._push(thread, _Task(None, -1, cause, False))

    def _make_tasks(self, thread: _Thread, event: _Event) -> None:
        """Makes tasks of the remaining calls of an event."""
        event.n_called = None
        left = list(reversed(self._graph.first))
        passed: set[int] = set()  # several modules may lead to the same one
        while left:
            module = left.pop()
            if event.ended[module]:
                if module not in passed:
                    passed.add(module)
                    left.extend(reversed(self._then[module]))
            else:
                self._ask(thread, event, module, event.cause)
        self._ask_last(thread, event, event.cause)

    def _ask(self, thread: _Thread, event: _Event, module: int, cause: int) -> None:
        """Requests a module and, first to last, its inputs that have not been requested."""
        left = [module]
        while left:
            module = left.pop()
            if event.asked[module]:
                continue
            event.asked[module] = True
            event.n_open += 1
            if event.missing[module] == 0:
                self._push(thread, _Task(event, module, cause, False))
            else:
                left.extend(reversed(self._graph.inputs[module]))

    def _ask_last(self, thread: _Thread, event: _Event, cause: int) -> None:
        """Requests the last modules after all others have ended; then the event may end."""
        if event.n_open == 0 and not event.did_last:
            event.did_last = True
            for module in self._graph.last:
                self._ask(thread, event, module, cause)
        if event.n_open == 0:
            self._end_event(thread, cause)


def serial_order(graph: EstimateGraph) -> list[int]:
    """All modules that are called, in serial order: path by path, inputs first."""
    order: dict[int, None] = {}
    asked: set[int] = set()

    def call(module: int) -> None:
        left = [(module, False)]
        while left:
            module, is_ready = left.pop()
            if is_ready:
                order[module] = None
            elif module not in asked:
                asked.add(module)
                left.append((module, True))
                left.extend((maker, False) for maker in reversed(graph.inputs[module]))

    left, seen = list(reversed(graph.first)), set()
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            call(module)
            left.extend(reversed(graph.then.get(module, ())))
    for module in graph.last:
        call(module)
    return list(order)


def _consumers(graph: EstimateGraph, order: Sequence[int]) -> list[list[int]]:
    """Consumers of each module. The first one requested comes last: it is called next."""
    consumers: list[list[int]] = [[] for _ in graph.labels]
    for module in reversed(order):
        for maker in graph.inputs[module]:
            consumers[maker].append(module)
    return consumers


def _locks(graph: EstimateGraph) -> list[int | None]:
    """Lock of each module: its own number, -1 for all unsafe ones, None without a lock."""
    return [
        module if kind == "one" else -1 if kind == "unsafe" else None
        for module, kind in enumerate(graph.concurrency)
    ]
