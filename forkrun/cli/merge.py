"""`forkrun merge`: a run again or later, or any ROOT files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.progress import make_progress
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: Subparsers) -> None:
    """Of this command."""
    parser = subparsers.add_parser(
        "merge",
        help="merge a run, or any ROOT files",
        usage="forkrun merge RUNDIR | forkrun merge OUT.root IN1.root [IN2.root …] [options]",
        description="With one folder: merge the temporary outputs of that run. With files: join all"
        " inputs, in this order, into the first-named file; baskets are copied as they are.",
    )
    parser.add_argument("output", metavar="RUNDIR | OUT.root", type=Path)
    parser.add_argument("inputs", metavar="IN.root", nargs="*")
    parser.add_argument(
        "--trees", nargs="+", metavar="TREE", help="only these trees (default: all)"
    )
    parser.add_argument(
        "--compression", metavar="NAME:LEVEL", help="recompress, for example zstd:5"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing OUT.root")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Merges a run, or files."""
    if options.inputs:
        return _merge_files(options)
    if options.trees or options.compression:
        raise ConfigError("merge: --trees and --compression are for files: OUT.root IN.root …")
    return _merge_run(options)


def _merge_run(options: argparse.Namespace) -> int:
    folder = RunDirectory(options.output.absolute())
    if not folder.is_run_directory():
        raise ConfigError(
            f"merge: {options.output} is not a run directory; for files write"
            " forkrun merge OUT.root IN1.root IN2.root …"
        )
    from forkrun.config import read_config  # all this takes longer to load than files to merge
    from forkrun.monitoring import Timeline
    from forkrun.parent.merging import merge
    from forkrun.parent.reporting import write_report
    from forkrun.plan import Plan
    from forkrun.rundir.lock import RunLock

    config = read_config(folder.config)
    if not folder.units.is_dir():
        raise ConfigError(
            f"merge: {options.output} has been merged already and its temporary outputs are gone"
            " (merge.keep_temporary = true keeps them)"
        )
    plan = Plan.from_json(json.loads(folder.plan.read_bytes()))
    timeline = Timeline(folder.path)
    with RunLock.held(folder.lock):
        merge(folder, config, plan, timeline, options.quiet)
    timeline.close()
    write_report(folder.path, plots=(folder.path / "plots").exists())
    if not options.quiet:
        print(*sorted(folder.output.glob("*.root")), sep="\n")
    return 0


def _merge_files(options: argparse.Namespace) -> int:
    from forkrun.merge.files import merge_files

    progress = make_progress(len(options.inputs), "files", options.quiet)
    try:
        entries = merge_files(
            options.inputs,
            options.output,
            options.trees,
            options.compression,
            options.force,
            progress.update,
        )
    finally:
        progress.close()
    if not options.quiet:
        for tree, n_entries in entries.items():
            print(f"{options.output}: {tree}: {n_entries:,} entries")
    return 0
