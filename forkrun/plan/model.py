"""Units of work and the plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import asdict

from forkrun.base.lumis import Integers, Keys, distinct, lumi_keys
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.formats.events import Identity
from forkrun.index.model import Flags
from forkrun.rundir.directory import RunDirectory

ANY_CHILD = -1
"""Value of `child` for a unit that goes to any idle child."""


class EntryRange(NamedTuple):
    """Entries [first, last) of the file with this number."""

    file: int
    first: int
    last: int


class Unit(NamedTuple):
    """One lumi, or part of one, which a child processes. `child`: its number; `ANY_CHILD` if it is
    handed out while the job runs."""

    number: int
    child: int
    run: int
    lumi: int
    ranges: tuple[EntryRange, ...]

    @property
    def n_events(self) -> int:
        """Events in all ranges."""
        return sum(r.last - r.first for r in self.ranges)


class Stretch(NamedTuple):
    """Consecutive units that a child takes, processes and commits together. `run`, `lumi`: the
    first; `ranges` : (n_ranges, 3) file, first entry and the one after the last; `lumis`: run,
    lumi, and number of events up to its end, (n_lumis,) each, of one lumi after the other."""

    first: int
    n_units: int
    run: int
    lumi: int
    ranges: Integers
    lumis: tuple[Integers, Integers, Integers]

    @property
    def numbers(self) -> range:
        """Numbers of the units."""
        return range(self.first, self.first + self.n_units)

    @property
    def n_events(self) -> int:
        """Events in all ranges."""
        return int((self.ranges[:, 2] - self.ranges[:, 1]).sum())


@dataclass(frozen=True, eq=False)
class Units(Sequence[Unit]):
    """Units in merge order as columns: a million of them are some tens of megabytes. `child`,
    `run`, `lumi` : (n_units,); `first_range` : (n_units + 1,), unit u has the ranges
    [first_range[u], first_range[u + 1]); `file`, `first`, `last` : (n_ranges,)."""

    child: Integers
    run: Integers
    lumi: Integers
    first_range: Integers
    file: Integers
    first: Integers
    last: Integers

    @property
    def lumi_key(self) -> Keys:
        """(n_units,) equal for units of one lumi."""
        return lumi_keys(self.run, self.lumi)

    @cached_property
    def n_events(self) -> Integers:
        """(n_units,) events of each."""
        before = np.concatenate(([0], np.cumsum(self.last - self.first)))
        return np.diff(before[self.first_range])

    @cached_property
    def are_out_of_order(self) -> bool:
        """Whether a file comes again after another one, or an entry after a later one."""
        _, seen, number = np.unique(self.file, return_index=True, return_inverse=True)
        turn = np.argsort(np.argsort(seen))[number]
        is_same = turn[1:] == turn[:-1]
        is_back = np.where(is_same, self.first[1:] < self.first[:-1], turn[1:] < turn[:-1])
        return bool(is_back.any())

    def of_file(self, values: Sequence[int]) -> Integers:
        """(n_units,) what each unit's first file has of `values` : (n_files,); 0 for a unit without
        events."""
        found = np.zeros(len(self), dtype=np.int64)
        has_events = self.first_range[:-1] < self.first_range[1:]
        files = self.file[self.first_range[:-1][has_events]]
        found[has_events] = np.asarray(values, dtype=np.int64)[files]
        return found

    def __len__(self) -> int:
        return len(self.run)

    @overload
    def __getitem__(self, place: int) -> Unit: ...
    @overload
    def __getitem__(self, place: slice) -> list[Unit]: ...
    def __getitem__(self, place: int | slice) -> Unit | list[Unit]:
        if isinstance(place, slice):
            return [self._unit(number) for number in range(*place.indices(len(self)))]
        return self._unit(range(len(self))[place])

    def __iter__(self) -> Iterator[Unit]:
        return map(self._unit, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Units) and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self.columns().values(), other.columns().values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _unit(self, number: int) -> Unit:
        places = slice(self.first_range[number], self.first_range[number + 1])
        file, first, last = self.file[places], self.first[places], self.last[places]
        ranges = tuple(map(EntryRange, file.tolist(), first.tolist(), last.tolist()))
        child, run, lumi = self.child[number], self.run[number], self.lumi[number]
        return Unit(number, int(child), int(run), int(lumi), ranges)

    def at_cluster(self, clusters: Sequence[Sequence[int]]) -> np.ndarray[tuple[int], Any]:
        """(n_units,) bool, whether a unit begins with a cluster. `clusters`: for each file the
        first entry of each."""
        begins = np.zeros(len(self), dtype=np.bool_)
        places = self.first_range[:-1]
        has_events = places < self.first_range[1:]
        file, first = self.file[places[has_events]], self.first[places[has_events]]
        known = np.fromiter((entry for each in clusters for entry in each), dtype=np.int64)
        of_file = np.repeat(np.arange(len(clusters)), [len(each) for each in clusters])
        n_most = max(known.max(initial=0), first.max(initial=0)) + 1
        keys = of_file * n_most + known  # of all files in a row: they rise
        wanted = file * n_most + first
        place = np.searchsorted(keys, wanted)
        begins[has_events] = np.append(keys, -1)[place] == wanted
        return begins

    def are_in(self, files: Sequence[bool]) -> np.ndarray[tuple[int], Any]:
        """(n_units,) bool, whether the first entries of a unit are in these files."""
        are = np.zeros(len(self), dtype=np.bool_)
        places = self.first_range[:-1]
        has_events = places < self.first_range[1:]
        are[has_events] = np.array(files, dtype=np.bool_)[self.file[places[has_events]]]
        return are

    def stretch(self, first: int, n_units: int) -> Stretch:
        """Units [first, first + n_units) as one."""
        units = slice(first, first + n_units)
        run, lumi = self.run[units], self.lumi[units]
        begins, lasts = _pieces((run[1:] != run[:-1]) | (lumi[1:] != lumi[:-1]))
        last = self.n_events[units].cumsum()[lasts]
        ranges = self._joined_ranges(self.first_range[first], self.first_range[first + n_units])
        lumis = (run[begins], lumi[begins], last)
        return Stretch(first, n_units, int(run[0]), int(lumi[0]), ranges, lumis)

    def joined_ranges(self, units: Integers) -> Integers:
        """(n_ranges, 3) file, first and last of the entries of units, in the order given; those
        that follow each other are one."""
        begins, ends = units[:1], units[-1:]
        if len(units) > 1:
            begins, ends = (units[places] for places in _pieces(np.diff(units) != 1))
        found = [
            self._joined_ranges(self.first_range[begin], self.first_range[end + 1])
            for begin, end in zip(begins, ends, strict=True)
        ]
        return np.concatenate([np.empty((0, 3), np.int64), *found])

    def _joined_ranges(self, begin: int, end: int) -> Integers:
        """Ranges [begin, end) of the plan; those that follow each other in a file are one."""
        if begin == end:
            return np.empty((0, 3), dtype=np.int64)
        file, first, last = self.file[begin:end], self.first[begin:end], self.last[begin:end]
        begins, ends = _pieces((file[1:] != file[:-1]) | (first[1:] != last[:-1]))
        return np.stack([file[begins], first[begins], last[ends]], axis=1)

    def columns(self) -> dict[str, Integers]:
        """The columns by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Units:
        """Inverse of `columns`, also of lists."""
        return cls(**{f.name: np.asarray(columns[f.name], dtype=np.int64) for f in fields(cls)})


def _pieces(is_new: Flags) -> tuple[Integers, Integers]:
    """First and last place of each piece of a sequence. `is_new`: (length - 1,) whether a piece
    begins with the second place, the third, …"""
    (borders,) = is_new.nonzero()
    begins = np.zeros(len(borders) + 1, dtype=np.int64)
    begins[1:] = borders + 1
    lasts = np.empty(len(begins), dtype=np.int64)
    lasts[:-1], lasts[-1] = borders, len(is_new)
    return begins, lasts


class Plan(Struct, frozen=True):
    """`units`: in merge order. `children`: of the job, also those without a unit. `digest`: of all
    event ids in the plan as the index saw them, None if it covers parts of the index's ranges only
    (skip_events, max_events)."""

    distribution: str
    children: int
    n_events: int
    n_lumis: int
    files: tuple[str, ...]
    units: Units
    digest: str | None
    identities: tuple[Identity, ...] = ()
    """Identity of each input file, to check that it is still the one that was indexed."""
    datasets: tuple[int, ...] = ()
    """(n_files,) number of the dataset of each; none: the job has no datasets."""
    order: str = "input"
    """`source.order`, as it was chosen."""
    order_reason: str = ""
    """Why it is not "input"."""
    warnings: tuple[str, ...] = ()
    """Parts of the input that are hardly meant."""
    notes: tuple[str, ...] = ()
    """Notes on the input, a line each."""
    n_dropped: int = 0
    """Events that are left out because they are in the input before."""
    n_without_partner: int = 0
    """Events that are left out because a friend has no entry for them."""
    n_pieces: int = 0
    """Stretches of consecutive entries of one lumi in the input."""
    trees: tuple[str, ...] = ()
    """(n_files,) tree of events of each; none: source.tree in all."""

    @property
    def input_text(self) -> str:
        """How many files it has events of, and how many trees if it takes several of a file."""
        if not self.trees:
            return plural(len(self.files), "file")
        return f"{plural(len(self.trees), 'tree')} of {plural(len(set(self.files)), 'file')}"

    @property
    def are_lumis_scattered(self) -> bool:
        """Whether the input has them in many pieces. A node does not know that of the whole
        input, and says nothing of it."""
        return self.n_pieces > 2 * self.n_lumis

    def notes_on_order(self, has_outputs: bool) -> tuple[str, ...]:
        """Says of lumis that are scattered over the input what becomes of them."""
        if not self.are_lumis_scattered:
            return ()
        pieces = plural(self.n_pieces, "piece")
        held = f"the input has its {plural(self.n_lumis, 'lumi')} in {pieces}"
        if self.order != "input":
            return (f"{held}, which are gathered",)
        advice = (
            'source.order = "lumi" writes each in one, for programs that play outputs back lumi by'
            " lumi"
        )
        return (f"{held}, and so have the outputs; {advice}",) if has_outputs else ()

    @property
    def is_shared(self) -> bool:
        """Whether units go to any idle child."""
        return bool((self.units.child == ANY_CHILD).all())

    @property
    def dataset_of_units(self) -> Integers:
        """(n_units,) number of the dataset that all events of a unit belong to."""
        return self.units.of_file(self.datasets or [0] * len(self.files))

    def dataset_of(self, stretch: Stretch) -> int:
        """Number of the dataset that all of its events belong to."""
        has_some = self.datasets and len(stretch.ranges)
        return self.datasets[stretch.ranges[0, 0]] if has_some else 0

    def units_of(self, child: int) -> Integers:
        """Numbers of the units that one child may do, in this order; of `ANY_CHILD`, of those that
        are shared."""
        shared = self.units.child == ANY_CHILD
        return np.flatnonzero(shared | (self.units.child == child))

    def busy_children(self) -> list[int]:
        """Numbers of the children that may find a unit."""
        if self.is_shared:
            return list(range(min(max(self.children, 1), len(self.units))))
        return [int(child) for child in distinct(self.units.child)]

    def events_by_child(self) -> list[int] | None:
        """(children,) events of each; None if units go to any idle child."""
        if self.is_shared:
            return None
        weights = self.units.n_events.astype(np.float64)
        counts = np.bincount(self.units.child, weights, minlength=max(self.children, 1))
        return [int(count) for count in counts]

    def events_before(self, unit: int) -> int:
        """Events of the plan that stand before the unit's first one in the input."""
        units = self.units
        begin, end = units.first_range[unit : unit + 2]
        if begin == end:  # of an empty input
            return 0
        file, entry = units.file[begin], units.first[begin]
        ends = np.where(units.file == file, np.minimum(units.last, entry), units.last)
        n_events = np.where(units.file <= file, ends - units.first, 0)
        return int(np.maximum(n_events, 0).sum())

    def borders_digest(self) -> str:
        """SHA-256 of the units, whichever child does them: where it is the same, so are the
        outputs."""
        digest = hashlib.sha256()
        for name, column in self.units.columns().items():
            if name != "child":
                digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Content of plan.json: units as columns, each a list."""
        units = {name: column.tolist() for name, column in self.units.columns().items()}
        return {**self.described(), "units": units}

    def described(self) -> dict[str, Any]:
        """The same with arrays, which takes no time."""
        return {**asdict(self), "n_units": len(self.units), "units": self.units.columns()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """Inverse of `to_json`. Raises LookupError, TypeError or ValueError."""
        return convert({**data, "units": Units.of(data["units"])}, cls)


def read_plan(folder: RunDirectory) -> Plan:
    """Plan kept in a run directory. Raises InputError if it is missing or damaged."""
    try:
        return Plan.from_json(json.loads(read_regular(folder.plan)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{folder.plan}: cannot be read: {error}") from None
