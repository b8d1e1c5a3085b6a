"""Fills of one entry at a time by threads: runs `fills.cpp`, compiled against the core."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import forkrun

HERE = Path(__file__).parent
PACKAGE = Path(forkrun.__file__).parent
sys.path.insert(0, str(HERE.parent))

from compile import root_folder  # noqa: E402

WAYS = ("copy", "lock", "buffer", "forkrun", "one_by_one", "TH1::Fill", "TH1::FillN")


@dataclass(frozen=True)
class Rate:
    """`fills_per_s`: in millions, by the clock; `cpu_ns`: of all threads, for each fill."""

    n_axes: int
    n_bins: int
    is_weighted: bool
    n_threads: int
    way: str
    fills_per_s: float
    cpu_ns: float

    @property
    def case(self) -> tuple[int, int, bool, int]:
        return self.n_axes, self.n_bins, self.is_weighted, self.n_threads


def compile_fills(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program, root, lib = folder / "fills", root_folder(), PACKAGE / "lib"
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-w", f"-I{PACKAGE / 'include'}", f"-I{root}/include",
         str(HERE / "fills.cpp"), "-o", str(program), f"-L{lib}", f"-L{root}/lib",
         f"-Wl,-rpath,{lib},-rpath,{root}/lib,--allow-shlib-undefined",
         "-lforkrun_core", "-lforkrun_concurrency", "-lHist", "-lMathCore", "-lCore", "-lpthread"],
        check=True,
    )  # fmt: skip
    return program


def measure(program: Path, n_fills: int, n_turns: int, threads: list[int]) -> list[Rate]:
    command = [str(program), str(n_fills), str(n_turns), *map(str, threads)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rates = []
    for line in text.splitlines():
        n_axes, n_bins, is_weighted, n_threads, way, *values = line.split()
        numbers = int(n_axes), int(n_bins), is_weighted == "1", int(n_threads)
        rates.append(Rate(*numbers, way, *map(float, values)))
    return rates


def table(rates: list[Rate]) -> str:
    """Millions of fills per second, and ns of CPU time for each fill; last the CPU time of the best
    of the published ways over forkrun's: above 1, forkrun is faster."""
    titles = (*WAYS, "best / forkrun")
    lines = [f"{'million fills/s (CPU ns a fill)':32}" + "".join(f"{each:>16}" for each in titles)]
    for case in dict.fromkeys(rate.case for rate in rates):
        n_axes, n_bins, is_weighted, n_threads = case
        bins = f"{n_bins} x {n_bins}" if n_axes == 2 else str(n_bins)
        of_case = {rate.way: rate for rate in rates if rate.case == case}
        cells = [
            f"{of_case[w].fills_per_s:.1f} ({of_case[w].cpu_ns:.1f})" if w in of_case else ""
            for w in WAYS
        ]
        title = f"{bins} bins{', weights' * is_weighted}, {n_threads} threads"
        best = min(of_case[way].cpu_ns for way in ("copy", "lock", "buffer"))
        ratio = f"{best / of_case['forkrun'].cpu_ns:.2f}"
        lines.append(f"{title:32}" + "".join(f"{cell:>16}" for cell in (*cells, ratio)))
    return "\n".join(lines)
