"""Bounds what a process takes that reads files of unknown origin: a size in a damaged file may ask
for anything, and a loop over it may not come to an end."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

MOST_HEAP_BYTES = 4 << 30
"""Memory of a helper process in addition to its parent's, with which it begins."""

_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)


def limit_reader(cpu_s: float) -> None:
    """Call once in a helper process, before it reads: it dies quickly and of the signal itself,
    without a stack trace that a debugger would write, and its memory and CPU time are limited."""
    for number in _CRASHES:
        signal.signal(number, signal.SIG_DFL)
    _lower(resource.RLIMIT_DATA, _heap_bytes() + MOST_HEAP_BYTES)
    _lower(resource.RLIMIT_CORE, 0)
    limit_cpu(cpu_s)


def limit_heap(files: Sequence[str], least_bytes: int) -> None:
    """Allows this process the memory that reading these files may need, in addition to its own: so
    much, and 32 times their size; MOST_HEAP_BYTES at most, and where the size of a remote file is
    not known."""
    wanted = least_bytes + 32 * sum(_n_bytes(file, MOST_HEAP_BYTES) for file in files)
    _lower(resource.RLIMIT_DATA, _heap_bytes() + min(MOST_HEAP_BYTES, wanted))


def limit_growth(files: Sequence[str], n_threads: int) -> None:
    """Bounds the memory of a process that merges files in addition to its own, which may be
    histograms, sums of which take a few times as much. Does not bound it where the size of a remote
    file is not known."""
    least, for_thread, unknown = 2 << 30, 128 << 20, 1 << 40
    largest = max((_n_bytes(file, unknown) for file in files), default=0)
    _lower(resource.RLIMIT_DATA, 4 * _heap_bytes() + least + 32 * largest + n_threads * for_thread)


def limit_cpu(more_s: float) -> None:
    """Lets this process use so much more CPU time; SIGXCPU ends it then."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime + more_s) + 1)


def cpu_limit_s(files: Sequence[str], s_per_mb: float) -> float:
    """CPU time that suffices for these files, and ends what does not come to an end. The size of a
    remote file is not known."""
    least_s, unknown_bytes = 60, 10 << 30
    return least_s + s_per_mb * sum(_n_bytes(file, unknown_bytes) for file in files) / 1e6


def _heap_bytes() -> int:
    """Memory that RLIMIT_DATA counts."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def _n_bytes(file: str, unknown: int) -> int:
    return os.stat(file).st_size if os.path.exists(file) else unknown


def _lower(limit: int, value: int) -> None:
    """Lowers the soft limit only: the next file may need a higher one."""
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
