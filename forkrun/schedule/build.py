"""From a configuration and an index to a compiled schedule, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forkrun import _core
from forkrun.base.importing import importing
from forkrun.conditions import Conditions
from forkrun.config import (
    Executor,
    JobConfig,
    ModuleConfig,
    OutputConfig,
    OutputMode,
    SourceConfig,
    ThreadsConfig,
)
from forkrun.errors import ConfigError, InputError, JobError
from forkrun.fork.steps import StepsInARow, step
from forkrun.index import Branch, FileIndex
from forkrun.merge.histograms import Named, histograms_of_core, sums_of_core
from forkrun.plan import Units
from forkrun.rundir.accumulators import Total
from forkrun.rundir.histogram_sums import check_names
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.branches import (
    all_branches,
    disagreements,
    kept,
    pattern_problems,
    with_counters,
)
from forkrun.schedule.cutflow import Cutflow, add_paths, weight_problems
from forkrun.schedule.page_watch import WatchedProcessor
from forkrun.schedule.warnings import Described, find_warnings

if TYPE_CHECKING:
    from forkrun.modules.base import PythonModule


@dataclass(frozen=True)
class JobSchedule:
    """The compiled job with what a child needs to run it. `modules`: those in Python, by label.
    `columns_of`: by label of the module, the columns that it makes, if any; `outputs`: what each
    holds; `warnings`: what is hardly meant; `watch`: finds out which pages become private in
    children."""

    core: _core.Schedule
    source: _core.TreeSource
    modules: Mapping[str, PythonModule]
    consumed: Sequence[str]
    conditions: Conditions
    outputs: Mapping[str, OutputContent]
    columns_of: Mapping[str, Sequence[str]]
    cutflow: Cutflow
    warnings: Sequence[str] = ()
    watch: _core.PageWatch | None = None

    def make_processor(
        self, config: JobConfig, board: _core.StatusBoard, child: int
    ) -> _core.Processor:
        """Starts threads: call it in the child."""
        threads, monitoring = config.threads, config.monitoring
        n_threads, lanes, units, iovs = in_flight(threads)
        settings = _core.ProcessorSettings(
            executor=threads.executor.value,
            threads=n_threads,
            concurrent_blocks=lanes,
            block_size=threads.block_size,
            concurrent_units=units,
            concurrent_iovs=iovs,
            timing=monitoring.timing or monitoring.trace,
            n_trace_calls=monitoring.trace_calls if monitoring.trace else 0,
        )
        if self.watch is not None:
            return WatchedProcessor(self.core, self.source, settings, board, child, self.watch)
        return _core.Processor(self.core, self.source, settings, board, child)

    def take_histograms(self) -> list[Named]:
        """(module, name, histogram) of all analyzers as filled so far; then they are empty."""
        taken = histograms_of_core(self.core)
        for label, module in self.modules.items():
            taken += [(label, name, h.take(label)) for name, h in module.histograms().items()]
        self.clear_histograms()
        return taken

    def shared_histograms(self, threads: ThreadsConfig) -> list[dict[str, str | int]]:
        """Histograms that several threads of a child fill at the same time, and where their sums
        are; `bytes`: of one table of them."""
        n_threads, n_blocks, *_ = in_flight(threads)
        if min(n_threads, n_blocks) == 1:
            return []
        self.core.share_histograms(min(n_threads, n_blocks))
        return [
            {"name": f"{h.module}/{h.name}", "memory": h.memory, "bytes": h.n_bytes}
            for h in self.core.histograms()
            if h.memory != "one table"
        ]

    def take_accumulated(self) -> dict[str, dict[str, Total]]:
        """What analyzers in Python have accumulated, by label and name; then nothing is."""
        return {label: module.take_accumulated() for label, module in self.modules.items()}

    def clear_histograms(self) -> None:
        """Empties all histograms, and whatever else is summed."""
        self.core.clear_histograms()
        self.cutflow.clear()
        for module in self.modules.values():
            module.clear()


def in_flight(threads: ThreadsConfig) -> tuple[int, int, int, int]:
    """Threads of a child, and blocks, units and IOVs that it has in flight at the same time."""
    if threads.executor is Executor.SERIAL:
        return 1, 1, 1, 1
    blocks = threads.concurrent_blocks or threads.per_child
    units = threads.concurrent_lumis or blocks
    return threads.per_child, blocks, units, threads.concurrent_iovs or units


def build_schedule(
    config: JobConfig, index: Sequence[FileIndex], conditions: Conditions, units: Units
) -> JobSchedule:
    """Constructs all modules and checks them against each other and against the input; finds out
    what those read that do not declare it, with the first of `units`. Raises ConfigError with every
    problem; InputError if files disagree about branches that are used."""
    branches = all_branches(index)
    columns = [(b.name, b.type) for b in branches.values() if b.readable]
    builder = _core.ScheduleBuilder(columns, config.job.seed, conditions.core)
    problems = _load_plugins(config)
    modules, module_problems = _load_modules(config, conditions)
    problems += module_problems
    n_tried = None
    if modules and not problems:
        n_tried = _find_reads(config, index, conditions, units, modules, dict(columns))
    problems += _add_modules(builder, config, modules)
    failed = {m.label for m in config.modules if not m.type.startswith("cpp:")} - modules.keys()
    weight = config.monitoring.cutflow_weight
    wrong_weight = weight_problems(weight, dict([*columns, *builder.produced_columns()]))
    problems += wrong_weight
    cutflow = add_paths(builder, config, modules, failed, "" if wrong_weight else weight)
    by_module = builder.columns_by_module()
    columns_of = {m.label: by_module[m.label] for m in config.modules if m.label in by_module}
    outputs = {}
    for output in config.outputs:
        outputs[output.label], output_problems = _add_output(
            builder, output, branches, config.source
        )
        problems += output_problems
    if modules:
        _describe_columns(
            config, modules, {**dict(columns), **dict(builder.produced_columns())}, n_tried
        )
    consumed = builder.consumed_source_columns()
    core = _compile(builder, problems)
    _check_histograms(core)
    kept_branches = {name for content in outputs.values() for name in content.branches}
    _check_files(index, kept_branches.union(consumed))
    source = _source(config.source, index, columns)
    warnings = find_warnings(Described(config, modules, columns_of, outputs, branches))
    return JobSchedule(
        core, source, modules, consumed, conditions, outputs, columns_of, cutflow, warnings
    )


def _compile(builder: _core.ScheduleBuilder, problems: list[str]) -> _core.Schedule:
    try:
        core = builder.compile()
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from None
    if problems:
        raise ConfigError(problems)
    return core


def _check_histograms(core: _core.Schedule) -> None:
    """Checks what the core does not of C++ modules' histograms; `book` checks those in Python."""
    names: dict[str, list[str]] = {}
    problems = []
    for histogram in core.histograms():
        names.setdefault(histogram.module, []).append(histogram.name)
        try:
            check_names(names[histogram.module])
            sums_of_core(histogram)
        except ValueError as error:
            problems.append(f'module "{histogram.module}", histogram "{histogram.name}": {error}')
    if problems:
        raise ConfigError(problems)


def _load_plugins(config: JobConfig) -> list[str]:
    problems = []
    for plugin in config.job.plugins:
        try:
            with step(f'plugin "{plugin}" was loaded'):
                _core.load_plugin(plugin_path(plugin))
        except JobError as error:
            problems.append(f"job.plugins: {error}")
    return problems


def plugin_paths(config: JobConfig) -> list[str]:
    """Paths of the libraries of C++ modules."""
    return [plugin_path(plugin) for plugin in config.job.plugins]


def plugin_path(plugin: str) -> str:
    """Path of a library; a bare name is that of one that comes with forkrun, if there is one."""
    shipped = Path(__file__).parents[1] / "lib" / f"lib{plugin}.so"
    return str(shipped) if "/" not in plugin and shipped.exists() else plugin


def _load_modules(
    config: JobConfig, conditions: Conditions
) -> tuple[dict[str, PythonModule], list[str]]:
    """Modules that are none in C++, by label, and what is wrong with others."""
    modules: dict[str, PythonModule] = {}
    problems: list[str] = []
    for entry in config.modules:
        if entry.type.startswith("cpp:"):
            continue
        with step("Awkward Array was imported"), importing():  # slow, and C++ does not need it
            from forkrun.modules.entries import load_entry

        try:
            with step(f'module "{entry.label}" was constructed'):
                modules[entry.label] = load_entry(entry, conditions)
        except ConfigError as error:
            problems += error.problems
    return modules, problems


def _add_modules(
    builder: _core.ScheduleBuilder, config: JobConfig, modules: Mapping[str, PythonModule]
) -> list[str]:
    """Adds all modules in their order. Gives what is wrong with those in C++."""
    problems: list[str] = []
    steps = StepsInARow()
    for entry in config.modules:
        if entry.type.startswith("cpp:"):
            problems += _add_cpp_module(builder, entry)
            steps.end(f'module "{entry.label}" was constructed')
        elif module := modules.get(entry.label):
            builder.add_python_module(
                entry.label, module.kind, module, module.consumes, module.produces,
                module.random_name, module.one_lumi,
            )  # fmt: skip
    return problems


def _find_reads(
    config: JobConfig,
    index: Sequence[FileIndex],
    conditions: Conditions,
    units: Units,
    modules: Mapping[str, PythonModule],
    types: Mapping[str, str],
) -> int | None:
    """Completes modules that do not declare what they read; see `find_reads`."""
    if all(module.is_declared for module in modules.values()):
        return None
    from forkrun.schedule.find_reads import find_reads
    from forkrun.schedule.first_events import FirstEvents, first_events

    in_cpp = _core.ScheduleBuilder(list(types.items()), config.job.seed, conditions.core)
    for entry in config.modules:
        if entry.type.startswith("cpp:"):
            _add_cpp_module(in_cpp, entry)
    of_unit = conditions.table.of_unit
    n_same_iov = int(np.count_nonzero(np.cumprod(of_unit == of_unit[:1])))
    one_lumi = any(module.wants_one_lumi for module in modules.values())
    files = [file.path for file in index]

    def first_of(n_most: int) -> tuple[FirstEvents, int]:
        events = first_events(config.source, files, types, units, n_same_iov, n_most, one_lumi)
        return events, int(of_unit[0]) if len(of_unit) else 0

    elsewhere = [name for name, _ in in_cpp.produced_columns()]
    return find_reads(config, modules, elsewhere, types, first_of)


def _describe_columns(
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    types: Mapping[str, str],
    n_tried: int | None,
) -> None:
    """Tells modules which columns there are, and which of them they read."""
    from forkrun.modules.objects.collections import Columns, NamingRule
    from forkrun.modules.objects.reading import ModuleColumns

    known = Columns(types, NamingRule.of(config.source))
    for module in modules.values():
        is_found = module.module.consumes is None
        tried = n_tried if is_found else None
        columns = ModuleColumns(known, frozenset(module.consumes), tried)
        with step("vector was imported"), importing():
            columns.load_vectors(None if is_found else module.names())
        module.columns = columns


def _add_cpp_module(builder: _core.ScheduleBuilder, entry: ModuleConfig) -> list[str]:
    limit = entry.concurrency if isinstance(entry.concurrency, int) else None
    word = entry.concurrency if isinstance(entry.concurrency, str) else ""
    try:
        builder.add_cpp_module(
            entry.label,
            entry.type.removeprefix("cpp:"),
            entry.params,
            "limited" if limit else word,
            limit or 1,
            entry.instances or "",
            entry.resources,
        )
    except TypeError:
        kinds = "true or false, numbers, strings and lists of one of them"
        return [f'module "{entry.label}": parameters of C++ modules are {kinds}']
    return []


def _add_output(
    builder: _core.ScheduleBuilder,
    output: OutputConfig,
    branches: dict[str, Branch],
    source: SourceConfig,
) -> tuple[OutputContent, list[str]]:
    ids = (source.run_branch, source.lumi_branch, source.event_branch)
    produced = dict(builder.produced_columns())
    if output.mode is OutputMode.FRIEND:
        names = [name for name in ids if name in branches]
        problems = pattern_problems(output, list(produced))
    else:
        names = with_counters(kept(branches, output), branches)
        problems = pattern_problems(output, [*branches, *produced])
    content = OutputContent(names, [(name, produced[name]) for name in kept(produced, output)])
    products = [name for name, _ in content.products]
    builder.add_output(output.label, output.paths, content.branches, products)
    return content, problems


def _check_files(index: Sequence[FileIndex], used: Iterable[str]) -> None:
    problems = disagreements(index, used)
    if problems:
        raise InputError("\n".join(problems))


def _source(
    source: SourceConfig, index: Sequence[FileIndex], columns: Sequence[tuple[str, str]]
) -> _core.TreeSource:
    return _core.TreeSource(
        [file.path for file in index],
        source.tree,
        source.run_branch,
        source.lumi_branch,
        source.event_branch,
        columns,
        [file.clusters for file in index],
        [file.identity for file in index],
    )
