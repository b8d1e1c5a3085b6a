"""Host and software of a job, recorded at its start, since its report may be made elsewhere."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from forkrun import _core
from forkrun.base.caller import command_of_user
from forkrun.base.input_files.urls import hide_secrets
from forkrun.monitoring.process_reading import PROC
from forkrun.rundir.build import build_identity

PACKAGES = ("numpy", "awkward")
"""Packages whose versions are recorded if imported: the job's are imported by then."""


def describe_host(proc: Path = PROC) -> dict[str, Any]:
    """Host, command line and versions, JSON-ready."""
    return {
        "name": platform.node(),
        "cpu": cpu_name(proc),
        "n_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "kernel": f"{platform.system()} {platform.release()}",
        "command": [hide_secrets(word) for word in command_of_user()],
        "directory": str(Path.cwd()),
        "versions": {
            "python": platform.python_version(),
            "root": _core.root_version(),
            "forkrun": build_identity(),
            **{name: sys.modules[name].__version__ for name in PACKAGES if name in sys.modules},
        },
    }


def cpu_name(proc: Path = PROC) -> str:
    """CPU model as named by the kernel, else the architecture."""
    try:
        lines = (proc / "cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    pairs = (line.partition(":") for line in lines)
    names = (value.strip() for key, _, value in pairs if key.strip() == "model name")
    return next(names, "") or platform.machine()
