"""Compiles the benchmarks' C++ programs against the ROOT that forkrun itself uses."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = (
    "Core", "RIO", "Net", "Hist", "Graf", "Tree", "TreePlayer", "MathCore", "Thread", "Imt",
    "MultiProc", "ROOTDataFrame", "ROOTNTuple", "ROOTVecOps",
)  # fmt: skip


def root_folder() -> Path:
    """Where ROOT's include/, lib/ and bin/ are."""
    spec = importlib.util.find_spec("ROOT")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the benchmarks need the ROOT package that forkrun depends on")
    return Path(spec.submodule_search_locations[0])


def compile_program(name: str, folder: Path) -> Path:
    """`NAME.cpp` as an optimised program in `folder`, made anew if the source is newer."""
    source, program, root = HERE / f"{name}.cpp", folder / name, root_folder()
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    libraries = [f"-l{library}" for library in LIBRARIES]
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-w", f"-I{root}/include", str(source), "-o", str(program),
         f"-L{root}/lib", f"-Wl,-rpath,{root}/lib,--as-needed,--allow-shlib-undefined", *libraries],
        check=True,
    )  # fmt: skip
    return program
