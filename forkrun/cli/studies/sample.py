"""`forkrun sample`: write a NanoAOD-like file to try things on."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from forkrun.base.durable import require_folder
from forkrun.base.quantities import duration, plural, size
from forkrun.base.streams import unfiltered
from forkrun.cli.arguments import add_option, add_quiet, print_json
from forkrun.errors import OutputError
from forkrun.studies.sample.settings import SampleSettings

_WRITTEN = {
    "n_events": ("--events N", "events in all files together"),
    "n_runs": ("--runs N", "runs, with equal numbers of events"),
    "lumis_per_run": ("--lumis N", "luminosity sections per run"),
    "n_branches": ("--branches N", "branches of the Events tree, counters included"),
    "n_files": ("--files N", "files: OUT_0.root, OUT_1.root, … if more than one"),
    "drift": ("--drift FACTOR", "relative growth of the event size along the sample, e.g. -0.5"),
    "peak": ("--peak FACTOR", "factor by which the first events are larger, e.g. 10"),
    "cluster": ("--cluster N", "events per cluster of the tree"),
    "compression": ("--compression TEXT", "auto, zstd:5, lz4:4, zlib:1, lzma:6 or none"),
    "seed": ("--seed N", "same seed, same events"),
}
"""Options, by field of the settings."""
_OF_LCIO = ".slcio"

DESCRIPTION = (
    "Write a NanoAOD-like sample: muons, electrons, jets, a Z peak, triggers,"
    " generator weights, Runs and LuminosityBlocks trees. OUT.slcio: a sample of a linear collider"
    " in LCIO, e+e- to ZH and ZZ, with events, runs, files and a seed as you say."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    parser.add_argument("output", type=Path, metavar="OUT.root", help="file to write")
    add_quiet(parser, "print nothing")
    for field, written in _WRITTEN.items():
        add_option(parser, *written, dest=field, default=getattr(SampleSettings(), field))


def run(args: argparse.Namespace) -> int:
    """Writes the sample."""
    # These load the extension: only when it is needed.
    if args.output.suffix == _OF_LCIO:
        from forkrun.studies.sample.collider.write import write_collider_sample as write_sample
    else:
        from forkrun.studies.sample.write import write_sample

    settings = SampleSettings(**{field: getattr(args, field) for field in _WRITTEN})
    start_s = time.monotonic()
    if not args.output.name or (args.output.exists() and not args.output.is_file()):
        # A device, such as /dev/null, would be replaced by the file.
        raise OutputError(f"{args.output}: this is a folder or a device; name a file")
    require_folder(args.output)
    progress = None if args.quiet or not sys.stderr.isatty() else _Progress(settings.n_events)
    paths = write_sample(args.output, settings, progress)
    if args.json:
        n_bytes = sum(path.stat().st_size for path in paths)
        print_json({"files": paths, "n_events": settings.n_events, "n_bytes": n_bytes})
    elif not args.quiet:
        _print_summary(paths, settings, time.monotonic() - start_s)
    return 0


class _Progress:
    """A line on the terminal."""

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events

    def __call__(self, n_done: int) -> None:
        end = "\n" if n_done >= self._n_events else ""
        terminal = unfiltered(sys.stderr)
        print(
            f"\r{n_done} of {plural(self._n_events, 'event')}", end=end, file=terminal, flush=True
        )


def _print_summary(paths: list[Path], settings: SampleSettings, duration_s: float) -> None:
    n_bytes = sum(path.stat().st_size for path in paths)
    names = str(paths[0]) if len(paths) == 1 else f"{paths[0]} … {paths[-1]}"
    counts = {"event": settings.n_events}
    if paths[0].suffix != _OF_LCIO:
        counts |= {"branch": settings.n_branches, "lumi": settings.n_lumis}
    content = ", ".join(plural(n, what) for what, n in counts.items())
    print(f"{names}: {content}, {size(n_bytes)} in {duration(duration_s)}")
