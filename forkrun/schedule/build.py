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
    SourceConfig,
    ThreadsConfig,
)
from forkrun.errors import ConfigError, InputError, JobError
from forkrun.fork.steps import step
from forkrun.index import FileIndex
from forkrun.merge.histograms import Named, histograms_of_core, sums_of_core
from forkrun.plan import Units
from forkrun.rundir.accumulators import Total
from forkrun.rundir.histogram_sums import check_names
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.branches import disagreements
from forkrun.schedule.cutflow import Cutflow, add_paths, weight_problems
from forkrun.schedule.datasets import find_datasets
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.job_modules import (
    add_modules,
    columns_by_module,
    complete_replaced,
    cpp_wirings,
    is_cpp,
    load_modules,
    variations_of_analyzers,
    versions_of,
    wirings_of,
)
from forkrun.schedule.outputs import add_output
from forkrun.schedule.page_watch import WatchedProcessor
from forkrun.schedule.variations import Variations
from forkrun.schedule.varied_histograms import with_variations
from forkrun.schedule.versions import Versions, is_plain, plain_name
from forkrun.schedule.warnings import Described, find_warnings

if TYPE_CHECKING:
    from forkrun.modules.base import PythonModule


@dataclass(frozen=True)
class JobSchedule:
    """The compiled job with what a child needs to run it. `modules`: those in Python, by label.
    `columns_of`: by label of the module, the columns that it makes, if any; `outputs`: what each
    holds; `varied`: variations of analyzers that run again for them; `warnings`: what is hardly
    meant; `watch`: finds out which pages become private in children."""

    core: _core.Schedule
    source: _core.TreeSource
    modules: Mapping[str, PythonModule]
    consumed: Sequence[str]
    conditions: Conditions
    outputs: Mapping[str, OutputContent]
    columns_of: Mapping[str, Sequence[str]]
    cutflow: Cutflow
    varied: Mapping[str, Sequence[str]]
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
            taken += [(label, name, sums) for name, sums in module.take_histograms(label)]
        self.clear_histograms()
        return with_variations(taken, self.varied)

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
    branches = InputBranches.of(index, config.source.branches)
    types = dict(branches.columns)
    problems = _load_plugins(config)
    modules, module_problems = load_modules(config, conditions)
    problems += module_problems
    datasets = find_datasets(config, [file.path for file in index])
    for module in modules.values():
        module.datasets = datasets
    versions = versions_of(config, modules)
    is_needed = versions.is_needed or not all(m.is_declared for m in modules.values())
    in_cpp = cpp_wirings(config, types, conditions) if is_needed else {}
    n_tried = None
    if modules and not problems:
        elsewhere = [name for wiring in in_cpp.values() for name in wiring.makes]
        n_tried = _find_reads(
            config, index, conditions, units, modules, versions, elsewhere, branches
        )
    if wrong := [] if problems else complete_replaced(versions, types, modules):
        raise ConfigError(wrong)
    wirings = wirings_of(config, modules, in_cpp)
    variations = Variations(versions, wirings, config.paths)
    builder = _core.ScheduleBuilder(
        [(versions.first(name), kind) for name, kind in types.items()],
        config.job.seed,
        conditions.core,
    )
    varied = variations_of_analyzers(variations, wirings)
    added = add_modules(builder, config, conditions, modules, variations)
    problems += added.problems
    failed = {entry.label for entry in config.modules if not is_cpp(entry)} - modules.keys()
    weight = config.monitoring.cutflow_weight
    produced = {n: kind for n, kind in builder.produced_columns() if is_plain(n)}
    known = {**types, **produced}
    wrong_weight = weight_problems(weight, known)
    problems += wrong_weight
    cutflow = add_paths(builder, config, modules, failed, "" if wrong_weight else weight)
    for path, labels in variations.varied_paths().items():
        builder.add_path(path, labels)
    outputs = {}
    of_input = branches.without(versions.replaced)
    for output in config.outputs:
        outputs[output.label], output_problems = add_output(
            builder, output, of_input, produced, config.source, list(config.paths)
        )
        problems += output_problems
    for label, module in added.modules.items():
        module.keep_apart(label, datasets, int(plain_name(label) in varied))
    if modules:
        _describe_columns(config, [*added.modules.values(), *added.again], known, n_tried)
    columns_of = columns_by_module(builder, config)
    consumed = [plain_name(name) for name in builder.consumed_source_columns()]
    core = _compile(builder, problems, branches)
    _check_histograms(core)
    kept_branches = {name for content in outputs.values() for name in content.branches}
    _check_files(index, kept_branches.union(consumed), branches)
    source = _source(config.source, index, branches)
    warnings = find_warnings(Described(config, modules, columns_of, outputs, branches.branches))
    return JobSchedule(
        core, source, added.modules, consumed, conditions, outputs, columns_of, cutflow,
        varied, warnings,
    )  # fmt: skip


def _compile(
    builder: _core.ScheduleBuilder, problems: list[str], branches: InputBranches
) -> _core.Schedule:
    try:
        core = builder.compile()
    except ConfigError as error:
        raise ConfigError([*problems, *branches.explained(error.problems)]) from None
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


def _find_reads(
    config: JobConfig,
    index: Sequence[FileIndex],
    conditions: Conditions,
    units: Units,
    modules: Mapping[str, PythonModule],
    versions: Versions,
    elsewhere: Sequence[str],
    branches: InputBranches,
) -> int | None:
    """Completes modules that do not declare what they read; see `find_reads`."""
    if all(module.is_declared for module in modules.values()):
        return None
    from forkrun.schedule.find_reads import find_reads
    from forkrun.schedule.first_events import FirstEvents, first_events

    of_unit = conditions.table.of_unit
    n_same_iov = int(np.count_nonzero(np.cumprod(of_unit == of_unit[:1])))
    one_lumi = any(module.wants_one_lumi for module in modules.values())

    def first_of(n_most: int) -> tuple[FirstEvents, int]:
        events = first_events(config.source, index, branches, units, n_same_iov, n_most, one_lumi)
        return events, int(of_unit[0]) if len(of_unit) else 0

    try:
        types = dict(branches.columns)
        return find_reads(config, modules, elsewhere, versions, types, first_of)
    except ConfigError as error:
        raise ConfigError(branches.explained(error.problems)) from None


def _describe_columns(
    config: JobConfig,
    modules: Iterable[PythonModule],
    types: Mapping[str, str],
    n_tried: int | None,
) -> None:
    """Tells modules which columns there are, and which of them they read."""
    from forkrun.modules.objects.collections import Columns, NamingRule
    from forkrun.modules.objects.reading import ModuleColumns

    known = Columns(types, NamingRule.of(config.source))
    for module in modules:
        is_found = module.module.consumes is None
        tried = n_tried if is_found else None
        columns = ModuleColumns(known, frozenset(module.consumes), tried)
        with step("vector was imported"), importing():
            columns.load_vectors(None if is_found else module.names())
        module.columns = columns


def _check_files(index: Sequence[FileIndex], used: Iterable[str], branches: InputBranches) -> None:
    problems = disagreements(index, used, branches.fills)
    if problems:
        raise InputError("\n".join(problems))


def _source(
    source: SourceConfig, index: Sequence[FileIndex], branches: InputBranches
) -> _core.TreeSource:
    return _core.TreeSource(
        [file.path for file in index],
        source.tree,
        source.run_branch,
        source.lumi_branch,
        source.event_branch,
        branches.columns,
        [file.clusters for file in index],
        [file.identity for file in index],
        branches.fills,
    )
