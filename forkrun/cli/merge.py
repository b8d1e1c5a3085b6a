"""`forkrun merge`: a run again or later, or any ROOT files."""

from __future__ import annotations

import argparse
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.input_files.urls import register_url
from forkrun.base.progress import make_progress
from forkrun.base.quantities import plural
from forkrun.cli.arguments import add_option, add_options, add_quiet, print_json
from forkrun.errors import ConfigError, VerificationError

if TYPE_CHECKING:  # longer to load than files to merge
    from forkrun.formats.fields import FileFields
    from forkrun.rundir.directory import RunDirectory
    from forkrun.rundir.lock import RunLock


DESCRIPTION = (
    "Given a run directory, make the outputs of that run. Given files, join the"
    " inputs,"
    " in this order, into the first-named file: baskets of trees and pages of RNTuples are copied"
    " after a check, very small ones are joined; histograms, graphs and other objects"
    " that ROOT can merge are merged, also in folders; other objects are kept once and"
    " listed, and it is an error if they differ between files."
)
_OF_FILES = {
    "--compression NAME:LEVEL": "recompress baskets: auto, or as ROOT does: zstd:5",
    "--recluster {auto,always,never} = auto": "rewrite trees in larger baskets: always, never, or"
    " auto (default): for files whose baskets are little more than their headers, and with"
    " --compression",
    "--fields {strict,union,common} = strict": "fields of trees and RNTuples whose files differ:"
    " union: all, 0, false or empty where a file lacks them; common: those that all files have;"
    " strict (default): an error. With the others, numbers of different types get one that holds"
    " both without loss",
    "--keep-first": "keep the first file's objects where they differ and cannot be merged",
    "--verify": "uncompress and check every basket, on all CPUs",
    "--force": "replace an existing OUT.root",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.usage = "forkrun merge RUNDIR | forkrun merge OUT.root IN1.root [IN2.root …] [options]"
    parser.add_argument("output", metavar="RUNDIR | OUT.root", type=Path)
    parser.add_argument("inputs", metavar="IN.root", nargs="*")
    words = "format of all tables in OUT.root (default: that of the first file with each)"
    add_option(parser, "--format {ttree,rntuple}", words)
    add_options_of_files(parser)


def add_options_of_files(parser: argparse.ArgumentParser) -> None:
    """Adds those of all commands that join files."""
    words = "merge only these trees (default: all): Events, folder/tree, Events;2 (an older cycle)"
    add_option(parser, "--trees TREE", words, nargs="+")
    add_options(parser, _OF_FILES)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Merges a run, or files."""
    if options.inputs:
        return merge_files_of(options, options.inputs, options.output)
    flags = (options.keep_first, options.verify)
    for_files = (options.trees, options.compression, options.format, *flags)
    if any(for_files) or (options.recluster, options.fields) != ("auto", "strict"):
        raise ConfigError(
            "merge: --trees, --compression, --recluster, --fields, --keep-first, --format and"
            " --verify are for files: OUT.root IN.root …; for a run write merge.keep_first = true"
            " in its configuration"
        )
    return _merge_run(options)


def _merge_run(options: argparse.Namespace) -> int:
    from forkrun.monitoring.report.write import write_report
    from forkrun.rundir.opening import opened

    what = "a run directory; for files write forkrun merge OUT.root IN1.root IN2.root …"
    with opened(options.output, "merge", what) as (folder, lock):
        _merge_opened(folder, lock, options)
        with lock.kept_by_thread():
            write_report(folder.path, plots=folder.plots.exists())
    if options.json:
        print_json({"run_directory": folder.path, "files": folder.merged_files()})
    elif not options.quiet:
        print(*folder.merged_files(), sep="\n")
    return 0


def _merge_opened(folder: RunDirectory, lock: RunLock, options: argparse.Namespace) -> None:
    from forkrun.config.read import read_config
    from forkrun.monitoring.timeline import Timeline
    from forkrun.parent.merging import merge
    from forkrun.plan.model import read_plan
    from forkrun.rundir.nodes import is_on_nodes

    run = shlex.quote(str(options.output))
    if is_on_nodes(folder):
        raise ConfigError(f"merge: this is a job on many nodes; use forkrun collect {run}")
    if not folder.units.is_dir():
        raise ConfigError(
            f"merge: {options.output} has been merged already and its fragments are gone"
            " (merge.keep_temporary = true keeps them)"
        )
    if not folder.plan.exists():
        raise ConfigError(f"merge: {folder.path}: this job has not started; run it again")
    config, plan = read_config(folder.config), read_plan(folder)
    timeline = Timeline(folder.path)
    try:
        with nullcontext() if config.forking.children else lock.kept_by_thread():
            merge(folder, config, plan, timeline, options.quiet, tick_also=lock.keep)
    except VerificationError as error:
        then = "and merges" if config.merge.enabled else f"then forkrun merge {folder.quoted}"
        remedy = f"forkrun resume {folder.quoted} processes what is missing, {then}"
        raise type(error)(f"{error}\n{remedy}") from None
    timeline.close()


def merge_files_of(
    options: argparse.Namespace, inputs: list[str], output: Path, needs_checksums: bool = True
) -> int:
    """Joins files in a process of its own, and says what became of them."""
    from forkrun.fork.helper import ask_reader
    from forkrun.fork.limits import cpu_limit_s
    from forkrun.merge.files import merge_files

    notes: list[str] = []
    changes: list[FileFields] = []
    inputs = list(map(register_url, inputs))
    progress = make_progress(len(inputs), "files", options.quiet)
    copies = options.recluster == "never" and not options.compression
    s_per_mb = 0.5 if copies else 10  # ten times what the slowest one takes
    limit_s = cpu_limit_s(inputs, s_per_mb)
    try:
        entries = merge_files(
            inputs,
            output,
            options.trees,
            options.compression,
            options.force,
            keep_first=options.keep_first,
            verify=options.verify,
            note=notes.append,
            recluster=options.recluster,
            format=options.format,
            fields=options.fields,
            note_fields=changes.append,
            needs_checksums=needs_checksums,
            contained=lambda join: ask_reader(join, inputs, limit_s, progress.update),
        )
    finally:
        progress.close()
    if options.json:
        found = {"fields": [each._asdict() for each in changes]} if changes else {}
        print_json({"file": output, "entries": entries, "notes": notes, **found})
    elif not options.quiet:
        for tree, n_entries in entries.items():
            print(f"{output}: {tree}: {plural(n_entries, 'entry')}")
        for line in notes:
            print(f"{output}: {line}")
    return 0
