"""Keeps libraries from starting threads in the parent. Call before NumPy is imported."""

from __future__ import annotations

import os

_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def limit_library_threads() -> None:
    """Gives each library one thread, overriding the environment: forkrun's own threads do the work,
    and the parent cannot fork while other threads run."""
    for name in _VARIABLES:
        os.environ[name] = "1"
    # Arrow's jemalloc, as other settings left it, cleans up in a thread of its own.
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime would report its use in a thread
