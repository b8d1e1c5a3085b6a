"""Fills of one entry at a time by threads: those of `forkrun measure histograms`, and ROOT's, of
`fills.cpp`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

from forkrun import _core

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from compile import root_folder  # noqa: E402

OF_CORE = {"copy": "copy", "lock": "lock", "buffer": "buffer", "forkrun": "exact",
           "one_by_one": "one_by_one"}  # fmt: skip
WAYS = (*OF_CORE, "TH1::Fill", "TH1::FillN")
BINS = ((1, 10), (1, 100), (1, 10_000), (2, 100), (2, 1000))
"""Axes, and bins of each; `fills.cpp` has the same."""


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
    program, root = folder / "fills", root_folder()
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-w", f"-I{root}/include", str(HERE / "fills.cpp"), "-o",
         str(program), f"-L{root}/lib", f"-Wl,-rpath,{root}/lib,--allow-shlib-undefined",
         "-lHist", "-lMathCore", "-lCore", "-lpthread"],
        check=True,
    )  # fmt: skip
    return program


def measure(program: Path, n_fills: int, n_turns: int, threads: list[int]) -> list[Rate]:
    """Ways of the core take turns, in an order drawn at random: memory that one has just given back
    is taken faster."""
    entries, random, rates = _core.FillEntries(n_fills), Random(1), list[Rate]()
    for (n_axes, n_bins), is_weighted, n_threads in product(BINS, (False, True), threads):
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in OF_CORE}
        for _ in range(n_turns):
            for way in random.sample([*OF_CORE], len(OF_CORE)):
                times[way].append(
                    entries.time_fills(
                        way=OF_CORE[way], n_axes=n_axes, n_bins=n_bins, is_weighted=is_weighted,
                        threads=n_threads,
                    )
                )  # fmt: skip
        for way, of_way in times.items():
            wall_s, cpu_s = (min(time[n] for time in of_way) for n in (0, 1))
            case = n_axes, n_bins, is_weighted, n_threads
            rates.append(Rate(*case, way, 1e-6 * n_fills / wall_s, 1e9 * cpu_s / n_fills))
    return rates + _of_root(program, n_fills, n_turns)


def _of_root(program: Path, n_fills: int, n_turns: int) -> list[Rate]:
    """In one thread."""
    command = [str(program), str(n_fills), str(n_turns)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rates = []
    for line in text.splitlines():
        n_axes, n_bins, is_weighted, way, *values = line.split()
        rates.append(
            Rate(int(n_axes), int(n_bins), is_weighted == "1", 1, way, *map(float, values))
        )
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
