"""A plan extended by more files: units that were planned keep their numbers."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from forkrun.base.lumis import Integers
from forkrun.plan.model import Plan, Units


def extended(plan: Plan, more: Plan, whole: Plan) -> Plan | None:
    """The units of `plan`, then those of `more`, which is of the files after them; `whole`: a plan
    of all files, cut anyhow. None if that has the events in another order, because lumis continue
    in the new files."""
    units = _behind(plan.units, more.units, len(plan.files))
    joined = replace(whole, units=units, children=plan.children)
    same = np.array_equal(_entries(joined.units), _entries(whole.units))
    return joined if same else None


def first_units(plan: Plan, n_units: int) -> Plan:
    """The plan up to so many units, with the files that it has then."""
    if len(plan.units) == n_units:
        return plan
    columns, n_ranges = plan.units.columns(), int(plan.units.first_range[n_units])
    ends = {"first_range": n_units + 1, "file": n_ranges, "first": n_ranges, "last": n_ranges}
    units = Units.of({name: c[: ends.get(name, n_units)] for name, c in columns.items()})
    n_files = int(units.file.max(initial=-1)) + 1
    of_files = {name: getattr(plan, name)[:n_files] for name in ("files", "datasets", "trees")}
    return replace(plan, units=units, **of_files, digest=None)


def _behind(units: Units, more: Units, n_files: int) -> Units:
    shifts = {"file": n_files, "first_range": units.first_range[-1]}
    columns = {}
    for name, column in units.columns().items():
        added = more.columns()[name] + shifts.get(name, 0)
        columns[name] = np.concatenate([column, added[1:] if name == "first_range" else added])
    return Units.of(columns)


def _entries(units: Units) -> Integers:
    """(n, 3) file, first and last of each stretch of consecutive entries, in order."""
    return units.stretch(0, len(units)).ranges
