"""Reads files of unknown origin in a process of their own: where a damaged one crashes a library,
or does not come to an end, that file is named and this process continues."""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import struct
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from forkrun.base.wait_status import describe_status
from forkrun.errors import ForkrunError, InputError, StoppedError
from forkrun.fork.failure import FailureNote, as_forkrun_error
from forkrun.fork.forking import Process
from forkrun.fork.once_crew import OnceCrew
from forkrun.fork.supervisor import Supervisor

MOST_HEAP_BYTES = 4 << 30
"""What a helper process may have of its own: a size in a damaged file may ask for anything."""

FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals that say nothing about the file: a user sent them, or memory was short."""

TRIES = 3
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)

_NO_MEMORY = 101  # exit code: any other report needs memory

Work = Callable[[Callable[[int], None]], Any]
"""Is given what takes the number of files done; gives something JSON-ready."""


def prepare_helper() -> None:
    """Call once in a helper process, before it reads: it dies quickly and of the signal itself,
    without a stack trace that a debugger would write, and its memory is limited."""
    for number in _CRASHES:
        signal.signal(number, signal.SIG_DFL)
    _lower(resource.RLIMIT_DATA, MOST_HEAP_BYTES)
    _lower(resource.RLIMIT_CORE, 0)


def limit_heap(files: Sequence[str], least_bytes: int) -> None:
    """Lets this process have what reading these files may need: so much, and 32 times the largest
    of them; MOST_HEAP_BYTES at most, and where the size of a remote file is not known."""
    known = [least_bytes + 32 * _n_bytes(file, MOST_HEAP_BYTES) for file in files]
    _lower(resource.RLIMIT_DATA, min(MOST_HEAP_BYTES, max(known, default=least_bytes)))


def limit_growth(files: Sequence[str], n_threads: int) -> None:
    """Bounds what a process that merges files takes beside what it has: a size in a damaged file
    may ask for anything. What it has may be histograms, sums of which take a few times as much.
    Does not bound it where the size of a remote file is not known."""
    least, for_thread, unknown = 2 << 30, 128 << 20, 1 << 40
    largest = max((_n_bytes(file, unknown) for file in files), default=0)
    now = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    _lower(resource.RLIMIT_DATA, 4 * now + least + 32 * largest + n_threads * for_thread)


def _n_bytes(file: str, unknown: int) -> int:
    return os.stat(file).st_size if os.path.exists(file) else unknown


def limit_cpu(more_s: float) -> None:
    """Lets this process use so much more CPU time; SIGXCPU ends it then."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime + more_s) + 1)


def _lower(limit: int, value: int) -> None:
    """Lowers the soft limit only: the next file may need a higher one."""
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def describe_death(exit_code: int) -> str:
    """How a process that was to read a file has ended, for the error that names the file."""
    if exit_code == _NO_MEMORY:
        return "more memory is needed than a helper process may have; is the file damaged?"
    if exit_code == -signal.SIGXCPU:
        return "reading it does not come to an end; is the file damaged?"
    return f"the process that read it died: {describe_status(exit_code)}; is the file damaged?"


def contained(
    work: Work,
    files: Sequence[str],
    cpu_s: float,
    progress: Callable[[int], None] = lambda _: None,
) -> Any:
    """What `work` gives, done in a forked process within `cpu_s` of CPU time. Raises what it
    raises, StoppedError if this process gets a signal, and InputError with the name of the file at
    which the process died. Call it in a process with one thread."""
    attempt = 0
    while True:
        attempt += 1
        with tempfile.TemporaryFile() as answer:
            trial = _Trial(work, cpu_s, progress, answer)
            exit_code = trial.run()
            if exit_code == 0:
                return trial.result()
        if failure := trial.failure():
            raise failure
        if -exit_code not in FROM_OUTSIDE or attempt == TRIES:
            file = files[min(trial.n_done, len(files) - 1)]
            raise InputError(f"{file}: {describe_death(exit_code)}")


class _Trial:
    """One process that does the work. `answer`: a file that both processes have open."""

    def __init__(
        self, work: Work, cpu_s: float, progress: Callable[[int], None], answer: IO[bytes]
    ) -> None:
        self._work, self._cpu_s, self._progress = work, cpu_s, progress
        self._note = FailureNote()
        self._count = mmap.mmap(-1, 8)
        self._answer = answer

    @property
    def n_done(self) -> int:
        """Files, as the process has counted them."""
        number: int = struct.unpack("q", self._count[:])[0]
        return number

    def run(self) -> int:
        crew = OnceCrew([0], lambda: self._progress(self.n_done))
        Supervisor(lambda _: Process(self._body, Path(os.devnull)), crew).run()
        self._progress(self.n_done)
        if crew.signal_number:
            name = signal.Signals(crew.signal_number).name
            raise StoppedError(f"stopped by signal {name}", crew.signal_number)
        return crew.exit_codes[0]

    def _body(self) -> int:
        prepare_helper()
        limit_cpu(self._cpu_s)
        try:
            answer = self._work(lambda n: self._count.__setitem__(slice(None), struct.pack("q", n)))
        except MemoryError:
            return _NO_MEMORY
        except Exception as error:
            self._note.write(as_forkrun_error(error))
            return 1
        self._answer.write(json.dumps(answer).encode())
        self._answer.flush()
        return 0

    def failure(self) -> ForkrunError | None:
        return self._note.read()

    def result(self) -> Any:
        self._answer.seek(0)
        return json.load(self._answer)


def cpu_limit_s(files: Sequence[str], s_per_mb: float) -> float:
    """CPU time that suffices for these files, and ends what does not come to an end. The size of a
    remote file is not known."""
    least_s, unknown_bytes = 60, 10 << 30
    return least_s + s_per_mb * sum(_n_bytes(file, unknown_bytes) for file in files) / 1e6
