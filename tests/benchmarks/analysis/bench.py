"""`make bench-analysis`: a columnar Python analysis with default settings, whole commands side by
side: forkrun, coffea (in an environment of its own) and a plain loop of uproot. The histograms of
all are compared, bin by bin. And functions after a filter, against the same without it."""

from __future__ import annotations

import argparse
import json
import pickle
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import uproot

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from coffea_environment import coffea_environment  # noqa: E402
from command_line import report  # noqa: E402
from fileset import write_fileset  # noqa: E402
from timing import Cost, Result, format_table, measure, timed  # noqa: E402

from forkrun.studies.sample.settings import SampleSettings  # noqa: E402
from forkrun.studies.sample.write import write_sample  # noqa: E402


def main() -> None:
    """Measures each number of events, with each length of lumis and number of processes."""
    args = _arguments()
    python = coffea_environment(args.environment)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="forkrun-bench-", dir=args.folder) as name:
        for text in args.filesets:
            fileset, what = write_fileset(Path(args.keep or name), text)
            for n_processes in (1, 2):
                case = _Case(fileset, what, n_processes, python, Path(name))
                results += case.measure(args.repeats)
                print(format_table(results[-2:]), flush=True)
            if not args.keep:
                shutil.rmtree(fileset.parent)
        for n_events in args.events:
            for per_lumi in args.per_lumi:
                file = _sample(Path(args.keep or name), n_events, per_lumi)
                for n_processes in (1, 2):
                    what = f"{n_events:,} events, lumis of {per_lumi:,}"
                    case = _Case(file, what, n_processes, python, Path(name))
                    results += case.measure(args.repeats)
                    print(format_table(results[-2:]), flush=True)
                if not args.keep:
                    file.unlink()
        file = _sample(Path(args.keep or name), args.filtered, 5000)
        for percent, microseconds in ((5, 20), (90, 0)):
            results.append(_after_filter(file, Path(name), percent, microseconds, args.repeats))
            print(format_table(results[-1:]), flush=True)
    report(results, args.json)


def _after_filter(
    file: Path, folder: Path, percent: int, microseconds: int, repeats: int
) -> Result:
    """The event loop with a filter that keeps so many percent, and without."""

    def loop(kept: int) -> Cost:
        run = folder / "after-filter"
        program = HERE / "after_filter.py"
        command = [sys.executable, program, file, run, str(kept), str(microseconds)]
        subprocess.run(command, check=True)
        summary = json.loads((run / "report.json").read_text())
        return Cost(summary["phases"]["event_loop_s"], None)

    ways = {f"after a filter of {percent} %": percent, "without": 100}
    timers = {way: partial(loop, kept) for way, kept in ways.items()}
    what = f"{microseconds} µs for each event" if microseconds else "whole columns"
    return Result(f"a function of {what}: event loop", "without", measure(timers, repeats))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--per-lumi", type=int, nargs="+", default=[5000], help="events of a lumi")
    parser.add_argument(
        "--filesets", nargs="*", default=["20x50x20000", "20x50x500"], metavar="NxNxN",
        help="datasets, files of each, and events of a file, in lumis of 100 that have the same"
        " numbers in each dataset",
    )  # fmt: skip
    parser.add_argument("--filtered", type=int, default=500_000, help="events after a filter")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for samples and outputs (default: /tmp)")
    parser.add_argument("--keep", type=Path, help="keep samples here, and use those that are there")
    parser.add_argument("--environment", type=Path, default=Path("build/coffea"))
    parser.add_argument("--json", type=Path, default=Path("build/bench/analysis.json"))
    args: argparse.Namespace = parser.parse_args()
    return args


def _sample(folder: Path, n_events: int, per_lumi: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"analysis-{n_events}-{per_lumi}.root"
    if not file.exists():
        print(f"writing {n_events:,} events in lumis of {per_lumi:,}", flush=True)
        n_lumis = max(n_events // per_lumi, 1)
        n_runs = 2 if n_lumis > 1 else 1
        write_sample(
            file,
            SampleSettings(
                n_events=n_events, n_runs=n_runs, lumis_per_run=n_lumis // n_runs,
                cluster=50_000,
            ),
        )  # fmt: skip
    return file


class _Case:
    """One input, a file or a fileset, and one number of processes."""

    def __init__(self, file: Path, what: str, n_processes: int, coffea: Path, folder: Path) -> None:
        self._file, self._n_processes, self._coffea, self._folder = (
            file, n_processes, coffea, folder,
        )  # fmt: skip
        self._name = f"{what}, {n_processes} process" + ("es" if n_processes > 1 else "")
        self._loops: dict[str, list[Cost]] = {}

    def measure(self, repeats: int) -> list[Result]:
        """Whole commands, and the event loops alone."""
        timers = {"forkrun": self._forkrun, "coffea": self._with_coffea}
        if self._n_processes == 1 and not self._is_fileset:
            timers["loop of uproot"] = self._with_uproot
        costs = measure(timers, repeats)
        notes = {"histograms": self._compared()}
        loops = {way: measured[1:] for way, measured in self._loops.items()}
        return [
            Result(f"{self._name}: whole command", "coffea", costs, notes),
            Result(f"{self._name}: event loop alone", "coffea", loops),
        ]

    @property
    def _is_fileset(self) -> bool:
        return self._file.suffix == ".json"

    def _forkrun(self) -> Cost:
        run = self._folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        job, files = HERE / "job.toml", [self._file]
        if self._is_fileset:
            job, files = self._folder / "job.toml", []
            text = (HERE / "job.toml").read_text().replace("python:", f"python:{HERE}/")
            job.write_text(f'datasets = "{self._file}"\n{text}')
        command = [sys.executable, "-m", "forkrun", "run", job, *files,
                   "-o", run, "--quiet", "--children", str(self._n_processes)]  # fmt: skip
        cost = timed(lambda: subprocess.run(command, check=True))
        phases = json.loads((run / "report.json").read_text())["phases"]
        self._loops.setdefault("forkrun", []).append(Cost(phases["event_loop_s"], None))
        return cost

    def _with_coffea(self) -> Cost:
        command = [self._coffea, HERE / "with_coffea.py", self._file, self._folder / "coffea.pkl",
                   "--workers", str(self._n_processes)]  # fmt: skip
        return self._timed("coffea", command)

    def _with_uproot(self) -> Cost:
        command = [sys.executable, HERE / "with_uproot.py", self._file, self._folder / "uproot.pkl"]
        return self._timed("loop of uproot", command)

    def _timed(self, way: str, command: list[Any]) -> Cost:
        text: list[str] = []
        cost = timed(
            lambda: text.append(
                subprocess.run(
                    command,
                    check=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                ).stdout
            )
        )
        loop_s = float(text[0].split()[-1])
        self._loops.setdefault(way, []).append(Cost(loop_s, None))
        return cost

    def _compared(self) -> str:
        """Bins must agree: counts exactly, weights to rounding."""
        theirs = pickle.loads((self._folder / "coffea.pkl").read_bytes())
        with uproot.open(self._folder / "run" / "output" / "histograms.root") as ours:
            for name, histogram in theirs.items():
                values = ours[f"dimuons/{name}"].values(flow=True)
                if values.ndim > 1:  # by dataset
                    values = values.sum(axis=1)
                np.testing.assert_allclose(
                    values, histogram.values(flow=True), rtol=1e-9, err_msg=name
                )
        return f"{len(theirs)}, equal to coffea's in every bin"


if __name__ == "__main__":
    main()
