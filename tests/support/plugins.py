"""Libraries of C++ modules that are built outside the project, as users build theirs."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import forkrun
from tests.support.jobs import ROOT

PACKAGE = Path(forkrun.__file__).parent


def built(source: Path, *options: str) -> Path:
    """The folder in which the libraries of a folder of sources are built, of which what has changed
    is built again: by one of the processes that share the tests, and from what ccache keeps where
    there is one. Compiling without optimisation takes half the time."""
    version = "".join(map(str, sys.version_info[:2]))
    folder = ROOT / f"build/tests/{source.parent.name}-{source.name}-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            _build(source, folder, options)
        except subprocess.CalledProcessError:  # it may be of another compiler or place
            shutil.rmtree(folder, ignore_errors=True)
            _build(source, folder, options)
    return folder


def _build(source: Path, folder: Path, options: tuple[str, ...]) -> None:
    options = (
        f"-Dforkrun_DIR={PACKAGE / 'lib/cmake/forkrun'}",
        "-DCMAKE_BUILD_TYPE=None",
        *options,
    )
    if ccache := shutil.which("ccache"):
        options = (f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}", *options)
    configure = ["cmake", "-S", str(source), "-B", str(folder), *options]
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(folder)], check=True, capture_output=True)
