"""Libraries of C++ modules that are built outside the project, as users build theirs."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import forkrun

PACKAGE = Path(forkrun.__file__).parent


def built(source: Path, places: pytest.TempPathFactory, *options: str) -> Path:
    """The folder in which the libraries of a folder of sources are built: once for all processes
    that share the tests, and from what ccache keeps where there is one. Compiling without
    optimisation takes half the time."""
    shared = places.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / f"built-{source.parent.name}-{source.name}"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _build(source, folder, options)
            (folder / "done").touch()
    return folder


def _build(source: Path, folder: Path, options: tuple[str, ...]) -> None:
    options = (
        f"-Dforkrun_DIR={PACKAGE / 'lib/cmake/forkrun'}",
        "-DCMAKE_BUILD_TYPE=None",
        *options,
    )
    if ccache := shutil.which("ccache"):
        options = (f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}", *options)
    for command in (
        ["cmake", "-S", str(source), "-B", str(folder), *options],
        ["cmake", "--build", str(folder)],
    ):
        subprocess.run(command, check=True, capture_output=True)
