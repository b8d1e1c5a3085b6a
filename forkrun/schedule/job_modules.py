"""Modules of a job: each is constructed once, and again for each systematic variation that affects
it. Their inputs and products determine the versions of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.base.importing import collector_paused
from forkrun.conditions import Conditions
from forkrun.config.model import JobConfig
from forkrun.config.modules import ModuleConfig
from forkrun.errors import ConfigError
from forkrun.fork.hazards import StepsInARow, step
from forkrun.index.whole_input import ColumnNames
from forkrun.modules.program.dependence import JobCode
from forkrun.plan.model import Units
from forkrun.plan.select import EventCounts
from forkrun.schedule.datasets import find_datasets
from forkrun.schedule.found_out import FoundOut, Tried
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.job_schedule import may_fork
from forkrun.schedule.problems import problems_before_trial
from forkrun.schedule.trial.cpp import CppModules
from forkrun.schedule.variations import Call, Variations, Wiring
from forkrun.schedule.versions import Declared, Versions, plain_name

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class ScheduleInput(Struct, frozen=True):
    """Input for building a schedule. `branches`: of the input; `units`: of the plan, the first of
    which serve to find the reads of undeclared modules unless `known`; `counts`: events of each
    file, None if all of them count; `code`: of all modules of the job, if looked at already."""

    config: JobConfig
    branches: InputBranches
    conditions: Conditions
    units: Units
    known: FoundOut | None = None
    counts: EventCounts | None = None
    code: JobCode | None = None


class JobModules(Struct, frozen=True):
    """Modules of a job, in its `builder`. `modules`: Python modules that could be constructed, by
    label; `added`: the same, with analyzers repeated for variations; `again`: repeated producers
    and filters, by label; `columns_of`: by label, plain names of columns that a module makes;
    `found`: what modules left undeclared; `problems`: of modules."""

    builder: _core.ScheduleBuilder
    modules: Mapping[str, PythonModule]
    added: Mapping[str, PythonModule]
    again: Mapping[str, PythonModule]
    versions: Versions
    variations: Variations
    columns_of: Mapping[str, Sequence[str]]
    found: FoundOut
    problems: Sequence[str]
    code: JobCode


def construct_modules(given: ScheduleInput, can_call: bool) -> JobModules:
    """Constructs the modules. `can_call`: they may be called to find their reads. Raises
    ConfigError for replaced columns that do not exist."""
    config, types = given.config, dict(given.branches.columns)
    modules, problems = _load_modules(config, given.conditions)
    code = given.code or JobCode.of(modules)
    undeclared = [label for label, module in modules.items() if not module.is_declared]
    if given.known:
        given.known.tell(modules)
    versions = Versions(_declared(entry, modules.get(entry.label)) for entry in config.modules)
    first = [(versions.first.get(name, name), kind) for name, kind in types.items()]
    builder = _core.ScheduleBuilder(first, config.job.seed, given.conditions.core)
    in_cpp, wrong_parameters = _construct_cpp(builder, config, modules, versions)
    known_sums = given.known.sums_of_weights if given.known and given.known.branches else None
    files, counts = given.branches.files, given.counts
    datasets = find_datasets(config, files, given.units, counts, known_sums)
    for label, module in modules.items():
        module.datasets = datasets
        if module.knows_dataset:
            lacked = given.branches.lacked.items()
            module.lacked = {n: versions.of_input(label, names) for n, names in lacked}
    known = given.known
    tried = Tried(known.n_tried, known.imports, rate=known.rate) if known else Tried()
    found = FoundOut({})
    if can_call and not problems:
        if not all(module.is_declared for module in modules.values()):
            labels = [entry.label for entry in config.modules]
            early = problems_before_trial(labels, config.paths, modules, in_cpp, types)
            if early := [*wrong_parameters, *early]:
                raise ConfigError(early)
        made = {plain_name(product): kind for product, kind in builder.produced_columns()}
        entries = {entry.label: entry for entry in config.modules}
        cpp = CppModules(entries, in_cpp, made, config.job.seed, given.conditions.core)
        sums = datasets.sums_of_weights if datasets else {}
        tried = _find_reads(given, code, modules, versions, cpp, sums) or tried
        found = FoundOut.of(modules, undeclared, tried, given.branches.known, sums)
        names = given.branches.names
        if wrong := _complete_replaced(versions, types, modules, names):
            raise ConfigError(wrong)
    variations = Variations(versions, _wirings(config, modules, in_cpp), config.paths)
    added, again, more = _add_modules(builder, given, modules, variations)
    for label, module in added.items():
        varies = int(plain_name(label) in variations.of_analyzers)
        module.separate_datasets(label, datasets, varies)
    return JobModules(
        builder, modules, added, again, versions, variations, _columns_of(builder, config), found,
        [*problems, *wrong_parameters, *more], code,
    )  # fmt: skip


def _load_modules(
    config: JobConfig, conditions: Conditions
) -> tuple[dict[str, PythonModule], list[str]]:
    """Returns Python modules by label, and problems with those that failed to load."""
    modules: dict[str, PythonModule] = {}
    problems: list[str] = []
    for entry in config.modules:
        if is_cpp(entry):
            continue
        try:
            modules[entry.label] = _load(entry, conditions)
        except ConfigError as error:
            problems += error.problems
    return modules, problems


def _load(entry: ModuleConfig, conditions: Conditions) -> PythonModule:
    with step("Awkward Array was imported"), collector_paused():  # slow; C++ does not need it
        from forkrun.modules.entries import load_entry

    with step(f'module "{entry.label}" was constructed'):
        return load_entry(entry, conditions)


def is_cpp(entry: ModuleConfig) -> bool:
    """Whether the module is written in C++."""
    return entry.type.startswith("cpp:")


def _declared(entry: ModuleConfig, module: PythonModule | None) -> Declared:
    if module is None:
        return Declared(entry.label, entry.replaces)
    return Declared(entry.label, module.replaces, module.variations, module.only_variation)


def _construct_cpp(
    builder: _core.ScheduleBuilder,
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    versions: Versions,
) -> tuple[dict[str, Wiring], list[str]]:
    """Constructs the C++ modules, reserving places between them for Python modules, which are added
    once their reads are known. Returns the wirings of constructed modules, and problems with
    parameters."""
    problems: list[str] = []
    names: dict[str, dict[str, str]] = {}
    steps = StepsInARow()
    for entry in config.modules:
        if entry.label in modules:
            builder.reserve_module(entry.label)
        elif is_cpp(entry):
            sees, makes = versions.nominal_names(entry.label)
            call = Call(entry.label, entry.label, sees=sees, makes=makes)
            problems += _add_cpp_module(builder, entry, call)
            steps.end(f'module "{entry.label}" was constructed')
            both = (*sees.items(), *makes.items())
            names[entry.label] = {product: name for name, product in reversed(both)}
    return {
        label: Wiring(
            kind,
            [names[label].get(product, product) for product in reads],
            [names[label].get(product, product) for product in makes],
        )
        for label, (kind, reads, makes) in builder.products_by_module().items()
        if label in names and kind != "unknown"
    }, problems


def _find_reads(
    given: ScheduleInput,
    code: JobCode,
    modules: Mapping[str, PythonModule],
    versions: Versions,
    cpp: CppModules,
    sums: Mapping[str, float],
) -> Tried | None:
    """Completes modules with undeclared reads: from earlier trials where nothing has changed, see
    `KeptFindings`, or else by a trial, see `find_reads`. `sums`: of weights, by dataset."""
    if all(module.is_declared for module in modules.values()):
        return None
    from forkrun.modules.objects.collections import Columns, NamingRule
    from forkrun.schedule.trial.find_reads import find_reads
    from forkrun.schedule.trial.first_events import FirstEvents, first_events
    from forkrun.schedule.trial.kept import KeptFindings
    from forkrun.schedule.trial.rounds import ENOUGH_EVENTS

    config, branches = given.config, given.branches
    one_lumi = any(module.wants_one_lumi for module in modules.values())

    def first_of(n_most: int) -> Iterator[tuple[FirstEvents, int]]:
        for iov, numbers in _data_and_simulation(given):
            found = first_events(config.source, branches, given.units, numbers, n_most, one_lumi)
            yield found, iov

    source = config.source
    rule = NamingRule(source.collections, source.fields, branches.names_of_trees)
    types = {**dict(branches.columns), **cpp.types}
    known = Columns(types, rule, branches.names)
    facts = [
        types, branches.names_of_trees, branches.fills, sums, config.recovery.on_bad_event,
        may_fork(config.forking.children),
        {number: sorted(names) for number, names in branches.lacked.items()},
    ]  # fmt: skip
    payloads = given.conditions.files()
    kept = KeptFindings.of(config, code, payloads, modules, first_of(ENOUGH_EVENTS), facts)
    before = kept.tell(modules)
    tried = find_reads(config, modules, cpp, versions, known, first_of)
    if tried is None:
        return before
    tried = tried.after(before) if before else tried
    kept.keep(modules, tried)
    return tried


def _data_and_simulation(given: ScheduleInput) -> Iterator[tuple[int, list[int]]]:
    """IOV and numbers of the first units of each kind of dataset, up to the first change of IOV."""
    datasets = given.config.datasets
    kinds = [_kind(given, number) for number in range(len(datasets))] or [0]
    kind_of = given.units.of_file([kinds[file.dataset] for file in given.branches.files])
    of_unit = given.conditions.table.of_unit
    for kind in dict.fromkeys(kind_of.tolist()) or [0]:
        numbers = np.flatnonzero(kind_of == kind)
        iov = int(of_unit[numbers[0]]) if len(numbers) else 0
        yield iov, numbers[np.cumprod(of_unit[numbers] == iov).astype(np.bool_)].tolist()


def _kind(given: ScheduleInput, dataset: int) -> int:
    """Number of the first dataset that is data or simulation like this one and lacks the same
    columns: modules may read different columns in each kind."""
    datasets, lacked = given.config.datasets, given.branches.lacked

    def of(number: int) -> tuple[bool, frozenset[str]]:
        return datasets[number].is_data, lacked.get(number, frozenset())

    return next(number for number in range(len(datasets)) if of(number) == of(dataset))


def _complete_replaced(
    versions: Versions,
    types: Mapping[str, str],
    modules: Mapping[str, PythonModule],
    names: ColumnNames,
) -> list[str]:
    """Completes replaced columns: each keeps its type, unless its module declares another, and is
    read to check that list lengths are unchanged. `types`: of input columns. Returns problems."""
    problems = []
    made = {
        name: kind
        for module in modules.values()
        for name, kind in module.produces.items()
        if name not in module.replaces
    }
    types = {**made, **types}
    for label, declared in versions.modules.items():
        for name in declared.replaces:
            if name not in types:
                why = names.missing(name, types, "neither the input nor another module has")
                problems.append(f'module "{label}": replaces "{name}": {why}')
            elif module := modules.get(label):
                module.produces.setdefault(name, types[name])
                module.consumes = list(dict.fromkeys([*module.consumes, name]))
    return problems


def _wirings(
    config: JobConfig, modules: Mapping[str, PythonModule], in_cpp: Mapping[str, Wiring]
) -> dict[str, Wiring]:
    """Wirings of all modules, in configuration order."""
    in_python = {
        label: Wiring(module.kind, module.consumes, list(module.produces))
        for label, module in modules.items()
    }
    both = {**in_python, **in_cpp}
    return {entry.label: both[entry.label] for entry in config.modules if entry.label in both}


def _add_modules(
    builder: _core.ScheduleBuilder,
    given: ScheduleInput,
    modules: Mapping[str, PythonModule],
    variations: Variations,
) -> tuple[dict[str, PythonModule], dict[str, PythonModule], list[str]]:
    """Adds Python modules, then repeated calls of all modules. Returns Python modules by label,
    with repeated analyzers; repeated producers and filters; and problems."""
    entries = {entry.label: entry for entry in given.config.modules}
    added, again = dict(modules), {}
    problems: list[str] = []
    steps = StepsInARow()
    for call in sorted(variations.calls, key=lambda call: call.label != call.module):
        entry, is_first = entries[call.module], call.label == call.module
        if is_cpp(entry):
            if not is_first:
                problems += _add_cpp_module(builder, entry, call)
                steps.end(f'module "{call.label}" was constructed')
            continue
        module = _for_call(call, modules[entry.label], entry, given.conditions)
        if module.kind == "analyzer":
            added[call.label] = module
        elif not is_first:
            again[call.label] = module
        _add_python_module(builder, call, module)
    return added, again, problems


def _for_call(
    call: Call, module: PythonModule, entry: ModuleConfig, conditions: Conditions
) -> PythonModule:
    """The module itself for its first call, or a repeated one: analyzers become separate objects,
    since they own histograms and sums."""
    if call.label == call.module:
        return module
    from forkrun.modules.python_module import VariedModule

    if module.kind != "analyzer":
        return VariedModule(module, call.variation)
    other = _load(entry, conditions)
    other.found_out(module.consumes, None)
    other.variation, other.datasets = call.variation, module.datasets
    other.lacked = module.lacked
    return other


def _add_python_module(builder: _core.ScheduleBuilder, call: Call, module: PythonModule) -> None:
    builder.add_python_module(
        call.label, module.kind, module, module.consumes, module.produces,
        module.random_name or (call.module if call.label != call.module else ""),
        module.one_lumi, call.sees, call.makes,
    )  # fmt: skip


def _add_cpp_module(builder: _core.ScheduleBuilder, entry: ModuleConfig, call: Call) -> list[str]:
    limit = entry.concurrency if isinstance(entry.concurrency, int) else None
    word = entry.concurrency if isinstance(entry.concurrency, str) else ""
    try:
        builder.add_cpp_module(
            call.label,
            entry.type.removeprefix("cpp:"),
            entry.params,
            "limited" if limit else word,
            limit or 1,
            entry.instances or "",
            entry.resources,
            call.sees,
            call.makes,
        )
    except TypeError:
        kinds = "true or false, numbers, strings and lists of one of them"
        return [f'module "{entry.label}": parameters of C++ modules are {kinds}']
    return []


def _columns_of(builder: _core.ScheduleBuilder, config: JobConfig) -> dict[str, list[str]]:
    """Plain names of columns that each configured module makes."""
    by_module = builder.columns_by_module()
    return {
        entry.label: list(dict.fromkeys(map(plain_name, by_module[entry.label])))
        for entry in config.modules
        if entry.label in by_module
    }
