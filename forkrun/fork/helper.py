"""Helper processes: one does something and gives an answer, or dies of it, and this process stays
as it was.

`ask_helper` has something done in a forked copy of this process, `insist` until it is done, and
`ask_reader` for files of unknown origin, where a damaged one crashes a library or does not come to
an end: that file is named. `ask_workers` asks clean processes that read one file after another."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from forkrun.base.streams import tell
from forkrun.base.wait_status import describe_status
from forkrun.errors import ForkrunError, InputError, StoppedError
from forkrun.fork.failure import as_forkrun_error, from_record, to_record
from forkrun.fork.forking import Process
from forkrun.fork.limits import limit_heap, limit_reader
from forkrun.fork.once_crew import OnceCrew
from forkrun.fork.signals import PYTHON_STACKS
from forkrun.fork.supervisor import Supervisor

FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals that say nothing about the work: a user sent them, or memory was short."""

TRIES = 3
NO_MEMORY = 101
"""Exit code: any other report needs memory."""

Say = Callable[[Any], None]
"""Takes a JSON-ready value to the process that waits, which gets it during the work."""
Work = Callable[[Say], Any]
"""Gives a JSON-ready value."""


class Ended(NamedTuple):
    """How a helper process has ended: with a result, a failure that it has told of, or an exit code
    that is none of its own."""

    exit_code: int
    result: Any = None
    failure: ForkrunError | None = None
    is_late: bool = False


class _Answers:
    """Lines of JSON from one process to another, through memory: a disk may be full. Made before
    the fork."""

    def __init__(self) -> None:
        self._file = open(os.memfd_create("answers"), "w+b")  # noqa: SIM115
        self._n_read = 0

    def write(self, kind: str, value: Any) -> None:
        self._file.write(json.dumps([kind, value]).encode() + b"\n")
        self._file.flush()

    def read(self) -> list[tuple[str, Any]]:
        """Text that is new; an incomplete line comes later."""
        n_bytes = os.fstat(self._file.fileno()).st_size - self._n_read
        data = os.pread(self._file.fileno(), n_bytes, self._n_read) if n_bytes else b""
        lines = data[: data.rfind(b"\n") + 1]
        self._n_read += len(lines)
        return [tuple(json.loads(line)) for line in lines.splitlines()]

    def close(self) -> None:
        self._file.close()


class _TimedCrew(OnceCrew):
    """One process, killed when its time is over, and asked for its stacks before."""

    def __init__(self, end_s: Callable[[], float], tick: Callable[[], None]) -> None:
        super().__init__([0], tick)
        self._end_s = end_s
        self.is_late = False

    def tick(self, running: Mapping[int, int]) -> Mapping[int, int]:
        signals = super().tick(running)
        if running and not signals and time.monotonic() > self._end_s():
            was_late, self.is_late = self.is_late, True
            return dict.fromkeys(running, signal.SIGKILL if was_late else PYTHON_STACKS)
        return signals


def ask_helper(
    work: Work,
    hear: Callable[[Any], None] = lambda _: None,
    *,
    limits: Callable[[], None] = lambda: None,
    limit_s: float = math.inf,
    end_s: Callable[[], float] | None = None,
    log: Path = Path(os.devnull),
    tick: Callable[[], None] = lambda: None,
) -> Ended:
    """Does `work` in a forked process, after its `limits`. `hear` gets what it says, `tick` is
    called several times per second; `log` has what it prints, and its stacks if it is late; it is
    killed after `limit_s`, or when the monotonic clock is past `end_s()`, which may change. Raises
    StoppedError if this process gets a signal. Call it in a process with one thread."""
    limit = time.monotonic() + limit_s
    with contextlib.closing(_Answers()) as answers:
        last: dict[str, Any] = {}

        def listen() -> None:
            for kind, value in answers.read():
                if kind == "said":
                    hear(value)
                last[kind] = value

        def listen_and_tick() -> None:
            listen()
            tick()

        crew = _TimedCrew(end_s or (lambda: limit), listen_and_tick)
        body = partial(_do, work, limits, answers)
        Supervisor(lambda _: Process(body, log), crew).run()
        listen()
    if crew.signal_number:
        name = signal.Signals(crew.signal_number).name
        raise StoppedError(f"stopped by signal {name}", crew.signal_number)
    failure = from_record(last["failure"]) if "failure" in last else None
    return Ended(crew.exit_codes[0], last.get("result"), failure, crew.is_late)


def _do(work: Work, limits: Callable[[], None], answers: _Answers) -> int:
    try:
        faulthandler.register(PYTHON_STACKS, file=2, all_threads=True)
        limits()
        answers.write("result", work(partial(answers.write, "said")))
    except MemoryError:
        return NO_MEMORY
    except Exception as error:
        failure = as_forkrun_error(error)
        answers.write("failure", to_record(failure))
        with contextlib.suppress(OSError):  # its log may be on the disk that is full
            traceback.print_exc(file=sys.stderr)
        return failure.exit_code
    return 0


def insist(work: Work, blame: Callable[[int], ForkrunError], *heard: Any, **how: Any) -> Any:
    """Result of `work`, with the arguments of `ask_helper`; done again if a signal from outside
    ends it, three times at most. Raises what it raises, and what `blame` makes of the exit code of
    a process that has died."""
    for _ in range(TRIES):
        ended = ask_helper(work, *heard, **how)
        if -ended.exit_code not in FROM_OUTSIDE:
            break
    if ended.exit_code:
        raise ended.failure or blame(ended.exit_code)
    return ended.result


def ask_reader(
    work: Work, files: Sequence[str], cpu_s: float, hear: Callable[[int], None] = lambda _: None
) -> Any:
    """Result of `work`, which reads these files, within `cpu_s` of CPU time; it says how many of
    them are done. Raises what it raises, and InputError with the name of the file at which the
    process died."""
    n_done = 0

    def hear_and_note(n: int) -> None:
        nonlocal n_done
        n_done = n
        hear(n)

    def blame(exit_code: int) -> ForkrunError:
        file = files[min(n_done, len(files) - 1)]
        return InputError(f"{file}: {describe_death(exit_code)}")

    def limits() -> None:
        limit_reader(cpu_s)
        limit_heap(files, _LEAST_BYTES_OF_READER)

    return insist(work, blame, hear_and_note, limits=limits)


def describe_death(exit_code: int) -> str:
    """How a process that was to read a file has ended, for the error that names the file."""
    if exit_code == NO_MEMORY:
        return "more memory is needed than a helper process may have; the file may be damaged"
    if exit_code == -signal.SIGXCPU:
        return "reading it does not come to an end; the file may be damaged"
    return f"the process that read it died: {describe_status(exit_code)}; the file may be damaged"


_LEAST_BYTES_OF_READER = 1 << 30
_FILES_PER_WORKER = 4  # a worker takes about a second to start; a file some milliseconds
_WAITING_PER_CPU = 4
_INTERVAL_S = 10.0
_STARTING_CPU_S = 60.0  # `answer` sets its own limits

Request = dict[str, Any]
"""Values that msgpack can hold; one has the `path` of its file."""
Answer = dict[str, Any]


def start_worker(module: str, errors: int) -> subprocess.Popen[bytes]:
    """A clean process that runs a module of ours. Files of the working directory, such as queue.py,
    are not imported for those of Python."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


class _Errors:
    """Text that workers write to stderr: lines of our own code are passed on (which server is
    waited for), those of libraries are not."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)

    def pass_on(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for line in os.read(self.read_end, 1 << 16).decode(errors="replace").splitlines():
                if line.startswith("forkrun: "):
                    tell(line)

    def close(self) -> None:
        self.pass_on()
        os.close(self.read_end)
        os.close(self.write_end)


class Worker:
    """A clean process that runs a module of ours which calls `serve`, and the request that it is
    working on."""

    def __init__(self, module: str, errors: int, most_s: Callable[[Request], float]) -> None:
        """`errors`: the file of its stderr; `most_s`: how long an answer may take."""
        self.process = start_worker(module, errors)
        self.request: Request = {}
        self._most_s = most_s
        self._asked_s = 0.0
        self._is_late = False
        self._n_answered = 0

    def ask(self, request: Request) -> None:
        assert self.process.stdin is not None
        self.request = request
        self._asked_s = time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # it has just died: the reply says so
            _send(self.process.stdin, request)

    def reply(self) -> Answer:
        """The answer, or how it ended. `again`: the file may not be to blame."""
        assert self.process.stdout is not None
        answer = _receive(self.process.stdout)
        if answer is not None:
            self._n_answered += 1
            return answer
        exit_code = self.process.wait()
        if self._is_late:
            return {"error": f"it could not be read within {self._most_s(self.request):.0f} s"}
        again = self._n_answered > 0 or -exit_code in FROM_OUTSIDE
        return {"error": describe_death(exit_code), "again": again}

    def end_if_late(self) -> None:
        """Kills it if it does not answer for too long: its file may be on a dead server."""
        if time.monotonic() > self._asked_s + self._most_s(self.request):
            self._is_late = True
            self.process.kill()


def ask_workers(
    module: str, requests: Sequence[Request], most_s: Callable[[Request], float]
) -> list[tuple[Request, Answer]]:
    """Answers in any order, of processes that run `module`, each within `most_s`. One that dies is
    replaced; its file is tried again, unless it was the first one that it read and killed it."""
    pending = list(reversed(requests))
    tries: Counter[str] = Counter()
    waits = any("://" in each["path"] for each in pending)  # for servers, more than it computes
    most = len(os.sched_getaffinity(0)) * (_WAITING_PER_CPU if waits else 1)
    n_workers = min(most, -(-len(pending) // _FILES_PER_WORKER))
    answers = []
    with contextlib.closing(_Errors()) as errors, selectors.DefaultSelector() as selector:
        selector.register(errors.read_end, selectors.EVENT_READ)

        def start() -> None:
            worker = Worker(module, errors.write_end, most_s)
            assert worker.process.stdout is not None
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            worker.ask(pending.pop())

        for _ in range(n_workers):
            start()
        while len(selector.get_map()) > 1:
            for key, _ in selector.select(_INTERVAL_S):
                if key.data is None:
                    errors.pass_on()
                    continue
                worker: Worker = key.data
                request, answer = worker.request, worker.reply()
                tries[request["path"]] += 1
                if answer.get("again") and tries[request["path"]] < TRIES:
                    pending.append(request)
                else:
                    answers.append((request, answer))
                if pending and worker.process.poll() is None:
                    worker.ask(pending.pop())
                    continue
                selector.unregister(key.fileobj)
                worker.process.communicate()
                if pending:
                    start()
            for key in list(selector.get_map().values()):
                if key.data is not None:
                    key.data.end_if_late()
    return answers


def serve(answer: Callable[[Request], Answer]) -> None:
    """Loop of a worker: answers requests on stdin, one by one, on stdout, until stdin ends. Stray
    output of libraries goes to stderr."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limit_reader(_STARTING_CPU_S)
    while (request := _receive(sys.stdin.buffer)) is not None:
        _send(replies, answer(request))


_LENGTH_BYTES = 8


def _send(pipe: IO[bytes], message: Request | Answer) -> None:
    """Writes the length of a message, then the message."""
    from msgspec import msgpack  # 10 ms that a merge of files does not need

    data = msgpack.encode(message)
    pipe.write(len(data).to_bytes(_LENGTH_BYTES))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> dict[str, Any] | None:
    """The next message; None at the end, also in the middle of one."""
    from msgspec import msgpack

    n_bytes = int.from_bytes(pipe.read(_LENGTH_BYTES))
    data = pipe.read(n_bytes)
    return msgpack.decode(data) if n_bytes and len(data) == n_bytes else None
