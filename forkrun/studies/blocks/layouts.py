"""Layouts of the same events, the job that records the results of modules, these results, and
differences between two of them, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.quantities import plural
from forkrun.config.choices import Distribution
from forkrun.config.model import (
    ForkingConfig,
    JobConfig,
    MonitoringConfig,
    RecoveryConfig,
    ThreadsConfig,
)
from forkrun.config.outputs import MergeConfig, OutputConfig
from forkrun.config.source import SourceConfig
from forkrun.formats import Format
from forkrun.formats.plain import ids_of, inner_of
from forkrun.histograms.parts import HistogramSums
from forkrun.histograms.root_file import sum_histograms
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


class Difference(Struct, frozen=True):
    """`module`: its label; `what`: the differing result, in words. `place`: index of the first
    differing event among all events; None: unknown, for example for a histogram, which is a sum."""

    module: str
    what: str
    place: int | None


def differences(
    one: Results, other: Results, columns_of: Mapping[str, Sequence[str]]
) -> Iterator[Difference]:
    """Differing results of modules. `columns_of`: the columns that each module makes."""
    for module, names in columns_of.items():
        for name in names:
            place = first_difference(one.columns[name], other.columns[name])
            if place is not None:
                yield Difference(module, f"column {name}", place)
    for module, accepted in one.accepted.items():
        place = first_decision(accepted, other.accepted[module], one.ids)
        if place is not None:
            yield Difference(module, "its decision", place)
    for key in dict.fromkeys([*one.histograms, *other.histograms]):
        if not is_same(one.histograms.get(key), other.histograms.get(key)):
            yield Difference(key[0], f"histogram {key[1]}", None)


def first_difference(one: Column, other: Column) -> int | None:
    """The first event for which two columns differ in a bit; None if they are equal."""
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        differs = _bits(np.asarray(one)) != _bits(np.asarray(other))
        return _first(differs.any(axis=tuple(range(1, differs.ndim))))
    of_counts = _first(np.diff(one[0]) != np.diff(other[0]))
    n_alike = int(one[0][-1] if of_counts is None else one[0][of_counts])
    place = first_difference(_first_items(one, n_alike), _first_items(other, n_alike))
    if place is None:
        return of_counts
    return int(np.searchsorted(one[0], place, side="right")) - 1


def _first_items(lists: Column, n: int) -> Column:
    """The first n items in the lists."""
    inner = inner_of(lists)
    if not isinstance(inner, tuple):
        return inner[:n]
    return inner[0][: n + 1], *inner[1:]


def _bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory as integers: a NaN equals itself, and 0 is not -0."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _first(differs: npt.NDArray[np.bool_]) -> int | None:
    places = np.flatnonzero(differs)
    return int(places[0]) if len(places) else None


def first_decision(one: EventIds, other: EventIds, ids: EventIds) -> int | None:
    """The first of all events, `ids`, that one has accepted and the other has not; None if they
    agree. Each : (n, 3), in the order of all events."""
    masks = (_accepted(accepted, ids) for accepted in (one, other))
    return _first(next(masks) != next(masks))


def _accepted(accepted: EventIds, ids: EventIds) -> npt.NDArray[np.bool_]:
    """(n_events,) mask of these events; among events with equal ids, the first ones."""
    mask = np.zeros(len(ids), dtype=np.bool_)
    rows, n_taken = accepted.tolist(), 0
    for place, row in enumerate(ids.tolist()):
        if n_taken < len(rows) and row == rows[n_taken]:
            mask[place], n_taken = True, n_taken + 1
    return mask


def is_same(one: HistogramSums | None, other: HistogramSums | None) -> bool:
    """Whether all bins are the same, to the last written bit."""
    if one is None or other is None:
        return one is other
    return one.axes == other.axes and one.sums.tobytes() == other.sums.tobytes()


def first_place(differs: Callable[[int], bool], n_events: int) -> int:
    """Place of an event at which a difference appears: the first n events show it, the first n - 1
    do not. Tries few events first. `differs(n)` tests the first n; true for all events."""
    same, different = 0, 1
    while different < n_events and not differs(different):
        same, different = different, 2 * different
    different = min(different, n_events)
    while different - same > 1:
        middle = (same + different) // 2
        same, different = (same, middle) if differs(middle) else (middle, different)
    return different - 1
