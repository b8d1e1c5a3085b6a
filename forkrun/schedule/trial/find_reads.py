"""Finds the reads and products of modules that do not declare them: each is called with the first
events of the job, in a forked copy of this process, which then exits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from forkrun.config.choices import OnBadEvent
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError
from forkrun.modules.objects.collections import Columns
from forkrun.modules.python_module import PythonModule
from forkrun.schedule.found_out import Tried
from forkrun.schedule.imports_ahead import BY_COMPUTED_NAME, import_named
from forkrun.schedule.job_schedule import may_fork
from forkrun.schedule.trial.calls import Finding
from forkrun.schedule.trial.cpp import CppModules
from forkrun.schedule.trial.first_events import FirstEvents
from forkrun.schedule.trial.process import TrialProcess
from forkrun.schedule.trial.rounds import BUDGET_S, ENOUGH_EVENTS, MOST_EVENTS, Rounds
from forkrun.schedule.versions import Versions

_OTHERS = 3
"""Number of events tried after one that crashes a module, if such events are skipped."""

_FEW = 10
"""Number of events below which other branches of a function's code are likely to remain untried."""
FirstOf = Callable[[int], Iterable[tuple[FirstEvents, int]]]
"""Returns the first n events of the job with their IOV, separately for data and simulation."""


def find_reads(
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    cpp: CppModules,
    versions: Versions,
    known: Columns,
    first_of: FirstOf,
) -> Tried | None:
    """Completes modules with undeclared reads. `cpp`: C++ modules; `versions`: of columns; `known`:
    columns of the input and of C++ modules. Returns None if no trial was needed. Raises ModuleError
    if a module fails with the events, JobError if it crashes or hangs, ConfigError if it requests
    an unknown column."""
    _leave_out(modules, known.types)
    if all(module.is_declared for module in modules.values()):
        return None
    can_fork, left_s = may_fork(config.forking.children), BUDGET_S
    import_named([module for module in modules.values() if not module.is_declared], known)
    found: dict[str, Finding] = {}
    n, is_short, is_whole, rates = 0, False, True, []
    for events, iov in first_of(MOST_EVENTS):
        rounds = Rounds(modules, config.paths, cpp, versions, known, events, iov, can_fork, left_s)
        tried = _tried(config, rounds)
        found, n, left_s = _joined(found, tried.found), n + tried.n_events, tried.left_s
        rates.append(tried.rate)
        is_short |= tried.n_events < min(_FEW, len(events))
        is_whole &= tried.n_events == min(ENOUGH_EVENTS, len(events))
    _complete(modules, found, known, is_short)
    imports = dict.fromkeys(name for each in found.values() for name in each.imports)
    return Tried(n, list(imports), is_whole, min(rates, default=0.0))


def _tried(config: JobConfig, rounds: Rounds) -> TrialProcess:
    """Returns a finished trial. Raises errors that stop a job."""
    skips = config.recovery.on_bad_event is OnBadEvent.SKIP
    n_others = min(_OTHERS, len(rounds.events) - 1) if skips else 0
    for first in range(n_others + 1):
        process = TrialProcess(config.recovery.hang_timeout, rounds.budget_s)
        work = partial(rounds.run if rounds.with_callbacks else rounds.run_here, first)
        if rounds.with_callbacks:
            process.run(work)
        else:
            work(process.hear)
        error = process.error(skips)
        if error is None:
            return process
        if isinstance(error, ConfigError) or first == n_others:
            raise error
    raise AssertionError("unreachable")


def _joined(found: Mapping[str, Finding], more: Mapping[str, Finding]) -> dict[str, Finding]:
    """Combines findings with those from other events."""
    return {
        label: more[label].joined(found.get(label)) if label in more else found[label]
        for label in {**found, **more}
    }


def _leave_out(modules: Mapping[str, PythonModule], types: Mapping[str, str]) -> None:
    """Marks classes that mention no column as reading none: they are not called, because of
    possible side effects."""
    columns = [*types, *(name for module in modules.values() for name in module.produces)]
    is_known = all(m.produces for m in modules.values() if m.kind == "producer")
    for module in modules.values():
        is_class = not hasattr(module.module, "function")
        if is_known and is_class and not module.is_declared:
            names = module.names()
            if not mentions(names, columns) and not names & BY_COMPUTED_NAME:
                module.found_out([], None)


def mentions(names: Collection[str], columns: Collection[str]) -> bool:
    """Whether some names are columns, collections, or parts of column names."""
    parts = [name for name in names if len(name) > 2]
    return any(
        column == part or column.startswith(f"{part}_") or ("_" in part and part in column)
        for part in parts
        for column in columns
    )


def _complete(
    modules: Mapping[str, PythonModule],
    found: Mapping[str, Finding],
    of_input: Columns,
    is_short: bool,
) -> None:
    """`is_short`: modules were called with few events, so columns named in their code count too."""
    made = {n: t for each in found.values() for n, t in (each.produces or {}).items()}
    known = of_input.with_types({**of_input.types, **made})
    problems = []
    for label, module in modules.items():
        if module.is_declared:
            continue
        finding = found.get(label)
        produces = finding.produces if finding else None
        is_sure = finding is not None and not finding.is_partial
        if finding and is_sure and not is_short:
            module.found_out(finding.reads, finding.produces)
        elif not is_sure and not getattr(module.module, "on_data", True):  # all events are data
            module.found_out(module.replaces, None)
        elif not is_sure and module.kind == "producer" and not (module.produces or produces):
            what = "they could not be determined with the first events"
            problems.append(f'module "{label}": declare `produces`: {what}')
        else:
            reads = finding.reads if finding else ()
            own = {*module.produces, *(produces or ())} - {*module.replaces}
            named = [name for name in _named_in(module.names(), known) if name not in own]
            module.found_out(list(dict.fromkeys([*reads, *named])), produces)
    if problems:
        raise ConfigError(problems)


def _named_in(names: set[str], known: Columns) -> list[str]:
    """Columns named in a module's code, for a module that few or none of the first events have
    reached."""
    collections = [known.collection(name) for name in names]
    fields = {
        column
        for collection in collections
        if collection
        for field, column in collection.columns.items()
        if field in names
    }
    return [name for name in known.types if name in names or name in fields]
