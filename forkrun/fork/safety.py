"""Whether this process may fork: it has one thread, no connection to another machine and no GPU."""

from __future__ import annotations

import os
import re
import struct
import time
from bisect import bisect_right
from collections import Counter
from pathlib import Path

from msgspec import Struct

from forkrun.errors import ForkSafetyError
from forkrun.fork.hazards import Hazard, is_of_python, lasting_hazards, origin_of

_WHY = {
    "thread": "a lock that it holds would stay locked in the children for ever",
    "connection": "parent and children would all speak on it at once",
    "gpu": "a GPU's context does not survive a fork",
}
_REMEDY = "start it in post_fork(child) or begin_job() of a module"
# Libraries with threads of their own, and how each is made to wait.
_REMEDIES = {
    "libtorch": "torch.set_num_threads(1), or use the model first in begin_job()",
    "onnxruntime": "SessionOptions with intra_op_num_threads = inter_op_num_threads = 1",
    "libtensorflow": "load the model in begin_job()",
    "libarrow": "set JE_ARROW_MALLOC_CONF=background_thread:false, and read with use_threads=False",
    "libXrdCl": "its threads stay when files are closed: open them in begin_job(), or have another"
    " process read them before the fork (xrdcp)",
    "libcuda": "make the GPU's context in post_fork(child)",
    "libopenblas": "set OPENBLAS_NUM_THREADS=1",
    "libscipy_openblas": "set OPENBLAS_NUM_THREADS=1",
    "libmkl": "set MKL_NUM_THREADS=1",
    "libgomp": "set OMP_NUM_THREADS=1",
    "libiomp": "set OMP_NUM_THREADS=1",
    "libomp": "set OMP_NUM_THREADS=1",
    "libtbb": "call nothing that uses oneTBB before begin_job()",
}


def check_safe_to_fork(proc: Path = Path("/proc/self")) -> None:
    """Raises ForkSafetyError with every thread, connection and GPU, where each came from, and what
    to do about it."""
    if not (proc / "task").exists():
        raise ForkSafetyError(
            "cannot fork: /proc is not there, which tells whether this process has other threads;"
            " mount it (in a container), or take --children 0"
        )
    hazards = lasting_hazards(proc)
    if hazards:
        counts = Counter(hazard.kind for hazard in hazards)
        what = " and ".join(_count(kind, n) for kind, n in counts.items())
        lines = dict.fromkeys(_describe(hazard) for hazard in hazards)  # one for a whole pool
        raise ForkSafetyError("\n".join([f"cannot fork: the parent has {what}", *lines]))


def _count(kind: str, n: int) -> str:
    words = {
        "thread": f"{n} other thread{'s' * (n > 1)}",
        "connection": f"{n} connection{'s' * (n > 1)} to other machines",
        "gpu": f"{n} open GPU device{'s' * (n > 1)}",
    }
    return words[kind]


def _describe(hazard: Hazard) -> str:
    """`thread worker of libgomp.so.1, since module "jets" was constructed: …; set …=1`."""
    library = None
    if hazard.kind == "thread" and not is_of_python(hazard):
        library = owner_of(hazard.id) or "a library"
    of = f" of {library}" if library else ""
    origin = origin_of(hazard) or "the start of the program"
    remedy = next((text for name, text in _REMEDIES.items() if name in (library or "")), _REMEDY)
    return f"{hazard.kind} {hazard.name}{of}, since {origin}: {_WHY[hazard.kind]}; {remedy}"


_PROC = Path("/proc/self")
_STACK_BYTES = 1 << 20
_PATIENCE_S = 1.0
# Every thread begins in these; they say nothing about what started it.
_COMMON = re.compile(r"/(libc|libpthread|ld-linux|libstdc\+\+|libpython|python)[^/]*$")


class _Mapping(Struct, frozen=True):
    first: int
    last: int
    executable: bool
    file: str


def owner_of(thread: str) -> str | None:
    """Name of the library whose function a sleeping thread was started with: the outermost return
    address on its stack that is not of the C library or Python. None if that cannot be seen."""
    try:
        mappings = _mappings()
        words = _stack(_stack_pointer(thread), mappings)
    except (OSError, IndexError, StopIteration):  # it runs, it has ended, or we may not look
        return None
    firsts = [mapping.first for mapping in mappings]
    for word in reversed(words):
        mapping = mappings[bisect_right(firsts, word) - 1]
        if mapping.executable and word < mapping.last and not _COMMON.search(mapping.file):
            return mapping.file.rpartition("/")[2]
    return None


def _stack_pointer(thread: str) -> int:
    """Stack pointer of a thread once it waits: a pool's threads look for work for a while first."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        fields = (_PROC / "task" / thread / "syscall").read_text().split()
        if len(fields) > 2 or time.monotonic() > deadline_s:
            return int(fields[-2], 16)
        time.sleep(0.01)


def _mappings() -> list[_Mapping]:
    """Mappings of this process, in order of addresses."""
    found = []
    for line in (_PROC / "maps").read_text().splitlines():
        places, access, _, _, _, *name = line.split(maxsplit=5)
        first, last = (int(place, 16) for place in places.split("-"))
        file = name[0] if name and name[0].startswith("/") else ""
        found.append(_Mapping(first, last, "x" in access and bool(file), file))
    return found


def _stack(pointer: int, mappings: list[_Mapping]) -> tuple[int, ...]:
    """Words from the stack pointer up to the stack's end."""
    mapping = next(m for m in mappings if m.first <= pointer < m.last)
    with open(_PROC / "mem", "rb", buffering=0) as memory:
        first = pointer & ~7
        size = min(mapping.last - first, _STACK_BYTES)
        stack = os.pread(memory.fileno(), size, first)
    return struct.unpack(f"={len(stack) // 8}Q", stack)
