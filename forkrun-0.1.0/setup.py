"""Builds the C++ libraries with CMake, into the package; the rest is in pyproject.toml.

The environment may set FORKRUN_BUILD_DIR (kept between builds), FORKRUN_TESTS=ON (the C++ tests are
built there, too), FORKRUN_WERROR=ON (warnings are errors) and FORKRUN_UNITY=OFF (each source is
compiled by itself)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
BUILD_TOOLS = {"cmake": "CMake", "c++": "a C++ compiler (g++ 12 or newer)"}


class CMakeBuild(build_ext):
    """One CMake build makes the extension, its libraries and the headers for plugins."""

    def run(self) -> None:
        missing = [name for tool, name in BUILD_TOOLS.items() if shutil.which(tool) is None]
        if missing:
            raise SystemExit(f"forkrun cannot be built: {' and '.join(missing)} not found")
        build = self.build_folder()
        prefix = HERE if self.inplace else Path(self.build_lib).resolve()
        self.cmake("-S", str(HERE / "cpp"), "-B", str(build), *self.options(build))
        self.cmake("--build", str(build), "--parallel", str(os.cpu_count() or 1))
        self.cmake("--install", str(build), "--prefix", str(prefix))

    def build_folder(self) -> Path:
        kept = os.environ.get("FORKRUN_BUILD_DIR")
        folder = Path(kept or self.build_temp).resolve()
        if not kept:  # pip's environment for building is gone: forget the paths of its tools
            (folder / "CMakeCache.txt").unlink(missing_ok=True)
        return folder

    def options(self, build: Path) -> list[str]:
        options = [
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DFORKRUN_TESTS={os.environ.get('FORKRUN_TESTS', 'OFF')}",
            f"-DFORKRUN_WERROR={os.environ.get('FORKRUN_WERROR', 'OFF')}",
            f"-DFORKRUN_UNITY={os.environ.get('FORKRUN_UNITY', 'ON')}",
        ]
        if self.inplace:  # the package is not next to ROOT
            options.append(f"-DFORKRUN_EXTRA_RPATH={sysconfig.get_paths()['platlib']}/ROOT/lib")
        if shutil.which("ninja") and not (build / "CMakeCache.txt").exists():
            options += ["-G", "Ninja"]
        return options

    @staticmethod
    def cmake(*arguments: str) -> None:
        subprocess.run(["cmake", *arguments], check=True)

    def get_outputs(self) -> list[str]:
        return []


setup(ext_modules=[Extension("forkrun._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
