"""Kinds of studies of `forkrun measure`: their help, their own options, and how each is called."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forkrun.base.cpus import usable_cpus
from forkrun.base.quantities import plural, whole_number
from forkrun.cli.arguments import add_option, add_options, number_up_to, number_within
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.config.anchor import anchored
from forkrun.config.choices import AUTO
from forkrun.config.read import validate
from forkrun.errors import ConfigError, InputError
from forkrun.rundir.directory import RunDirectory

if TYPE_CHECKING:
    from forkrun.config.model import JobConfig
    from forkrun.monitoring.report.memory_detail import MemoryDetail
    from forkrun.studies.frame.study import Study
    from forkrun.studies.measure.memory import MemoryMeasurement, Mix

Options = argparse.Namespace
_MOST_THREADS, _MOST_CORES, _MOST_FILLS = 256, 4096, 100_000_000


class Kind(NamedTuple):
    """A kind of study. `add`: adds its own arguments; `measure`: measures, in a folder for runs of
    jobs. `of_memory`: it has no ways to repeat, keeps its runs in `--output`, and draws several
    plots."""

    help: str
    description: str
    add: Callable[[argparse.ArgumentParser], None]
    measure: Callable[[Options, Path], Any]
    of_memory: bool = False


def _at_least_one_child(options: Options, what: str) -> JobConfig:
    config = config_of(options)
    if config.forking.children < 1:
        raise ConfigError(f"measure {what}: at least one child is needed")
    return config


# Memory


_REFERENCE = {
    "--reference {arrays,objects}": "use synthetic conditions, read in full",
    "--conditions-mb MB = 700": "size of the conditions (%(default)s)",
    "--private-mb MB = 375": "memory that each child takes for itself (%(default)s)",
}


def _add_memory(parser: argparse.ArgumentParser) -> None:
    add_config_options(parser, needs_config=False)
    words = "number of separate processes, which run at the same time (%(default)s)"
    add_option(parser, "--processes M = 2", words, type=whole_number)
    add_options(parser.add_argument_group("the reference case, instead of CONFIG"), _REFERENCE)


def _memory(options: Options, folder: Path) -> MemoryMeasurement:
    from forkrun.studies.measure.memory import measure_memory

    config, reference = _job_for_memory(options, folder)
    say = (lambda _: None) if options.quiet else (lambda text: print(text, file=sys.stderr))
    with naming(options.config or "--reference"):
        return measure_memory(config, folder, options.processes, say, reference)


def _job_for_memory(options: Options, folder: Path) -> tuple[JobConfig, Mix | None]:
    """The user's job, or the reference case with its mix."""
    if (options.config is None) == (options.reference is None):
        raise ConfigError(
            "measure memory: give a CONFIG, --reference arrays, or --reference objects"
        )
    if options.reference is None:
        return config_of(options), None
    from forkrun.studies.measure.memory import Mix
    from forkrun.studies.measure.reference import Kind, ReferenceSettings, write_reference

    n_children = 32 if options.children in (None, 0, AUTO) else options.children
    settings = ReferenceSettings(
        Kind(options.reference), options.conditions_mb, options.private_mb, n_children
    )
    mix = Mix(1e6 * settings.conditions_mb, 1e6 * settings.private_mb)
    return write_reference(folder, settings), mix


def _add_unshared(parser: argparse.ArgumentParser) -> None:
    add_config_options(parser)
    add_option(parser, "--rows N = 25", "rows of the table (25)")


def _unshared(options: Options, folder: Path) -> MemoryDetail:
    from forkrun.monitoring.report.memory_detail import read_memory_detail

    run_dir = Path(options.config)
    if not run_dir.is_dir():
        run_dir = _run_watched(options, folder)
    elif not RunDirectory(run_dir).is_run_directory():
        raise ConfigError(f"measure unshared: {run_dir} is not a run directory")
    if found := read_memory_detail(RunDirectory(run_dir)):
        return found
    raise InputError(
        f"{run_dir}: this run was not watched; run it with --memory-detail, or give measure"
        " unshared the configuration"
    )


def _run_watched(options: Options, folder: Path) -> Path:
    from forkrun.studies.frame.jobs import RunningJob, run_jobs

    config = _at_least_one_child(options, "unshared")
    serial = ("threads.executor=serial", "threads.per_child=1") if options.threads is None else ()
    settings = ["monitoring.memory_detail=true", "monitoring.sampling_cost=0.5", *serial]
    job = RunningJob(config, folder / "unshared", settings)
    if not options.quiet:
        print(f"{plural(config.forking.children, 'child')}, watched …", file=sys.stderr)
    with naming(options.config):
        run_jobs([job], "the job")
    return job.folder


# Jobs


def _add_io(parser: argparse.ArgumentParser) -> None:
    add_config_options(parser)
    words, default = "events in a row of one child: numbers, or max (1 10 100 max)", [1, 10, 100]
    add_option(
        parser, "--consecutive N", words, type=_consecutive, nargs="+", default=[*default, None]
    )
    words = "whether the input is in memory when a job begins (%(default)s)"
    add_option(parser, "--cache {cold,warm,both} = both", words)


def _consecutive(text: str) -> int | None:
    """Events in a row; None: max."""
    n_events = None if text == "max" else whole_number(text)
    if n_events is not None and n_events < 1:
        raise argparse.ArgumentTypeError("numbers from 1, or max")
    return n_events


def _io(options: Options, folder: Path) -> Study:
    from forkrun.studies.reading import measure_reading

    if options.children is None:
        options.children = 32
    caches = ("cold", "warm") if options.cache == "both" else (options.cache,)
    config, consecutive = config_of(options), list(dict.fromkeys(options.consecutive))
    with naming(options.config):
        return measure_reading(
            config, folder, consecutive, caches, options.repeats, quiet=options.quiet
        )


def _add_distribution(parser: argparse.ArgumentParser) -> None:
    add_config_options(parser)
    words = "events per turn of round-robin (1 100)"
    add_option(parser, "--turns N", words, type=_turn, nargs="+", default=[1, 100])


def _turn(text: str) -> int:
    n_events = whole_number(text)
    if n_events < 1:
        raise argparse.ArgumentTypeError("numbers from 1")
    return n_events


def _distribution(options: Options, folder: Path) -> Study:
    from forkrun.studies.distribution import measure_distribution

    config, turns = _at_least_one_child(options, "distribution"), dict.fromkeys(options.turns)
    with naming(options.config):
        return measure_distribution(config, folder, [*turns], options.repeats, quiet=options.quiet)


def _add_scaling(parser: argparse.ArgumentParser) -> None:
    add_config_options(parser, has_cores=False)
    parser.set_defaults(children=None, threads=None)  # of the configuration: each run has its own
    for flag, what in (("children", "children"), ("threads", "threads per child")):
        words = f"numbers of {what}: 1 2 6, or 1..8 for 1 2 4 8 (as many as there are CPUs)"
        add_option(parser, f"--{flag} N", words, dest=f"of_{flag}", type=_numbers, nargs="+")
    words = "milliseconds of CPU time that each event takes more (0)"
    kind = number_within(0.0, 1e6)
    add_option(parser, "--work MS", words, type=kind, nargs="+", default=[0.0])
    words = "length of each event loop, if the input has as many events (%(default)s)"
    add_option(parser, "--seconds S = 3.0", words, type=number_within(0.01, 1e5))


def _numbers(text: str) -> list[int]:
    """`4`, or `1..8`: the first, twice as many, …, the last."""
    from forkrun.studies.frame.repeats import doubling

    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2] or found[1]) <= _MOST_CORES:
        raise argparse.ArgumentTypeError(f"a number from 1 to {_MOST_CORES}, or 1..8; not {text}")
    return doubling(int(found[1]), int(found[2] or found[1]))


def _scaling(options: Options, folder: Path) -> Study:
    from forkrun.studies.scaling import Runs, measure_scaling, points

    options.distribution = options.distribution or "guided"  # the first events may be one lumi
    config = config_of(options)
    children, threads = _together(options.of_children), _together(options.of_threads)
    wanted = points(children, threads, options.work, usable_cpus())
    with naming(options.config):
        runs = Runs(config, folder, options.seconds)
        return measure_scaling(config.job.name, wanted, runs, options.repeats, quiet=options.quiet)


def _together(lists: list[list[int]] | None) -> list[int] | None:
    return None if lists is None else list(dict.fromkeys(n for each in lists for n in each))


GROWING = (
    "modules", "histograms", "bins", "paths", "outputs", "lumis", "files", "branches", "datasets",
    "children",
)  # fmt: skip
"""Names of the series of `growth`, which need not be imported for their help."""


def _add_growth(parser: argparse.ArgumentParser) -> None:
    words = f"numbers of these grow (all): {', '.join(GROWING)}"
    parser.add_argument("series", metavar="WHAT", nargs="*", help=words)
    words = "part of 2,000 modules, 10,000 histograms, 100,000 lumis, … (%(default)s)"
    add_option(parser, "--part FRACTION = 0.1", words, type=float)


def _growth(options: Options, folder: Path) -> Study:
    from forkrun.studies.growth import measure_growth

    unknown = [name for name in options.series if name not in GROWING]
    if unknown:
        raise ConfigError(f"measure growth: {unknown[0]}: one of {', '.join(GROWING)}")
    if not 0 < options.part <= 1:
        raise ConfigError("measure growth: --part: more than 0, up to 1")
    names = list(dict.fromkeys(options.series or GROWING))
    return measure_growth(names, options.part, folder, options.repeats, quiet=options.quiet)


# Files, and the machine


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="file of events")
    words = 'patterns of names: "Muon_*", or a part of a name (all columns)'
    parser.add_argument("inputs", metavar="COLUMN", nargs="*", help=words)
    add_option(parser, "--tree NAME = Events", "tree of events (Events)")
    n_threads = min(2, usable_cpus())
    add_option(parser, f"--threads N = {n_threads}", "threads, and blocks in flight (2)")


def _columns(options: Options, _folder: Path) -> Study:
    from forkrun.schedule.input_columns import columns_of_input
    from forkrun.studies.columns import measure_columns

    if not 1 <= options.threads <= _MOST_THREADS:
        raise ConfigError(f"measure columns: --threads: from 1 to {_MOST_THREADS}")
    path = anchored(options.file, Path.cwd())
    config = validate({"source": {"files": [path], "tree": options.tree}}, options.file)
    found = columns_of_input(config).matching(options.inputs)
    names = [column.name for column in found if not column.why_none and not column.n_within]
    if not names:
        raise ConfigError(f"measure columns: {options.file}: none of these branches is a column")
    return measure_columns(
        path, options.tree, names, options.threads, options.repeats, quiet=options.quiet
    )


def _add_order(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="files of events")
    add_option(parser, "--tree NAME = Events", "tree of events (Events)")
    words = "events that are copied at most (%(default)s)"
    add_option(parser, "--max-events N = 20000", words)
    add_option(parser, "--children N = 32", "children that left the scattered copy (%(default)s)")


def _order(options: Options, folder: Path) -> Study:
    from forkrun.index.files import input_files
    from forkrun.studies.order import measure_order

    if options.children < 1 or options.max_events < 1:
        raise ConfigError("measure order: --children and --max-events: from 1")
    files = [anchored(file, Path.cwd()) for file in options.files]
    source = validate({"source": {"files": files, "tree": options.tree}}, files[0]).source
    return measure_order(
        input_files(source), source.ids, folder, options.max_events, options.children,
        options.repeats, quiet=options.quiet,
    )  # fmt: skip


def _add_scheduling(parser: argparse.ArgumentParser) -> None:
    words = "replay file: JSON, plain or .gz (a synthetic one of 489 modules)"
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help=words)


def _scheduling(options: Options, _folder: Path) -> Study:
    from forkrun.studies.replay.read import read_replay
    from forkrun.studies.scheduling import Sizes, measure_scheduling
    from forkrun.studies.workload.generate import synthetic_job

    job = read_replay(options.file) if options.file else synthetic_job("hipileup")
    return measure_scheduling(job, Sizes(), options.repeats, quiet=options.quiet)


def _add_histograms(parser: argparse.ArgumentParser) -> None:
    words = "numbers of threads (1, 2, 4, … up to the number of CPUs, and twice that)"
    add_option(parser, "--threads N", words, type=number_up_to(_MOST_THREADS), nargs="+")
    words = "fills (%(default)s)"
    add_option(parser, "--fills N = 1000000", words, type=number_up_to(_MOST_FILLS))


def _histograms(options: Options, _folder: Path) -> Study:
    from forkrun.studies.frame.repeats import doubling
    from forkrun.studies.histograms import measure_histograms

    threads = sorted(set(options.threads or doubling(1, 2 * usable_cpus())))
    return measure_histograms(options.fills, threads, options.repeats, quiet=options.quiet)


KINDS: Mapping[str, Kind] = {
    "memory": Kind(
        "compare forked children with separate processes of the same job",
        "Run the job with forked children, then as separate processes that each do the work of one"
        " child and load everything themselves. Print shared and private memory per process, the"
        " total, the saving, and the largest saving that is possible.",
        _add_memory, _memory, of_memory=True,
    ),
    "unshared": Kind(
        "show which memory became private in children, and why",
        "Analyse a run with --memory-detail, or run CONFIG with it, with one"
        " thread per child unless --threads is given.",
        _add_unshared, _unshared, of_memory=True,
    ),
    "io": Kind(
        "count what children read, by how events are shared among them",
        "Run the job with N consecutive events for each child in turn (round-robin; max:"
        " contiguous), guided, and with one child; print read calls, their mean size, and bytes"
        " that are read more than once, with the input in memory (warm) and not (cold).",
        _add_io, _io,
    ),
    "columns": Kind(
        "show what columns cost to read, and how well threads share that",
        "Read columns of a file: read, unzip and decode time of each, then columns of one block in"
        " parallel, against the best that the slowest column allows, and several blocks in"
        " parallel.",
        _add_columns, _columns,
    ),
    "distribution": Kind(
        "compare how busy distributions keep children",
        "Run the job in each distribution; print utilization, dispersion and end times of its"
        " children. forkrun plan --simulate does the same for any number of children, without"
        " running anything.",
        _add_distribution, _distribution,
    ),
    "order": Kind(
        "compare files with lumis together and scattered, read lumi by lumi",
        "Copy events with the lumis in one piece each, and scattered as children leave them that"
        " take one event in turn; print what is read of both, lumi by lumi, by a framework that"
        " keeps a basket of each branch, and by forkrun.",
        _add_order, _order,
    ),
    "scaling": Kind(
        "measure a job's rate against children, threads, and work of each event",
        "Run the job with several numbers of children and threads; print events per second, in all"
        " and per core, relative to one core, and what they stop at: CPUs, memory bandwidth, disk,"
        " modules that wait, or the last child.",
        _add_scaling, _scaling,
    ),
    "scheduling": Kind(
        "measure what scheduling of modules costs, and what threads gain",
        "Run modules that do nothing or only take their time: plain calls against tasks, threads"
        " that have nothing to do, several events in flight, modules that exclude each other, and"
        " the critical path; print ratios, and those that were published.",
        _add_scheduling, _scheduling,
    ),
    "histograms": Kind(
        "measure fills of histograms by threads, and in columns from Python",
        "Fill histograms, one entry at a time, from several threads: a copy for each thread, one"
        " table with a lock, one with buffers, and forkrun's exact sums; then blocks of columns"
        " from Python, with hist and with forkrun.",
        _add_histograms, _histograms,
    ),
    "growth": Kind(
        "show how costs grow with modules, histograms, lumis, files, branches, …",
        "Run jobs with more and more of one thing, each with twice as many as the one before; print"
        " the CPU time of all processes, what one more costs, and what grows more than linearly.",
        _add_growth, _growth,
    ),
}  # fmt: skip
"""Kinds by name."""
