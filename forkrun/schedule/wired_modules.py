"""Modules with what they read and make, and the versions of columns that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from forkrun.conditions import Conditions
from forkrun.config import JobConfig
from forkrun.errors import ConfigError
from forkrun.index import FileIndex
from forkrun.plan import Units
from forkrun.schedule.datasets import find_datasets
from forkrun.schedule.found_out import FoundOut
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.job_modules import (
    complete_replaced,
    cpp_wirings,
    load_modules,
    versions_of,
    wirings_of,
)
from forkrun.schedule.variations import Variations, Wiring
from forkrun.schedule.versions import Versions

if TYPE_CHECKING:
    from forkrun.modules.datasets.dataset import Datasets
    from forkrun.modules.python_module import PythonModule


class WiredModules(Struct, frozen=True):
    """`modules`: those in Python that could be constructed, by label; `wirings`: of these and of
    those in C++, as far as versions need them; `found`: what modules did not declare; `problems`:
    of modules."""

    modules: Mapping[str, PythonModule]
    versions: Versions
    wirings: Mapping[str, Wiring]
    variations: Variations
    datasets: Datasets | None
    found: FoundOut
    problems: Sequence[str]


def wire_modules(
    config: JobConfig,
    index: Sequence[FileIndex],
    conditions: Conditions,
    units: Units,
    branches: InputBranches,
    can_call: bool,
    known: FoundOut | None = None,
) -> WiredModules:
    """`branches`: of the input; `can_call`: modules may be called to find out what they
    read; `known`: what was found out before. Raises ConfigError for columns that are replaced and
    not there."""
    modules, problems = load_modules(config, conditions)
    undeclared = [label for label, module in modules.items() if not module.is_declared]
    if known:
        known.tell(modules)
    types = dict(branches.columns)
    datasets = find_datasets(config, [file.path for file in index])
    for module in modules.values():
        module.datasets = datasets
    versions = versions_of(config, modules)
    is_needed = versions.is_needed or not all(m.is_declared for m in modules.values())
    in_cpp = cpp_wirings(config, conditions) if is_needed else {}
    n_tried = known.n_tried if known else None
    found = FoundOut({})
    if can_call and not problems:
        elsewhere = [name for wiring in in_cpp.values() for name in wiring.makes]
        n_now = _find_reads(
            config, index, conditions, units, modules, versions, elsewhere, branches
        )
        n_tried = n_tried if n_now is None else n_now
        found = FoundOut.of(modules, undeclared, n_tried)
        if wrong := complete_replaced(versions, types, modules):
            raise ConfigError(wrong)
    wirings = wirings_of(config, modules, in_cpp)
    variations = Variations(versions, wirings, config.paths)
    return WiredModules(modules, versions, wirings, variations, datasets, found, problems)


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
