"""LCIO itself, where the environment says that it is installed: LCIO_DIR."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


class Lcio:
    """An installation of LCIO, and a program that prints what it reads."""

    def __init__(self, prefix: Path, folder: Path) -> None:
        self._prefix, self._folder = prefix, folder
        self._program = self.compiled(HERE / "lcio_sums.cpp")

    @classmethod
    def found(cls, folder: Path) -> Lcio:
        """The one that LCIO_DIR names; without it the test is skipped. `folder`: of programs."""
        prefix = Path(os.environ.get("LCIO_DIR", ""))
        if not (prefix / "include/lcio.h").is_file():
            pytest.skip("LCIO_DIR names no installation of LCIO: docs/formats.md")
        return cls(prefix, folder)

    def compiled(self, source: Path) -> Path:
        """A program that is linked with LCIO."""
        program, lib = self._folder / source.stem, self._prefix / "lib"
        command: list[str | Path] = ["g++", "-std=c++17", "-O2", "-w", f"-I{self._prefix}/include"]
        command += [source, "-o", program, f"-L{lib}", f"-Wl,-rpath,{lib}", "-llcio", "-lsio"]
        subprocess.run(command, check=True)
        return program

    def run(self, name: str, *arguments: Any) -> str:
        """What one of its own programs prints."""
        return _output(self._prefix / "bin" / name, *arguments)

    def sums(self, file: Path) -> Any:
        """What it reads of a file: runs, events, and of each collection sums of its members."""
        return json.loads(_output(self._program, file))


def _output(*command: Any) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done.stdout
