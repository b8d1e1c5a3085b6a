"""`make bench`: forkrun against its peers, side by side in one run on generated samples.

Everything runs with one child and one thread, from the page cache; the best of several repeats in
alternating order counts. Prints a table and writes the figures as JSON."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import merging
import random_numbers
import reading
import skim
from command_line import parse, report
from compile import compile_program
from msgspec.structs import replace
from timing import Result, format_table

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample

CASES = ("read", "skim", "merge", "random")
N_MERGED = 100


def main() -> None:
    """Runs the chosen cases."""
    args = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="forkrun-bench-", dir=args.folder) as name:
        results = [result for case in args.cases for result in run_case(case, args, Path(name))]
    print(format_table(results))
    report(results, args.json)


def parse_arguments() -> Any:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000, help="of the sample (500000)")
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many counts (3)")
    return parse(parser, CASES, "bench.json")


def run_case(case: str, args: argparse.Namespace, folder: Path) -> list[Result]:
    """One of CASES on its samples."""
    print(f"… {case}", flush=True)
    if case == "random":
        return list(random_numbers.run(args.repeats))
    narrow = SampleSettings(n_events=args.events)
    wide = replace(narrow, n_events=args.events // 10, n_branches=1500, cluster=1000)
    if case == "read":
        program = compile_program("get_entry", folder)
        fewer = replace(narrow, n_events=args.events // 5)
        return [
            reading.run(s.n_events, _sample(folder, f"read{i}", s)[0], program, args.repeats)
            for i, s in enumerate((fewer, narrow))
        ]
    if case == "skim":
        program = compile_program("snapshot", folder)
        return [
            result
            for name, settings in (("100 branches", narrow), ("1500 branches", wide))
            for result in skim.run(
                name, _sample(folder, name.split()[0], settings)[0], program, folder, args.repeats
            )
        ]
    return [
        merging.run(
            f"{settings.n_branches} branches",
            _sample(folder, f"many{settings.n_branches}", replace(settings, n_files=N_MERGED)),
            folder,
            args.repeats,
        )
        for settings in (narrow, wide)
    ]


def _sample(folder: Path, name: str, settings: SampleSettings) -> list[Path]:
    return write_sample(folder / f"{name}.root", settings)


if __name__ == "__main__":
    main()
