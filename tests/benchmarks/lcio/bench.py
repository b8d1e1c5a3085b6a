"""`make bench-lcio`: files of LCIO against LCIO itself, where LCIO_DIR names an installation of it,
and against inflating alone. Seconds of CPU, best of several passes that take turns."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from command_line import write_figures

from forkrun import _core
from forkrun.formats.lcio import LCIO
from forkrun.studies.sample.collider.write import write_collider_sample
from forkrun.studies.sample.settings import SampleSettings
from tests.support.lcio_outputs import select_lcio, source_of

HERE = Path(__file__).parent
BARS = (
    ("all columns", "eager", 2.5),
    ("all columns", "inflating", 0.75),
    ("all columns", "zlib", 0.75),
    ("all columns, 2 threads", "all columns", 1.9),
    ("three columns", "inflating", 0.9),
    ("header", "records", 0.5),
    ("skim", "eager skim", 10),
    ("merge", "copy", 0.9),
    ("1 ms, 2 children", "1 ms, 1 child", 1.95),
)
"""What is compared with what, and how much faster it should be at least."""
MODULE = """
import time

from forkrun import Analyzer

class Work(Analyzer):
    consumes = ["PandoraPFOs.momentum.x", "PandoraPFOs.momentum.y", "PandoraPFOs.energy"]
    concurrency = "reentrant"
    def analyze(self, block):
        end_s = time.thread_time() + 1e-3 * len(block)
        while time.thread_time() < end_s:
            pass
"""


class Bench:
    """One sample, and the seconds of each way, of every pass."""

    def __init__(self, folder: Path, n_events: int, build: Path) -> None:
        self.folder, self.n_events = folder, n_events
        settings = SampleSettings(n_events=n_events)
        (self.file,) = write_collider_sample(folder / "sample.slcio", settings)
        names = [name for name, _ in _core.OpenLcio(str(self.file)).index()["branches"]]
        self.selected = select_lcio(self.file, folder / "skim.slcio", names, every=10)
        self.columns = build / "forkrun/formats/lcio/bench_lcio"
        self.of_lcio = self._compile_of_lcio()
        self.costs: dict[str, list[float]] = {}

    def passes(self, n: int) -> None:
        """Each way `n` times, in turns."""
        for _ in range(n):
            self._note(self.columns, self.file)
            if self.of_lcio:
                self._note(self.of_lcio, self.file, self.folder / "eager.slcio")
            self._timed("skim", self._skim)
            self._timed("merge", lambda: LCIO.merge([str(self.file)] * 2, self._path("merged")))
            self._timed("copy", self._copy)
            for n_children, way in ((1, "1 ms, 1 child"), (2, "1 ms, 2 children")):
                self.costs.setdefault(way, []).append(self._job(n_children))

    def _compile_of_lcio(self) -> Path | None:
        prefix = Path(os.environ.get("LCIO_DIR", ""))
        if not (prefix / "include/lcio.h").is_file():
            print("SKIPPED: rows of LCIO itself: LCIO_DIR names no installation of it")
            return None
        program, lib = self.folder / "lcio_passes", prefix / "lib"
        subprocess.run(
            ["g++", "-std=c++17", "-O2", "-w", f"-I{prefix}/include", HERE / "lcio_passes.cpp",
             "-o", program, f"-L{lib}", f"-Wl,-rpath,{lib}", "-llcio", "-lsio"],
            check=True,
        )  # fmt: skip
        return program

    def _note(self, *command: Path) -> None:
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for way, seconds in (line.split("\t") for line in text.splitlines()):
            self.costs.setdefault(way, []).append(float(seconds))

    def _timed(self, way: str, work: Callable[[], object]) -> None:
        start_s = _cpu_s()
        work()
        self.costs.setdefault(way, []).append(_cpu_s() - start_s)

    def _path(self, name: str) -> str:
        return str(self.folder / f"{name}.slcio")

    def _skim(self) -> None:
        """Finding the events, reading their headers, copying each tenth."""
        LCIO.make_outputs([self.selected], source_of(self.file))

    def _copy(self) -> None:
        """The bytes of the merge, through this process as well."""
        with open(self._path("copy"), "wb") as to:
            for _ in range(2):
                with open(self.file, "rb") as source:
                    shutil.copyfileobj(source, to, 8 << 20)

    def _job(self, n_children: int) -> float:
        """The child that works most, where each event is read and takes 1 ms more."""
        (self.folder / "work.py").write_text(MODULE)
        job = {
            "source": {"files": [str(self.file)]},
            "modules": [{"label": "work", "type": "python:work.py:Work"}],
            "paths": {"main": ["work"]},
        }
        (self.folder / "job.json").write_text(json.dumps(job))
        run = self.folder / "run"
        command = [sys.executable, "-m", "forkrun", "run", "job.json", "-o", run, "--force", "-q"]
        settings = ["--children", str(n_children), "--threads", "1"]
        subprocess.run([*command, *settings], check=True, cwd=self.folder)
        children = json.loads((run / "report.json").read_text())["children"]
        return float(max(child["cpu_s"] for child in children))


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1500, help="of the sample (1500)")
    parser.add_argument("--passes", type=int, default=5, help="the best of so many counts (5)")
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="of the C++ program")
    parser.add_argument("--json", type=Path, default=Path("build/bench/lcio.json"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forkrun-bench-") as name:
        bench = Bench(Path(name), args.events, args.build)
        index = _core.OpenLcio(str(bench.file)).index()
        size_kb = bench.file.stat().st_size / args.events / 1e3
        print(f"{args.events} events, {size_kb:.0f} kB each, {len(index['branches'])} columns\n")
        bench.passes(args.passes)
    best = {way: min(costs) for way, costs in bench.costs.items()}
    for way, seconds in best.items():
        print(f"{way:26}{1e6 * seconds / args.events:10.0f} µs an event")
    print()
    ratios = {f"{w} : {peer}": (best[peer] / best[w], bar) for w, peer, bar in BARS if peer in best}
    for pair, (ratio, bar) in ratios.items():
        print(f"{pair:44}{ratio:8.2f} ×  (at least {bar:g}){'' if ratio >= bar else '  missed'}")
    write_figures(args.json, {"costs_s": bench.costs, "ratios": ratios})


if __name__ == "__main__":
    main()
