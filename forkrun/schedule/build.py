"""From a configuration and an index to a compiled schedule, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forkrun import _core
from forkrun.base.awkward_array import load_awkward
from forkrun.base.column_types import ColumnType
from forkrun.base.lasting import collector_paused
from forkrun.conditions import Conditions
from forkrun.config import JobConfig, SourceConfig
from forkrun.errors import ConfigError, InputError
from forkrun.fork.steps import step
from forkrun.formats import EventSource
from forkrun.histograms.root_file import sums_of_core
from forkrun.histograms.sums import check_names
from forkrun.histograms.varied import axes_problems
from forkrun.index import FileIndex, format_of_input
from forkrun.plan import Units
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.branches import disagreements
from forkrun.schedule.cutflow import Cutflow, add_paths, weight_problems
from forkrun.schedule.found_out import FoundOut
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.job_modules import (
    Added,
    add_modules,
    columns_by_module,
    is_cpp,
    variations_of_analyzers,
)
from forkrun.schedule.job_schedule import JobSchedule, may_read_ahead, n_filling
from forkrun.schedule.outputs import add_output, output_format_problems
from forkrun.schedule.plugins import load_plugins
from forkrun.schedule.varied_outputs import varied_of, with_variations
from forkrun.schedule.versions import is_plain, plain_name
from forkrun.schedule.warnings import Described, find_warnings
from forkrun.schedule.wired_modules import WiredModules, wire_modules

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


def build_schedule(
    config: JobConfig,
    index: Sequence[FileIndex],
    conditions: Conditions,
    units: Units,
    known: FoundOut | None = None,
) -> JobSchedule:
    """Constructs all modules and checks them against each other and against the input; finds out
    what those read that do not declare it, with the first of `units`, if it is not `known`. Raises
    ConfigError with every problem; InputError if files disagree about branches that are used."""
    branches = InputBranches.of(index, config.source.branches)
    types = dict(branches.columns)
    problems = load_plugins(config)
    wired = wire_modules(config, index, conditions, units, branches, not problems, known)
    problems += wired.problems
    first = [(wired.versions.first(name), kind) for name, kind in types.items()]
    builder = _core.ScheduleBuilder(first, config.job.seed, conditions.core)
    added = add_modules(builder, config, conditions, wired.modules, wired.variations)
    problems += added.problems
    produced = {name: kind for name, kind in builder.produced_columns() if is_plain(name)}
    columns = {**types, **produced}
    each_output, of_outputs = with_variations(config.outputs, wired.variations)
    problems += of_outputs
    problems += output_format_problems(config, index)
    config = config.model_copy(update={"outputs": tuple(each_output)})
    cutflow = _add_paths(builder, config, wired, columns, problems)
    outputs = _add_outputs(builder, config, wired, branches, problems)
    varied = variations_of_analyzers(wired.variations, wired.wirings)
    _describe(config, wired, added, varied, columns)
    columns_of = columns_by_module(builder, config)
    consumed = [plain_name(name) for name in builder.consumed_source_columns()]
    core = _compile(builder, problems, branches)
    core.share_histograms(n_filling(config.threads))
    _check_histograms(core, wired.modules, varied)
    _check_files(index, outputs, consumed, branches)
    return JobSchedule(
        core, _source(config.source, index, branches), added.modules, consumed,
        conditions, outputs, columns_of, cutflow, varied,
        bool(added.modules) and may_read_ahead(config),
        find_warnings(
            Described(
                config, wired.modules, columns_of, outputs, branches.branches, branches.friends,
                {file.path: file.stored_friends for file in index if file.stored_friends},
            )
        ),
        config.outputs, wired.found,
    )  # fmt: skip


def _add_paths(
    builder: _core.ScheduleBuilder,
    config: JobConfig,
    wired: WiredModules,
    columns: Mapping[str, str],
    problems: list[str],
) -> Cutflow:
    """Adds the paths, those of variations behind them."""
    failed = {entry.label for entry in config.modules if not is_cpp(entry)} - wired.modules.keys()
    weight = config.monitoring.cutflow_weight
    wrong_weight = weight_problems(weight, columns)
    problems += wrong_weight
    counted = "" if wrong_weight else weight
    return add_paths(builder, config, wired.modules, wired.variations, failed, counted)


def _add_outputs(
    builder: _core.ScheduleBuilder,
    config: JobConfig,
    wired: WiredModules,
    branches: InputBranches,
    problems: list[str],
) -> dict[str, OutputContent]:
    """Adds the outputs, in which a column that is replaced is a new one."""
    outputs = {}
    for output in config.outputs:
        varied = wired.variations.columns(output.variation) if output.variation else {}
        outputs[output.label], of_output = add_output(
            builder,
            output,
            branches.without({*wired.versions.replaced, *varied}),
            _columns_of(builder, varied),
            config.source,
            list(config.paths),
            varied_of(output, wired.variations),
        )
        problems += of_output
    return outputs


def _columns_of(
    builder: _core.ScheduleBuilder, varied: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Products and types of columns of modules, in the order of the schedule. `varied`: those of a
    variation that are other products in it."""
    products = set(varied.values())
    return {
        plain_name(product): (product, kind)
        for product, kind in builder.produced_columns()
        if product in products or (is_plain(product) and product not in varied)
    }


def _describe(
    config: JobConfig,
    wired: WiredModules,
    added: Added,
    varied: Mapping[str, Sequence[str]],
    columns: Mapping[str, str],
) -> None:
    """Tells modules in Python of datasets, and of all columns."""
    for label, module in added.modules.items():
        module.keep_apart(label, wired.datasets, int(plain_name(label) in varied))
    if wired.modules:
        both = [*added.modules.values(), *added.again]
        _describe_columns(config, both, columns, wired.found.n_tried)


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


def _check_histograms(
    core: _core.Schedule,
    modules: Mapping[str, PythonModule],
    varied: Mapping[str, Sequence[str]],
) -> None:
    """Checks what the core does not of C++ modules' histograms; `book` checks those in Python. Then
    whether those that vary have room for it."""
    names: dict[str, list[str]] = {}
    n_axes = {
        (label, name): len(booked.histogram.axes)
        for label, module in modules.items()
        for name, booked in module.histograms().items()
    }
    n_axes |= {(h.module, h.name): len(h.axes) for h in core.histograms()}
    problems = axes_problems(n_axes, varied)
    for histogram in core.histograms():
        names.setdefault(histogram.module, []).append(histogram.name)
        try:
            check_names(names[histogram.module])
            sums_of_core(histogram)
        except ValueError as error:
            problems.append(f'module "{histogram.module}", histogram "{histogram.name}": {error}')
    if problems:
        raise ConfigError(problems)


def _describe_columns(
    config: JobConfig,
    modules: Iterable[PythonModule],
    types: Mapping[str, str],
    n_tried: int | None,
) -> None:
    """Tells modules which columns there are, and which of them they read."""
    from forkrun.modules.expression_functions import OF_AWKWARD
    from forkrun.modules.objects.collections import Columns, NamingRule
    from forkrun.modules.objects.reading import ModuleColumns

    known = Columns(types, NamingRule.of(config.source))
    for module in modules:
        is_found = module.module.consumes is None
        tried = n_tried if is_found else None
        columns = ModuleColumns(known, frozenset(module.consumes), tried)
        names = module.names()
        with step("Awkward and vector were imported"), collector_paused():
            if _has_lists(module, types) or not names.isdisjoint(OF_AWKWARD):
                load_awkward()
            columns.load_vectors(None if is_found else names)
        module.columns = columns


def _has_lists(module: PythonModule, types: Mapping[str, str]) -> bool:
    """Whether it reads or makes columns that are Awkward Arrays."""
    read = (types[name] for name in module.consumes if name in types)
    return any(ColumnType.of(kind).n_levels > 0 for kind in (*read, *module.produces.values()))


def _check_files(
    index: Sequence[FileIndex],
    outputs: Mapping[str, OutputContent],
    consumed: Iterable[str],
    branches: InputBranches,
) -> None:
    kept_branches = {name for content in outputs.values() for name in content.branches}
    problems = disagreements(index, kept_branches.union(consumed), branches.fills)
    if problems:
        raise InputError("\n".join(problems))


def _source(
    source: SourceConfig, index: Sequence[FileIndex], branches: InputBranches
) -> _core.Source:
    events = EventSource(
        files=[file.path for file in index],
        tree=source.tree,
        ids=(source.run_branch, source.lumi_branch, source.event_branch),
        columns=branches.columns,
        clusters=[file.clusters for file in index],
        identities=[file.identity for file in index],
        fills=branches.fills,
        friends=_friends(index),
        friend_columns={n: (number, b.name) for n, (number, b) in branches.friends.items()},
    )
    return format_of_input(index).source(events)


def _friends(index: Sequence[FileIndex]) -> list[Any]:
    """Tree, branches of ids and parts of each friend."""
    of_files = zip(*(file.friends for file in index), strict=True)
    return [
        (
            parts[0].tree,
            list(parts[0].ids),
            [(part.path, part.first_entry, part.identity) for part in parts],
        )
        for parts in of_files
    ]
