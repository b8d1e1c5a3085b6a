"""`make bench-variations`: twenty systematic variations of a column on which a tenth of an analysis
depends, as whole commands: forkrun, RDataFrame's Vary, and a loop over variations with Awkward
Array and hist. Each in one process; the histograms' means are compared."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from command_line import report  # noqa: E402
from timing import Cost, Result, format_table, measure, timed  # noqa: E402

from forkrun.studies.sample.settings import SampleSettings  # noqa: E402
from forkrun.studies.sample.write import write_sample  # noqa: E402

WAYS = ("forkrun", "rdataframe", "loop")


def main() -> None:
    """Measures the nominal analysis and the one with variations, in all ways in turn."""
    args = _arguments()
    with tempfile.TemporaryDirectory(prefix="forkrun-bench-", dir=args.folder) as name:
        folder = Path(name)
        file = folder / "sample.root"
        write_sample(file, SampleSettings(n_events=args.events, n_runs=1, cluster=50_000))
        timers = {
            f"{way}, {number} variations": _timer(way, file, number, folder)
            for number in (args.variations, 0)
            for way in WAYS
        }
        costs = measure(timers, args.repeats)
        _compare(folder, args.variations)
    notes = {way: _factor(costs, way, args.variations) for way in WAYS}
    case = f"{args.events:,} events, {args.variations} variations of a column"
    result = Result(case, f"rdataframe, {args.variations} variations", costs, notes)
    print(format_table([result]))
    report([result], args.json)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--variations", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for the sample and outputs (default: /tmp)")
    parser.add_argument("--json", type=Path, default=Path("build/bench/variations.json"))
    args: argparse.Namespace = parser.parse_args()
    args: argparse.Namespace = parser.parse_args()
    return args


def _timer(way: str, file: Path, number: int, folder: Path):  # type: ignore[no-untyped-def]
    command = [sys.executable, HERE / "analysis.py", way, file, str(number), folder]

    def run() -> Cost:
        return timed(lambda: subprocess.run(command, check=True, stderr=subprocess.DEVNULL))

    return run


def _factor(costs: dict[str, list[Cost]], way: str, number: int) -> str:
    """What all variations cost, in units of the nominal job."""
    varied, nominal = (
        min(cost.wall_s for cost in costs[f"{way}, {n} variations"]) for n in (number, 0)
    )
    return f"{varied / nominal:.2f} × the job without variations"


def _compare(folder: Path, number: int) -> None:
    """Sums in float32 and in float64 may be in different bins at their edges."""
    means = {way: json.loads((folder / f"{way}-{number}.json").read_text()) for way in WAYS}
    for way, given in means.items():
        np.testing.assert_allclose(given, means["forkrun"], rtol=1e-4, err_msg=way)


if __name__ == "__main__":
    main()
