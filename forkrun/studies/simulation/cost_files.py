"""Measured costs of events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from forkrun.base.lumis import Integers
from forkrun.errors import ConfigError
from forkrun.plan import Plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, read_ledgers
from forkrun.studies.simulation.costs import Costs, Floats
from forkrun.studies.simulation.hand_out import global_ranges
from forkrun.studies.simulation.layout import Layout


def read_costs(path: Path, layout: Layout, files: Sequence[str]) -> Costs:
    """Reads costs from a .npy, .json or text file, one per entry or per range of one lumi of the
    input `files` in order [s]; or from the run directory of a job with this input. Raises
    ConfigError."""
    return _of_run(path, layout, files) if path.is_dir() else _of_file(path, layout)


def _of_file(path: Path, layout: Layout) -> Costs:
    costs_s = _read(path)
    if costs_s.ndim != 1 or not np.isfinite(costs_s).all() or (costs_s < 0).any():
        raise ConfigError(f"{path}: a list of costs in seconds is needed, none of them negative")
    n_ranges = len(layout.lumi_range)
    if len(costs_s) == layout.n_entries:
        entry = np.arange(layout.n_entries + 1, dtype=np.int64)
    elif len(costs_s) == n_ranges:
        entry = np.append(layout.lumi_range, layout.n_entries)
    else:
        raise ConfigError(
            f"{path} has {len(costs_s):,} costs; the input has {layout.n_entries:,} entries in"
            f" {n_ranges:,} ranges of one lumi: give a cost for each of these or those"
        )
    return Costs(path.name, entry, np.concatenate(([0.0], np.cumsum(costs_s))))


def _read(path: Path) -> Floats:
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        if path.suffix == ".json":
            return np.asarray(json.loads(path.read_text(encoding="utf-8")), dtype=np.float64)
        return np.loadtxt(path, dtype=np.float64, ndmin=1)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{path}: costs of events cannot be read: {error}") from None


def _of_run(path: Path, layout: Layout, files: Sequence[str]) -> Costs:
    """Costs from a run: the mean of the unit for each of its events; the overall mean for events of
    uncommitted units."""
    folder = RunDirectory(path)
    try:
        plan = Plan.from_json(json.loads(folder.plan.read_bytes()))
    except (OSError, ValueError, LookupError) as error:
        raise ConfigError(f"{path} is not the run directory of a job: {error!r}") from None
    commits = read_ledgers(folder.ledger)
    n_events = sum(commit.n_events for commit in commits)
    if not n_events:
        raise ConfigError(f"{path}: no unit of this job has been committed: nothing was measured")
    if tuple(plan.files) != tuple(files):
        raise ConfigError(f"{path}: this job had other input files: its costs do not fit")
    mean_s = sum(commit.wall_s for commit in commits) / n_events
    entry, rate_s = _rates(plan, layout, commits, mean_s)
    before_s = np.concatenate(([0.0], np.cumsum(np.diff(entry) * rate_s)))
    outside_s = sum(commit.end_s - commit.start_s - commit.wall_s for commit in commits)
    cpu_share = sum(commit.cpu_s for commit in commits) / (mean_s * n_events) if mean_s else 1.0
    return Costs(path.name, entry, before_s, max(0.0, outside_s / len(commits)), cpu_share)


def _rates(
    plan: Plan, layout: Layout, commits: Sequence[Commit], mean_s: float
) -> tuple[Integers, Floats]:
    """Borders, and the cost of an event between them: (n + 1,), (n,) [s]."""
    of_unit = np.full(len(plan.units), mean_s)
    for commit in commits:
        if commit.n_events:
            of_unit[commit.places] = commit.wall_s / commit.n_events
    first, last = global_ranges(plan, layout)
    entry = np.unique(np.concatenate(([0, layout.n_entries], first, last)))
    order = np.argsort(first)
    place = np.searchsorted(first[order], entry[:-1], side="right") - 1
    unit = np.repeat(np.arange(len(plan.units)), np.diff(plan.units.first_range))
    is_inside = (place >= 0) & (entry[:-1] < last[order][place])
    return entry, np.where(is_inside, of_unit[unit[order][place]], mean_s)
