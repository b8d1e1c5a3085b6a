"""Constructs the modules of a job, and adds them to its schedule: each once, and once more for each
systematic variation that it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from forkrun import _core
from forkrun.base.lasting import collector_paused
from forkrun.base.nearest import suggestion
from forkrun.conditions import Conditions
from forkrun.config import JobConfig, ModuleConfig
from forkrun.config.modules import NOMINAL
from forkrun.errors import ConfigError
from forkrun.fork.steps import StepsInARow, step
from forkrun.schedule.variations import Call, Variations, Wiring
from forkrun.schedule.versions import Declared, Versions, plain_name

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


def load_modules(
    config: JobConfig, conditions: Conditions
) -> tuple[dict[str, PythonModule], list[str]]:
    """Modules that are none in C++, by label, and what is wrong with others."""
    modules: dict[str, PythonModule] = {}
    problems: list[str] = []
    for entry in config.modules:
        if is_cpp(entry):
            continue
        with step("Awkward Array was imported"), collector_paused():  # slow; C++ does not need it
            from forkrun.modules.entries import load_entry

        try:
            with step(f'module "{entry.label}" was constructed'):
                modules[entry.label] = load_entry(entry, conditions)
        except ConfigError as error:
            problems += error.problems
    return modules, problems


def is_cpp(entry: ModuleConfig) -> bool:
    """Whether a module is in C++."""
    return entry.type.startswith("cpp:")


def versions_of(config: JobConfig, modules: Mapping[str, PythonModule]) -> Versions:
    """What modules say of columns that they replace and vary."""
    return Versions(_declared(entry, modules.get(entry.label)) for entry in config.modules)


def _declared(entry: ModuleConfig, module: PythonModule | None) -> Declared:
    if module is None:
        return Declared(entry.label, entry.replaces)
    return Declared(entry.label, module.replaces, module.variations, module.only_variation)


def complete_replaced(
    versions: Versions, types: Mapping[str, str], modules: Mapping[str, PythonModule]
) -> list[str]:
    """A column that is replaced keeps its type, unless its module says another, and is read to see
    that its lists stay as long. `types`: of the input's columns. Gives what is wrong."""
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
                problems.append(
                    f'module "{label}": replaces "{name}", which neither the input nor another'
                    f" module has{suggestion(name, types)}; a new column replaces nothing"
                )
            elif module := modules.get(label):
                module.produces.setdefault(name, types[name])
                module.consumes = list(dict.fromkeys([*module.consumes, name]))
    return problems


def cpp_wirings(config: JobConfig, conditions: Conditions) -> dict[str, Wiring]:
    """What modules in C++ say that they read and make, by label; those that cannot be constructed
    are left out."""
    builder = _core.ScheduleBuilder([], config.job.seed, conditions.core)
    for entry in config.modules:
        if is_cpp(entry):
            _add_cpp_module(builder, entry, Call(entry.label, entry.label))
    return {
        label: Wiring(kind, reads, makes)
        for label, (kind, reads, makes) in builder.products_by_module().items()
        if kind != "unknown"
    }


def wirings_of(
    config: JobConfig, modules: Mapping[str, PythonModule], in_cpp: Mapping[str, Wiring]
) -> dict[str, Wiring]:
    """Those of all modules, in the order of the configuration."""
    in_python = {
        label: Wiring(module.kind, module.consumes, list(module.produces))
        for label, module in modules.items()
    }
    both = {**in_python, **in_cpp}
    return {entry.label: both[entry.label] for entry in config.modules if entry.label in both}


class Added(Struct, frozen=True):
    """What was added to a schedule. `modules`: those in Python, by label, analyzers also as they
    run again for variations; `again`: producers and filters that do; `problems`: of C++ modules."""

    modules: Mapping[str, PythonModule]
    again: Sequence[PythonModule]
    problems: Sequence[str]


def add_modules(
    builder: _core.ScheduleBuilder,
    config: JobConfig,
    conditions: Conditions,
    modules: Mapping[str, PythonModule],
    variations: Variations,
) -> Added:
    """Adds all modules in their order, and those that run again behind them."""
    entries = {entry.label: entry for entry in config.modules}
    added, again, problems = dict(modules), [], []
    steps = StepsInARow()
    for call in _in_order(config, variations):
        entry = entries[call.module]
        if is_cpp(entry):
            problems += _add_cpp_module(builder, entry, call)
            steps.end(f'module "{call.label}" was constructed')
        elif entry.label in modules:
            module = _for_call(call, modules[entry.label], entry, conditions)
            if module.kind == "analyzer":
                added[call.label] = module
            elif call.label != call.module:
                again.append(module)
            _add_python_module(builder, call, module)
    return Added(added, again, problems)


def _in_order(config: JobConfig, variations: Variations) -> list[Call]:
    """All calls; modules whose wiring is not known are as they are."""
    calls = list(variations.calls())
    known = {call.module for call in calls}
    calls += [Call(e.label, e.label) for e in config.modules if e.label not in known]
    place = {entry.label: number for number, entry in enumerate(config.modules)}
    return sorted(calls, key=lambda call: (call.label != call.module, place[call.module]))


def _for_call(
    call: Call, module: PythonModule, entry: ModuleConfig, conditions: Conditions
) -> PythonModule:
    """The module itself, or as it runs again: an analyzer as an object of its own, since it has
    histograms and sums."""
    if call.label == call.module:
        return module
    from forkrun.modules.entries import load_entry
    from forkrun.modules.varied import VariedModule

    if module.kind != "analyzer":
        return VariedModule(module, call.variation)
    other = load_entry(entry, conditions)
    other.found_out(module.consumes, None)
    other.variation, other.datasets = call.variation, module.datasets
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


def columns_by_module(builder: _core.ScheduleBuilder, config: JobConfig) -> dict[str, list[str]]:
    """Columns that each module of the configuration makes, by their plain names."""
    by_module = builder.columns_by_module()
    return {
        entry.label: list(dict.fromkeys(map(plain_name, by_module[entry.label])))
        for entry in config.modules
        if entry.label in by_module
    }


def variations_of_analyzers(
    variations: Variations, wirings: Mapping[str, Wiring]
) -> dict[str, list[str]]:
    """By label, those in which an analyzer runs again."""
    found = {
        label: variations.of_analyzer(label)
        for label, wiring in wirings.items()
        if wiring.kind == "analyzer"
    }
    return {label: [NOMINAL, *names] for label, names in found.items() if names}
