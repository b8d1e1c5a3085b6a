"""Layouts of the same events, the job that records the results of modules, and these results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.quantities import plural
from forkrun.config import (
    Distribution,
    ForkingConfig,
    JobConfig,
    MergeConfig,
    MonitoringConfig,
    OutputConfig,
    RecoveryConfig,
    SourceConfig,
    ThreadsConfig,
)
from forkrun.formats import Format
from forkrun.formats.plain import ids_of
from forkrun.histograms.root_file import sum_histograms
from forkrun.histograms.sums import HistogramSums
from forkrun.plan.model import read_plan
from forkrun.rundir.directory import RunDirectory

PRODUCTS = "products"
"""Label of the output with all new columns of all events."""
_SHOWN = ((1, 100, 1), (7, 2_000, 1), (1_000, None, 2))
"""Events per block, events of the job (None: all), children. Small blocks are slow."""


class Layout(Struct, frozen=True):
    """`block_size`: events; 0: default of jobs. With several children, each has one part of the
    input, so its modules have not seen all earlier events."""

    n_events: int
    block_size: int = 0
    children: int = 1

    @property
    def words(self) -> str:
        """Description of the layout in messages."""
        size = (
            f"blocks of {plural(self.block_size, 'event')}" if self.block_size else "large blocks"
        )
        return size + (f" in {plural(self.children, 'child')}" if self.children > 1 else "")

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.n_events}-{self.block_size}-{self.children}"

    def of_first(self, n_events: int) -> Layout:
        """The same layout for fewer events."""
        return replace(self, n_events=n_events)


def layouts(n_events: int) -> list[Layout]:
    """Layouts to compare with large blocks in one child."""
    found = [Layout(min(n or n_events, n_events), size, by) for size, n, by in _SHOWN]
    return [layout for layout in found if layout.n_events > 1]


def filter_outputs(config: JobConfig, labels: Iterable[str]) -> dict[str, str]:
    """For each filter, name of the path and output with its events."""
    stem = "filter"
    while any(name.startswith(stem) for name in config.paths):
        stem += "_"
    return {label: f"{stem}{number}" for number, label in enumerate(labels)}


def job_of(
    config: JobConfig, layout: Layout, columns: Sequence[str], filters: Mapping[str, str],
    form: str = "",
) -> JobConfig:  # fmt: skip
    """The job in this layout, with outputs of format `form` ("": the input format): it keeps these
    columns of all events, the ids of events that each filter accepts on its own, and the histograms
    of its units."""
    ids = (config.source.run_branch, config.source.lumi_branch, config.source.event_branch)
    outputs = [OutputConfig(label=PRODUCTS, keep=(*ids, *columns), format=form)]
    outputs += [
        OutputConfig(label=name, paths=(name,), keep=ids, format=form) for name in filters.values()
    ]
    update = {
        "source": config.source.replaced({"max_events": layout.n_events}),
        "forking": ForkingConfig(children=layout.children, distribution=Distribution.CONTIGUOUS),
        "recovery": RecoveryConfig(hang_timeout=config.recovery.hang_timeout),
        "threads": ThreadsConfig(block_size=layout.block_size),
        "memory": config.memory.replaced({"warm_up": False}),
        "limits": config.limits.replaced({"walltime": None}),
        "paths": config.paths | {name: (label,) for label, name in filters.items()},
        "outputs": tuple(outputs),
        "merge": MergeConfig(keep_temporary=True, carry=False),
        "monitoring": MonitoringConfig(),
    }
    return config.replaced(update)


Column = Any  # plain, as in forkrun.modules.columns
EventIds = npt.NDArray[np.uint64]


class Results(Struct, frozen=True, eq=False):
    """`ids` : (n_events, 3) run, lumi, event of all events. `columns`: by name; `accepted`: by
    filter label, (n, 3) ids of accepted events; `histograms`: by module and name."""

    ids: EventIds
    columns: Mapping[str, Column]
    accepted: Mapping[str, EventIds]
    histograms: Mapping[tuple[str, str], HistogramSums]


def read_results(
    folder: Path, source: SourceConfig, form: Format, columns: Sequence[str],
    filters: Mapping[str, str],
) -> Results:  # fmt: skip
    """Reads the results of a layout from its run directory, with outputs of this format."""
    run = RunDirectory(folder)
    tree = source.tree_names.in_outputs(read_plan(run).trees)
    names = [source.run_branch, source.lumi_branch, source.event_branch]

    def events_in(label: str) -> EventIds:
        found = form.read(str(run.merged(label, suffix=form.suffix)), tree, names)
        return np.stack([ids_of(found[name]) for name in names], axis=1)

    products = str(run.merged(PRODUCTS, suffix=form.suffix))
    parts = sorted((folder / "units").glob("*/histograms.bin"))
    return Results(
        events_in(PRODUCTS),
        form.read(products, tree, columns) if columns else {},
        {label: events_in(name) for label, name in filters.items()},
        {(module, name): sums for module, name, sums in sum_histograms(parts)},
    )
