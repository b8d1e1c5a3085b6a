"""Whether this process may fork: it has one thread, no connection to another machine and no GPU."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from forkrun.errors import ForkSafetyError
from forkrun.fork.hazards import Hazard, is_of_python, lasting_hazards
from forkrun.fork.steps import origin_of
from forkrun.fork.thread_owner import owner_of

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
    "libXrdCl": "close remote files before the fork; children open their own",
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
