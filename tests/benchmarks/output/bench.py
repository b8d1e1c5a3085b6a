"""`make bench-output`: skims that keep all branches, whole commands with default settings
(compression "auto"), next to compiled RDataFrame at zstd:5; and how long the outputs take to be
read again. Of RNTuples also merges of many files, and reading columns."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import uproot

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import columns  # noqa: E402
import merged  # noqa: E402
from command_line import report  # noqa: E402
from compile import compile_program  # noqa: E402
from timing import Cost, Result, format_table, measure, timed  # noqa: E402

from forkrun.studies.sample.settings import SampleSettings  # noqa: E402
from forkrun.studies.sample.write import write_sample  # noqa: E402

_COLUMN = "MET_pt"
_READ_AGAIN = 14
"""Columns that are read from the outputs."""
_REAL = "nanoAOD_2015_CMS_Open_Data_ttbar.root"


def main() -> None:
    """Measures each input with each fraction of events kept, and with one and two processes."""
    args = _arguments()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="forkrun-bench-", dir=args.folder) as name:
        keep = Path(args.keep or name)
        keep.mkdir(parents=True, exist_ok=True)
        if args.format == "rntuple":
            results.append(merged.run_generated(Path(name), args.repeats))
            if (real := _real()).exists():
                results += merged.run_real(real, keep, args.programs, args.repeats)
            if args.merges_alone:
                print(format_table(results), flush=True)
                report(results, args.json)
                return
            results += columns.run_objects(keep, args.programs, args.repeats)
            print(format_table(results), flush=True)
        for what, file in _inputs(args, keep):
            if args.format == "rntuple":
                file = merged.as_rntuple(file)
                if what.startswith("real"):
                    results += columns.run(file, Path(name), args.programs, args.repeats)
                    print(format_table(results), flush=True)
            for kept in args.kept:
                for n_processes in (1, 2):
                    case = _Case(what, file, kept, n_processes, args, Path(name))
                    new = case.measure(args.repeats)
                    results += new
                    print(format_table(new), flush=True)
                    print(*(f"{k}: {v}" for k, v in new[0].notes.items()), sep="\n", flush=True)
    report(results, args.json)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", type=float, nargs="+", default=[0.005, 0.05, 0.15, 1])
    parser.add_argument("--per-lumi", type=int, nargs="+", default=[500], help="events of a lumi")
    parser.add_argument("--events", type=int, default=1_000_000, help="of the generated file")
    parser.add_argument("--repetitions", type=int, default=250, help="of the real events")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--format", choices=("ttree", "rntuple"), default="ttree")
    parser.add_argument("--merges-alone", action="store_true", help="of RNTuples merges alone")
    parser.add_argument("--folder", type=Path, help="for samples and outputs (default: /tmp)")
    parser.add_argument("--keep", type=Path, help="keep samples here, and use those that are there")
    parser.add_argument("--programs", type=Path, default=Path("build/bench"))
    parser.add_argument("--json", type=Path, default=Path("build/bench/output.json"))
    args: argparse.Namespace = parser.parse_args()
    return args


def _real() -> Path:
    return Path(os.environ.get("FORKRUN_TEST_DATA", "../shared/data")) / _REAL


def _inputs(args: argparse.Namespace, folder: Path) -> list[tuple[str, Path]]:
    """Names and files: generated events, and real ones again and again where these are there."""
    found = []
    real = _real()
    for per_lumi in args.per_lumi:
        file = folder / f"generated-{args.events}-{per_lumi}.root"
        if not file.exists():
            n_lumis = args.events // per_lumi
            write_sample(
                file, SampleSettings(n_events=args.events, n_runs=1, lumis_per_run=n_lumis)
            )
        found.append((f"{args.events:,} generated events, lumis of {per_lumi:,}", file))
        file = folder / f"real-{args.repetitions}-{per_lumi}.root"
        if not real.exists():
            print(f"SKIPPED: real events, for lack of {real}", flush=True)
            continue
        if not file.exists():
            program = compile_program("output/replicate", args.programs)
            subprocess.run([program, real, file, str(args.repetitions), str(per_lumi)], check=True)
        found.append((f"real NanoAOD × {args.repetitions}, lumis of {per_lumi:,}", file))
    return found


class _Case:
    """One input, one fraction of events to keep, and one number of processes or threads."""

    def __init__(
        self,
        what: str,
        file: Path,
        kept: float,
        n_processes: int,
        args: argparse.Namespace,
        folder: Path,
    ) -> None:
        self._file, self._n_processes, self._format = file, n_processes, args.format
        self._name = f"{what}, {100 * kept:g} % kept, {n_processes} process" + (
            "es" if n_processes > 1 else ""
        )
        with uproot.open(file) as opened:
            values = opened["Events"][_COLUMN].array(library="np")
        self._least = float(np.quantile(values, 1 - kept)) if kept < 1 else float(values.min())
        self._program = compile_program("output/snapshot_cut", args.programs)
        self._run_dir, self._theirs = folder / "run", folder / "snapshot.root"
        self._ours = self._run_dir / "output" / "events.root"
        self._loops: dict[str, list[Cost]] = {"forkrun": [], "RDataFrame": []}

    def measure(self, repeats: int) -> list[Result]:
        """Whole commands, event loops alone, and reading the outputs again."""
        costs = measure({"forkrun": self._forkrun, "RDataFrame": self._rdataframe}, repeats)
        loops = {way: measured[1:] for way, measured in self._loops.items()}
        return [
            Result(f"{self._name}: whole command", "RDataFrame", costs, self._compared()),
            Result(f"{self._name}: event loop and merge alone", "RDataFrame", loops),
            Result(f"{self._name}: read again", "RDataFrame's file", self._read_again(repeats + 1)),
        ]

    def _forkrun(self) -> Cost:
        shutil.rmtree(self._run_dir, ignore_errors=True)
        command = [
            sys.executable, "-m", "forkrun", "run", HERE / "job.toml", self._file,
            "-o", self._run_dir, "--quiet", "--no-plots", "--children", str(self._n_processes),
            "--set", f"modules.cut.params.least={self._least!r}",
        ]  # fmt: skip
        cost = timed(lambda: subprocess.run(command, check=True))
        report = json.loads((self._run_dir / "report.json").read_text())
        loop_s = report["totals"]["processing_s"] + report["phases"]["merge_s"]
        self._loops["forkrun"].append(Cost(loop_s, None))
        return cost

    def _rdataframe(self) -> Cost:
        command = [
            self._program, self._file, self._theirs, _COLUMN, repr(self._least),
            str(self._n_processes), *(["rntuple"] if self._format == "rntuple" else []),
        ]  # fmt: skip
        text: list[str] = []
        cost = timed(lambda: text.append(_output_of(command)))
        self._loops["RDataFrame"].append(Cost(float(text[0]), None))
        return cost

    def _compared(self) -> dict[str, object]:
        """Size of both files; an error if they do not hold the same events."""
        ids = []
        for file in (self._ours, self._theirs):
            with uproot.open(file) as opened:
                ids.append(np.sort(opened["Events"]["event"].array(library="np")))
        np.testing.assert_array_equal(*ids)
        ours, theirs = self._ours.stat().st_size, self._theirs.stat().st_size
        return {
            "events": len(ids[0]),
            "bytes": f"{ours:,}, of RDataFrame {theirs:,}: {ours / theirs:.3f}",
        }

    def _read_again(self, repeats: int) -> dict[str, list[Cost]]:
        with uproot.open(self._ours) as opened:
            names = opened["Events"].keys()
        names = names[:: max(len(names) // _READ_AGAIN, 1)][:_READ_AGAIN]

        def reading(file: Path) -> Callable[[], Cost]:
            def read() -> None:
                with uproot.open(file) as opened:
                    opened["Events"].arrays(names, library="ak")

            return lambda: timed(read)

        ways = {"forkrun's file": reading(self._ours), "RDataFrame's file": reading(self._theirs)}
        return dict(measure(ways, repeats))


def _output_of(command: list[object]) -> str:
    arguments = [str(argument) for argument in command]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
