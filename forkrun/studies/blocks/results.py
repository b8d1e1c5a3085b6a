"""Results of modules, read from the run directory of a layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.config import SourceConfig
from forkrun.formats import Format
from forkrun.formats.plain import ids_of
from forkrun.histograms.root_file import sum_histograms
from forkrun.histograms.sums import HistogramSums
from forkrun.plan.model import read_plan
from forkrun.rundir.directory import RunDirectory
from forkrun.studies.blocks.layouts import PRODUCTS

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
