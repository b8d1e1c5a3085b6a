"""Compiles a schedule from a configuration and an index, or reports every problem with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forkrun import _core
from forkrun.config.datasets import WEIGHT
from forkrun.config.model import JobConfig
from forkrun.config.source import SourceConfig
from forkrun.errors import ConfigError, InputError
from forkrun.formats import EventSource
from forkrun.histograms.finished import axes_problems
from forkrun.histograms.parts import HistogramNames
from forkrun.histograms.root_file import sums_of_core
from forkrun.index.model import FileIndex
from forkrun.plan.model import Units
from forkrun.schedule.cutflow import Cutflow, add_paths, weight_problems
from forkrun.schedule.datasets import is_made_with
from forkrun.schedule.input_branches import Fill, InputBranches
from forkrun.schedule.job_modules import JobModules, ScheduleInput, construct_modules, is_cpp
from forkrun.schedule.job_schedule import JobSchedule, may_fork, may_read_ahead
from forkrun.schedule.outputs import add_outputs, with_format, with_variations
from forkrun.schedule.plugins import load_plugins
from forkrun.schedule.problems import file_problems
from forkrun.schedule.versions import is_plain, plain_name
from forkrun.schedule.warnings import Described, find_warnings

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


_MOST_KEPT_BYTES = 256 << 20
"""Limit on unpacked input per child, for entries that are read out of order."""


def build_schedule(given: ScheduleInput) -> JobSchedule:
    """Constructs all modules and checks them against each other and the input. Raises ConfigError
    with every problem; InputError if files disagree about branches in use."""
    try:
        return _built(given)
    except ConfigError as error:
        names = given.branches.names
        problems = [names.explained(problem) for problem in error.problems]
        raise ConfigError(given.branches.explained(problems)) from None


def _built(given: ScheduleInput) -> JobSchedule:
    config, branches = given.config, given.branches
    problems = load_plugins(config.job.plugins)
    job = construct_modules(given, not problems)
    problems += job.problems
    builder = job.builder
    produced = {name: kind for name, kind in builder.produced_columns() if is_plain(name)}
    columns = {**dict(branches.columns), **produced}
    labels = {entry.label for entry in config.modules}
    each_output, of_outputs = with_variations(config.outputs, job.variations, labels)
    problems += of_outputs
    each_output = [with_format(output, branches.format) for output in each_output]
    config = config.replaced({"outputs": tuple(each_output)})
    cutflow = _add_paths(config, job, columns, branches, problems)
    outputs = add_outputs(config, job, branches, problems)
    if job.modules:
        _describe_columns(job, columns, config.source, branches)
        if may_fork(config.forking.children):
            from forkrun.schedule.imports_ahead import import_ahead

            import_ahead([*job.added.values(), *job.again.values()], job.found.imports)
    consumed = [plain_name(name) for name in builder.consumed_source_columns()]
    weight = config.monitoring.cutflow_weight
    excused = _excused(job, branches, config)
    are_normalised = is_made_with(WEIGHT, weight, builder.products_by_module())
    wiring = builder.products_by_module()
    core = _compile(builder, problems)
    core.share_histograms(config.threads.n_filling)
    _check_histograms(core, job.modules, job.variations.of_analyzers)
    if wrong := file_problems(branches, outputs, consumed, excused):
        raise InputError("\n".join(wrong))
    fills = _with_unasked(branches, excused)
    source = _source(config.source, branches, given.units, consumed, fills)
    return JobSchedule(
        core, source, job.added, consumed, given.conditions, outputs, job.columns_of, cutflow,
        job.variations.of_analyzers, bool(job.added) and may_read_ahead(config),
        find_warnings(Described(config, job.modules, job.columns_of, outputs, branches)),
        config.outputs, job.found, are_normalised, _wants_one_lumi(core, config, job),
        branches.format.name, code=job.code, wiring=wiring,
    )  # fmt: skip


def _wants_one_lumi(core: _core.Schedule, config: JobConfig, job: JobModules) -> bool:
    """Whether each block must hold one lumi only. A module that runs again is one object, whose
    callbacks serve all its calls."""
    _, n_blocks, *_ = config.threads.in_flight
    wanted = any(module.module.one_lumi == "job" for module in job.modules.values())
    again = any(module.has_transitions for module in job.again.values())
    return core.wants_one_lumi(n_blocks) or wanted or again


def _add_paths(
    config: JobConfig,
    job: JobModules,
    columns: Mapping[str, str],
    branches: InputBranches,
    problems: list[str],
) -> Cutflow:
    """Adds the paths; paths of variations come last."""
    failed = {entry.label for entry in config.modules if not is_cpp(entry)} - job.modules.keys()
    weight = config.monitoring.cutflow_weight
    wrong_weight = weight_problems(weight, columns, branches.names)
    problems += wrong_weight
    counted = "" if wrong_weight else weight
    modules = {**job.modules, **job.again}
    return add_paths(job.builder, config, modules, job.variations, failed, counted)


def _compile(builder: _core.ScheduleBuilder, problems: list[str]) -> _core.Schedule:
    try:
        core = builder.compile()
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from None
    if problems:
        raise ConfigError(problems)
    return core


def _check_histograms(
    core: _core.Schedule,
    modules: Mapping[str, PythonModule],
    varied: Mapping[str, Sequence[str]],
) -> None:
    """Checks C++ modules' histograms where the core does not (`book` checks those in Python), and
    that varied histograms have room for another axis."""
    names: defaultdict[str, HistogramNames] = defaultdict(HistogramNames)
    n_axes = {
        (label, name): len(booked.histogram.axes)
        for label, module in modules.items()
        for name, booked in module.histograms().items()
    }
    n_axes |= {(h.module, h.name): len(h.axes) for h in core.histograms()}
    problems = axes_problems(n_axes, varied)
    for histogram in core.histograms():
        try:
            names[histogram.module].add(histogram.name)
            sums_of_core(histogram)
        except ValueError as error:
            problems.append(f'module "{histogram.module}", histogram "{histogram.name}": {error}')
    if problems:
        raise ConfigError(problems)


def _describe_columns(
    job: JobModules, types: Mapping[str, str], source: SourceConfig, branches: InputBranches
) -> None:
    """Tells Python modules the known columns, and which of them they read."""
    from forkrun.modules.objects.collections import Columns, NamingRule
    from forkrun.modules.objects.reading import ModuleColumns

    rule = NamingRule(source.collections, source.fields, branches.names_of_trees)
    known = Columns(types, rule, branches.names)
    modules = (*job.added.values(), *job.again.values())
    made = frozenset(name for module in modules for name in module.produces)
    for module in modules:
        tried = job.found.n_tried if module.module.consumes is None else None
        module.columns = ModuleColumns(known, frozenset(module.consumes), tried, made)


def _excused(
    job: JobModules, branches: InputBranches, config: JobConfig
) -> dict[int, frozenset[str]]:
    """Columns that the files of a dataset lack and that no module always reads, by dataset
    number."""
    return {
        number: lacked - _always_read(job, config.datasets[number].is_data)
        for number, lacked in branches.lacked.items()
    }


def _always_read(job: JobModules, is_data: bool) -> set[str]:
    """Input columns read in every event of data, or of simulation. Modules that know the dataset
    request the others only where present."""
    of_input = {*job.builder.consumed_source_columns()}
    read: set[str] = set()
    for label, (_, reads, _) in job.builder.products_by_module().items():
        own = {plain_name(product) for product in of_input.intersection(reads)}
        module = job.modules.get(plain_name(label))
        read |= own if module is None else own & module.always_read(is_data)
    return read


def _with_unasked(
    branches: InputBranches, excused: Mapping[int, frozenset[str]]
) -> dict[str, Fill]:
    """Fill values of columns that files lack. The core makes all columns of a module before calling
    it; columns not requested in a dataset may have any value there."""
    names = frozenset[str]().union(*excused.values())
    unasked = {name: (0.0, branches.readable[name].counter) for name in names}
    return {**unasked, **branches.fills}


def _source(
    source: SourceConfig,
    branches: InputBranches,
    units: Units,
    expected: Sequence[str],
    fills: Mapping[str, Fill],
) -> _core.Source:
    index = branches.files
    events = EventSource(
        files=[file.path for file in index],
        tree=source.tree,
        ids=source.ids[1:],
        columns=branches.columns,
        clusters=[() if file.unreadable else file.clusters for file in index],
        identities=[file.identity for file in index],
        fills=fills,
        friends=_friends(index),
        friend_columns={
            name: (number, branch.name, branches.fills_of_friends.get(name, 0.0))
            for name, (number, branch) in branches.friends.items()
        },
        n_kept_bytes=_MOST_KEPT_BYTES if units.are_out_of_order else 0,
        expected=expected,
        trees=[file.tree for file in index] if any(file.tree for file in index) else (),
    )
    return branches.format.source(events)


def _friends(index: Sequence[FileIndex]) -> list[Any]:
    """For each friend: its id branches, its parts and the memory for unpacked data."""
    return [
        (
            parts[0].ids,
            [([file[:3] for file in part.files], part.partners.columns) for part in parts],
            _MOST_KEPT_BYTES if any(part.partners.is_reordered for part in parts) else 0,
        )
        for parts in zip(*(file.friends for file in index), strict=True)
    ]
