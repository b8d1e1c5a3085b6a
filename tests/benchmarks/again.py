"""`make bench-again`: the CPU time of a changed job in the directory of its first run, over that of
the first run: 14 histograms of 14 functions, of 20 datasets of 50 files. The outputs of each are
compared with those of a run from scratch."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from command_line import report
from fileset import write_fileset
from timing import Cost, Result, format_table, measure, timed

_OBJECTS = ("Muon", "Electron", "Jet", "FatJet", "Photon")
_CODE = """
import awkward as ak
import numpy as np

def masses(objects, least):
    one, two = ak.unzip(ak.combinations(objects[objects.pt > least], 2))
    angles = np.cosh(one.eta - two.eta) - np.cos(one.phi - two.phi)
    return np.sqrt(2 * one.pt * two.pt * angles)

def sums(objects, least):
    return ak.sum(objects.pt[(objects.pt > least) & (abs(objects.eta) < 2.4)], axis=1)

def leading(objects, least):
    return ak.fill_none(ak.max(objects.pt[objects.pt > least], axis=1), 0)
"""
_KINDS = ("masses", "sums", "leading")


class _Analysis:
    """A job and its functions, as they are changed. `files`: by dataset; `n_later`: of the first
    one, which are added later."""

    def __init__(
        self, folder: Path, files: dict[str, list[str]], n_processes: int, n_later: int
    ) -> None:
        self._folder, self.files, self._n_processes = folder, files, n_processes
        first = self.files[next(iter(files))]
        self._later = [first.pop() for _ in range(n_later)]
        names = [(kind, each) for kind in _KINDS for each in _OBJECTS][:14]
        self.least = {f"{kind}_{each}".lower(): (kind, each, 5) for kind, each in names}
        self.more: list[dict[str, Any]] = []

    def write(self) -> Path:
        functions = [
            f"def {name}(events): return {kind}(events.{each}, {least})\n"
            for name, (kind, each, least) in self.least.items()
        ]
        own = self._folder / "own.py"
        own.write_text(_CODE + "".join(functions))
        axes = [{"bins": 100, "low": 0, "high": 500}]
        histograms = [
            {"label": name, "type": f"python:{own}:{name}", "kind": "histogram", "axes": axes}
            for name in self.least
        ] + self.more
        job = {
            "datasets": [
                {"name": name, "files": files, "is_data": True}
                for name, files in self.files.items()
            ],
            "modules": histograms,
            "paths": {"all": [each["label"] for each in histograms]},
            "forking": {"children": self._n_processes},
        }
        file = self._folder / "job.json"
        file.write_text(json.dumps(job))
        return file

    def run(self, name: str = "run") -> Cost:
        """Whole command."""
        shutil.rmtree(self._folder / "__pycache__", ignore_errors=True)
        command = [sys.executable, "-m", "forkrun", "run", str(self.write()), "-o",
                   str(self._folder / name), "--quiet"]  # fmt: skip
        return timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

    def check(self) -> None:
        """Raises SystemExit unless a run from scratch gives the same bytes."""
        self.run("scratch")
        first, second = (
            (self._folder / name / "output/histograms.root").read_bytes()
            for name in ("run", "scratch")
        )
        shutil.rmtree(self._folder / "scratch")
        if first != second:
            raise SystemExit("the histograms differ from those of a run from scratch")

    def run_alone(self) -> Cost:
        """The job of one file: what a start costs."""
        whole, (name, files) = self.files, next(iter(self.files.items()))
        self.files = {name: files[:1]}
        cost = self.run("alone")
        shutil.rmtree(self._folder / "alone")
        self.files = whole
        return cost

    # --- changes ----------------------------------------------------------------------------------

    def add_histogram(self) -> None:
        axes = [{"bins": 100, "low": 0, "high": 500}]
        self.more.append(
            {"label": f"more{len(self.more)}", "type": "expression:Muon_pt", "kind": "histogram",
             "axes": axes}
        )  # fmt: skip

    def edit_function(self) -> None:
        kind, each, least = self.least["sums_jet"]
        self.least["sums_jet"] = (kind, each, least + 1)

    def add_file(self) -> None:
        self.files[next(iter(self.files))].append(self._later.pop())


def main() -> None:
    """Measures the changes one after the other, so many times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fileset", default="20x50x500", metavar="NxNxN")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--children", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="for samples and outputs (default: /tmp)")
    parser.add_argument("--json", type=Path, default=Path("build/bench/again.json"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forkrun-bench-", dir=args.folder) as name:
        fileset, what = write_fileset(Path(name), args.fileset)
        result = _measured(Path(name), json.loads(fileset.read_text()), what, args)
        print(_table(result))
        decoded = _of_lzma(Path(name), args)
        print(format_table([decoded]))
        report([result, decoded], args.json)


def _of_lzma(folder: Path, args: argparse.Namespace) -> Result:
    """Event loops of a job that reads columns of LZMA again: blocks kept uncompressed, or not."""
    forkrun = [sys.executable, "-m", "forkrun"]
    sample = folder / "lzma.root"
    shape = ["--events", "200000", "--compression", "lzma:6", "--quiet"]
    subprocess.run([*forkrun, "sample", str(sample), *shape], check=True)
    names = [
        f"{each}_{key}" for each in ("Jet", "Muon", "Electron") for key in ("pt", "eta", "phi")
    ]
    axes = [{"bins": 100, "low": 0, "high": 500}]
    modules = [
        {"label": name, "type": f"expression:{name}", "kind": "histogram", "axes": axes}
        for name in names
    ]
    source = {"files": [str(sample)], "cache": str(folder / "kept")}

    def loop(is_decoded: bool) -> Cost:
        job = folder / "lzma.json"
        content = {"source": {**source, "cache_decoded": is_decoded}, "modules": modules,
                   "paths": {"all": names}, "forking": {"children": args.children}}  # fmt: skip
        job.write_text(json.dumps(content))
        run = folder / "lzma-run"
        words = ["run", str(job), "-o", str(run), "--force", "--quiet"]
        subprocess.run([*forkrun, *words], check=True, stdout=subprocess.DEVNULL)
        phases = json.loads((run / "report.json").read_text())["phases"]
        return Cost(phases["event_loop_s"], json.loads((run / "timing.json").read_text())["cpu_s"])

    loop(True)  # keeps the blocks
    ways = {"kept uncompressed": True, "uncompressed again": False}
    timers = {way: partial(loop, kept) for way, kept in ways.items()}
    return Result(
        "9 columns of LZMA: event loop", "uncompressed again", measure(timers, args.repeats)
    )


def _measured(
    folder: Path, files: dict[str, list[str]], what: str, args: argparse.Namespace
) -> Result:
    analysis = _Analysis(folder, files, args.children, args.repeats)
    analysis.run()  # indexes the files
    changes: dict[str, Callable[[], None]] = {
        "nothing": lambda: None,
        "a histogram more": analysis.add_histogram,
        "one function edited": analysis.edit_function,
        "a file more": analysis.add_file,
    }
    costs: dict[str, list[Cost]] = {
        "first run": [],
        "one file alone": [],
        **{way: [] for way in changes},
    }
    for number in range(args.repeats):
        shutil.rmtree(folder / "run")
        costs["first run"].append(analysis.run())
        costs["one file alone"].append(analysis.run_alone())
        for way, change in changes.items():
            change()
            costs[way].append(analysis.run())
            if not number:
                analysis.check()
    return Result(f"{what}, 14 histograms, {args.children} processes", "nothing", costs)


def _table(result: Result) -> str:
    """The CPU time of each, and over that of the first run."""
    first, start = (result.best(way).cpu_s or 0.0 for way in ("first run", "one file alone"))
    lines = [result.case, f"  {'':<24}{'CPU':>10}{'of first':>12}{'without start':>16}"]
    for way in result.costs:
        cpu_s = result.best(way).cpu_s or 0.0
        shares = f"{cpu_s / first:>12.1%}{(cpu_s - start) / first:>16.1%}"
        lines.append(f"  {way:<24}{cpu_s:>8.2f} s{shares}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
