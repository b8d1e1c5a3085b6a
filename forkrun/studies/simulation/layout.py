"""Begins of files, lumis and clusters, with the entries of all files counted in a row; synthetic
input for planning a job in advance; and costs of events, measured or drawn: processing times in one
thread of a child."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.lumis import Integers, Keys
from forkrun.base.quantities import plural
from forkrun.base.user_text import short
from forkrun.errors import ConfigError
from forkrun.index.model import FileIndex, LumiRange, LumiRanges
from forkrun.plan.model import Plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, read_ledgers


class Layout(Struct, frozen=True, eq=False):
    """Entries of all files in input order, counted from 0. `file` : (n_files + 1,) first entry of
    each file, then their number; `lumi_range`, `cluster` : first entry of each range of one lumi
    and of each cluster, rising; `lumi_key` : (n_ranges,) run and lumi of a range in one number."""

    file: Integers
    lumi_range: Integers
    lumi_key: Keys
    cluster: Integers

    @property
    def n_entries(self) -> int:
        """Number of entries of all files."""
        return int(self.file[-1])


def layout_of(index: Sequence[FileIndex]) -> Layout:
    """Layout of the input files, in their order."""
    file = np.zeros(len(index) + 1, dtype=np.int64)
    np.cumsum([f.n_entries for f in index], out=file[1:])
    ranges = LumiRanges.of(index)
    clusters = np.fromiter((c for f in index for c in _clusters(f)), np.int64)
    n_clusters = [sum(1 for _ in _clusters(f)) for f in index]
    return Layout(
        file=file,
        lumi_range=ranges.first + file[ranges.file],
        lumi_key=ranges.lumi_key,
        cluster=clusters + np.repeat(file[:-1], n_clusters),
    )


def _clusters(file: FileIndex) -> Iterator[int]:
    """First entries of the file's clusters; a file without a list of them is one cluster."""
    return (c for c in (file.clusters or (0,)) if c < file.n_entries)


def global_ranges(plan: Plan, layout: Layout) -> tuple[Integers, Integers]:
    """(n_ranges,) first and last entry of each range, in entries of all files in a row."""
    shift = layout.file[plan.units.file]
    return plan.units.first + shift, plan.units.last + shift


_NO_DIGEST = "0" * 32
MOST_LUMIS = 10_000_000
"""Most lumis, all in memory, as in the index of real files."""


class SyntheticInput(Struct, frozen=True):
    """`files` files of `lumis` lumis each, with `events` events in a lumi, and clusters of
    `cluster` events. Each lumi is in one file only."""

    files: int
    lumis: int
    events: int
    cluster: int = 5_000

    @classmethod
    def parse(cls, text: str, cluster: int = 5_000) -> SyntheticInput:
        """Parses FILESxLUMISxEVENTS. Raises ConfigError."""
        parts = text.lower().replace("×", "x").split("x")
        if len(parts) != 3 or not all(map(_is_count, parts)):
            raise ConfigError(
                f"--synthetic {short(text)}: write FILESxLUMISxEVENTS (lumis per file, events per"
                " lumi), for example 100x10x500"
            )
        if cluster < 1:
            raise ConfigError(f"--cluster {cluster}: at least 1 is needed")
        files, lumis, events = map(int, parts)
        if files * lumis > MOST_LUMIS or lumis * events * files >= 1 << 62:
            what = f"at most {MOST_LUMIS:,} lumis and 2^62 events in all"
            raise ConfigError(f"--synthetic {text}: {what}")
        if lumis * events // cluster > MOST_LUMIS:
            what = f"at most {MOST_LUMIS:,} clusters in a file; take larger ones"
            raise ConfigError(f"--cluster {cluster}: {what}")
        return cls(files, lumis, events, cluster)


def _is_count(text: str) -> bool:
    digits = text.strip()
    return digits.isdecimal() and len(digits) <= 18 and int(digits) > 0


def synthetic_index(shape: SyntheticInput) -> list[FileIndex]:
    """Index of the synthetic files; lumis of run 1 are numbered through all files."""
    n_entries = shape.lumis * shape.events
    clusters = (*range(0, n_entries, shape.cluster), n_entries)
    borders = range(0, n_entries + 1, shape.events)
    pairs = list(pairwise(borders))
    return [
        FileIndex(
            path=f"synthetic-{file}.root",
            uuid=str(file),
            n_entries=n_entries,
            clusters=clusters,
            ranges=tuple(
                LumiRange(1, lumi, first, last, _NO_DIGEST)
                for lumi, (first, last) in enumerate(pairs, file * shape.lumis + 1)
            ),
            branches=(),
        )
        for file in range(shape.files)
    ]


Floats = npt.NDArray[np.float64]

MAX_CELLS = 1 << 22
"""Number of events above which costs are drawn for groups of consecutive events."""


class Costs(Struct, frozen=True, eq=False):
    """`entry` : (n_knots,) entries of all files in a row, rising; `before_s` : (n_knots,) time of
    all earlier entries [s]. Entries between two knots cost the same. `overhead_s`: of a stretch, if
    measured too."""

    name: str
    entry: Integers
    before_s: Floats
    overhead_s: float | None = None
    cpu_share: float = 1.0
    """CPU time divided by wall time of events."""

    def of(self, first: Integers, last: Integers) -> Floats:
        """(n,) times of the entries [first, last) [s]."""
        at = (np.interp(border, self.entry, self.before_s) for border in (last, first))
        times: Floats = next(at) - next(at)
        return times


class Shape(StrEnum):
    """Distribution of costs over events."""

    CONSTANT = "constant"
    EXPONENTIAL = "exponential"
    LOGNORMAL = "lognormal"


class CostModel(Struct, frozen=True):
    """Events of mean cost `mean_s`, with a standard deviation of `spread` times that; the first
    `first_fraction` of all events cost `first_factor` times as much. `per_lumi`: relative standard
    deviation of the mean from lumi to lumi."""

    shape: Shape = Shape.LOGNORMAL
    mean_s: float = 0.01
    spread: float = 0.5
    first_fraction: float = 0.0
    first_factor: float = 1.0
    per_lumi: float = 0.0

    @property
    def name(self) -> str:
        """The model in words."""
        spread = f" ± {100 * self.spread:.0f} %" if self.shape is Shape.LOGNORMAL else ""
        words = [f"{self.shape.value} {self.mean_s:g} s{spread}"]
        if self.first_fraction:
            words.append(f"the first {100 * self.first_fraction:g} % × {self.first_factor:g}")
        if self.per_lumi:
            words.append(f"lumis ± {100 * self.per_lumi:.0f} %")
        return ", ".join(words)


def parse_cost_model(text: str, first: str | None = None, per_lumi: float = 0.0) -> CostModel:
    """Parses KIND:MEAN[:SPREAD], and FRACTION:FACTOR of the first events. Raises ConfigError."""
    name, _, rest = text.partition(":")
    numbers = _numbers(rest)
    shapes = {shape.value: shape for shape in Shape}
    most = 2 if name == Shape.LOGNORMAL.value else 1
    if name not in shapes or not 1 <= len(numbers) <= most:
        raise ConfigError(
            f"--costs {text}: file not found; of costs that are drawn, write constant:MEAN,"
            " exponential:MEAN or lognormal:MEAN:SPREAD, for example lognormal:0.01:0.5"
        )
    if per_lumi < 0:
        raise ConfigError(f"--per-lumi {per_lumi}: must not be negative")
    model = replace(CostModel(shapes[name], per_lumi=per_lumi), mean_s=numbers[0])
    if most == len(numbers) == 2:
        model = replace(model, spread=numbers[1])
    return model if first is None else _with_first(model, first)


def _with_first(model: CostModel, text: str) -> CostModel:
    numbers = _numbers(text)
    if len(numbers) != 2 or not 0 < numbers[0] <= 1:
        raise ConfigError(f"--first {text}: write FRACTION:FACTOR, for example 0.03:10")
    return replace(model, first_fraction=numbers[0], first_factor=numbers[1])


def _numbers(text: str) -> list[float]:
    """Numbers between colons; empty if one of them is invalid or negative."""
    try:
        numbers = [float(word) for word in text.split(":")]
    except ValueError:
        return []
    return numbers if all(0 <= number < float("inf") for number in numbers) else []


def draw_costs(model: CostModel, layout: Layout, seed: int) -> Costs:
    """Draws costs; the same arguments give the same costs. For many events: sums of consecutive
    ones, with the right mean and standard deviation."""
    width = max(1, -(-layout.n_entries // MAX_CELLS))
    entry = np.append(np.arange(0, layout.n_entries, width, dtype=np.int64), layout.n_entries)
    rng = np.random.default_rng(seed)
    mean_s = np.full(len(entry) - 1, model.mean_s)
    mean_s[entry[:-1] < model.first_fraction * layout.n_entries] *= model.first_factor
    if model.per_lumi:
        of_range = np.searchsorted(layout.lumi_range, entry[:-1], side="right") - 1
        mean_s *= _lumi_factors(model.per_lumi, layout, rng)[of_range]
    cell_s = _draw_sums(model, mean_s, np.diff(entry), rng)
    return Costs(model.name, entry, np.concatenate(([0.0], np.cumsum(cell_s))))


def _lumi_factors(spread: float, layout: Layout, rng: np.random.Generator) -> Floats:
    """(n_ranges,) factors with mean 1; ranges of the same lumi have the same factor."""
    keys, lumi = np.unique(layout.lumi_key, return_inverse=True)
    factors: Floats = _lognormal(np.ones(len(keys)), spread, rng)[lumi]
    return factors


def _draw_sums(
    model: CostModel, mean_s: Floats, n_events: Integers, rng: np.random.Generator
) -> Floats:
    """(n,) costs for groups of `n_events` events."""
    spread = 1.0 if model.shape is Shape.EXPONENTIAL else model.spread
    if model.shape is Shape.CONSTANT or spread == 0:
        return mean_s * n_events
    if model.shape is Shape.LOGNORMAL and n_events.max(initial=0) <= 1:
        return _lognormal(mean_s, spread, rng)
    # The sum of exponential costs has exactly a gamma distribution.
    return rng.gamma(n_events / spread**2, mean_s * spread**2)


def _lognormal(mean: Floats, spread: float, rng: np.random.Generator) -> Floats:
    """Log-normal values. `spread`: standard deviation divided by mean."""
    variance = np.log1p(spread**2)
    return mean * rng.lognormal(-variance / 2, np.sqrt(variance), len(mean))


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
            f"{path} has {plural(len(costs_s), 'cost')}; the input has"
            f" {plural(layout.n_entries, 'entry')} in {plural(n_ranges, 'range')} of one lumi: give"
            " a cost for each of these or those"
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
