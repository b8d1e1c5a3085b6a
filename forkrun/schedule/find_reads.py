"""Finds out what modules read and make that do not declare it: each is called with the first
events of the job, in a forked copy of this process, which then ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import asdict, replace

from forkrun.base.wait_status import describe_status
from forkrun.config import JobConfig
from forkrun.errors import ConfigError, ModuleError
from forkrun.fork.failure import from_record
from forkrun.fork.helper import Ended, ask_helper
from forkrun.modules.code_names import mentions
from forkrun.modules.objects.collections import Columns
from forkrun.modules.program.reached import unchanged
from forkrun.modules.python_module import PythonModule
from forkrun.schedule.cpp_trial import CppModules
from forkrun.schedule.first_events import FirstEvents
from forkrun.schedule.found_out import Tried
from forkrun.schedule.job_schedule import may_fork
from forkrun.schedule.trial import Finding, Trial, TrialFailed
from forkrun.schedule.versions import Versions

_N_EVENTS = (1_000, 32_000)
"""More, where filters leave none of the first ones for a module behind them."""
_LIMIT_S = 30.0
"""Modules that hang are found by the job itself, which knows the event."""

_BY_NUMBER = {"getattr", "objects"}
"""Ways to columns whose names are computed."""

FirstOf = Callable[[int], Iterable[tuple[FirstEvents, int]]]
"""Gives the first n events of the job, and their IOV: those of data and those of simulation."""


def find_reads(
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    cpp: CppModules,
    versions: Versions,
    known: Columns,
    first_of: FirstOf,
) -> Tried | None:
    """Completes modules that do not declare what they read. `cpp`: modules in C++;
    `versions`: of columns; `known`: columns of the input and of these. None: nothing had to be
    found out. Raises ModuleError if a module fails with the events, ConfigError if it asks for a
    column that there is not."""
    _leave_out(modules, known.types)
    if all(module.is_declared for module in modules.values()):
        return None
    found: dict[str, Finding] = {}
    n, died = 0, ""
    for n_most in _N_EVENTS:
        tried = list(first_of(n_most))
        n, died = sum(len(events) for events, _ in tried), ""
        for events, iov in tried:
            more, why = _try(config, modules, cpp, versions, known, events, iov)
            found, died = _joined(found, more), died or why
        missing = [k for k, m in modules.items() if not m.is_declared and k not in found]
        if not missing or all(events.is_all for events, _ in tried):
            break
    _complete(modules, found, known, died)
    imports = dict.fromkeys(name for each in found.values() for name in each.imports)
    return Tried(n, list(imports))


def _joined(found: Mapping[str, Finding], more: Mapping[str, Finding]) -> dict[str, Finding]:
    """What is known when modules were called with other events as well."""
    joined = {**more, **found}
    for label in found.keys() & more.keys():
        reads = dict.fromkeys((*found[label].reads, *more[label].reads))
        imports = dict.fromkeys((*found[label].imports, *more[label].imports))
        joined[label] = replace(found[label], reads=list(reads), imports=list(imports))
    return joined


def _leave_out(modules: Mapping[str, PythonModule], types: Mapping[str, str]) -> None:
    """Takes classes that mention no column as those that read none: they are not called, whatever
    they would do."""
    columns = [*types, *(name for module in modules.values() for name in module.produces)]
    is_known = all(m.produces for m in modules.values() if m.kind == "producer")
    for module in modules.values():
        is_class = not hasattr(module.module, "function")
        if is_known and is_class and not module.is_declared:
            names = module.names()
            if not mentions(names, columns) and not names & _BY_NUMBER:
                module.found_out([], None)


def _try(
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    cpp: CppModules,
    versions: Versions,
    known: Columns,
    events: FirstEvents,
    iov: int,
) -> tuple[dict[str, Finding], str]:
    """What is found, and how the process died that looked for it, "" if it did not."""
    can_fork = may_fork(config.forking.children)
    work = partial(_work, config, modules, cpp, versions, known, events, iov, can_fork)
    said: list[Any] = []
    died = ""
    if can_fork:
        died = _death(ask_helper(work, said.append, limit_s=_LIMIT_S))
    else:
        with unchanged(modules.values()):
            work(said.append)
        for module in modules.values():
            module.clear()
    findings = [Finding(**each) for each in said]
    for refused in (each.refusal for each in findings if each.refusal):
        raise from_record(dict(refused))
    if failed := [each for each in findings if each.error]:
        label, error = failed[0].label, failed[0].error
        if failed[0].is_name:
            raise ConfigError(f'module "{label}": {error}')
        raise ModuleError(
            f'module "{label}" failed with the first {len(events):,} events of the job, which show'
            f" what it reads: {error}"
        )
    return {each.label: each for each in findings}, died


def _death(ended: Ended) -> str:
    """How the process died, "" if it did not."""
    if not ended.exit_code:
        return ""
    late = f"it took more than {_LIMIT_S:.0f} s" if ended.is_late else ""
    return late or str(ended.failure or describe_status(ended.exit_code))


def _work(
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    cpp: CppModules,
    versions: Versions,
    known: Columns,
    events: FirstEvents,
    iov: int,
    with_callbacks: bool,
    say: Callable[[Any], None],
) -> None:
    imported = list(sys.modules)
    if with_callbacks:
        _begin(modules, events)
    trial = Trial(
        modules, config.paths, cpp, versions, known, events, iov,
        lambda found: say(asdict(found)), with_callbacks, imported,
    )  # fmt: skip
    try:
        trial.run()
    except TrialFailed:
        return


def _begin(modules: Mapping[str, PythonModule], events: FirstEvents) -> None:
    """The callbacks that a module may have before its first block."""
    for module in modules.values():
        if module.is_declared:
            continue
        run, lumi = events.lumis[0][:2] if events.lumis else (1, 1)
        dataset = 0
        if module.datasets and events.ranges:
            dataset = module.datasets.number(events.ranges[0].file)
        for name, arguments in (
            ("pre_fork", ()), ("post_fork", (0,)), ("begin_job", ()), ("begin_iov", (0,)),
            ("begin_dataset", (dataset,)), ("begin_run", (run,)), ("begin_lumi", (run, lumi)),
        ):  # fmt: skip
            if callback := getattr(module, name, None):
                callback(*arguments)


def _complete(
    modules: Mapping[str, PythonModule],
    found: Mapping[str, Finding],
    of_input: Columns,
    died: str,
) -> None:
    made = {n: t for each in found.values() for n, t in (each.produces or {}).items()}
    known = of_input.with_types({**of_input.types, **made})
    problems = []
    for label, module in modules.items():
        if module.is_declared:
            continue
        if label in found:
            module.found_out(found[label].reads, found[label].produces)
        elif not getattr(module.module, "on_data", True):  # all events are data
            module.found_out(module.replaces, None)
        elif module.kind == "producer" and not module.produces:
            what = "they could not be determined" + (
                f" with the first events: {died}" if died else ""
            )
            problems.append(f'module "{label}": declare `produces`: {what}')
        else:
            module.found_out(_named_in(module.names(), known), None)
    if problems:
        raise ConfigError(problems)


def _named_in(names: set[str], known: Columns) -> list[str]:
    """Columns that a module's code names: for one that none of the first events has reached."""
    collections = [known.collection(name) for name in names]
    fields = {
        column
        for collection in collections
        if collection
        for field, column in collection.columns.items()
        if field in names
    }
    return [name for name in known.types if name in names or name in fields]
