"""Parts of a plan, one for each node: consecutive units of it, as a plan of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from forkrun.base.lumis import Integers, LumiCounts, dataset_lumi_keys, distinct, lumi_keys
from forkrun.formats.events import Identity
from forkrun.index.known_friends import KnownFriend, known_friends
from forkrun.index.model import FileIndex, FriendPart
from forkrun.plan.model import ANY_CHILD, Plan, Units

_NEAR = 0.1
"""Part of a node's events by which its border may move to that of a lumi."""


class CarriedFile(NamedTuple):
    """An input file whose other trees and objects outputs get."""

    number: int
    path: str
    uuid: str
    n_bytes: int


class Part(Struct, frozen=True):
    """`plan`: units counted from 0, of files that have the same numbers as in the whole plan; the
    paths of others are "". `input_lumis`: events in the whole input of the lumis of these units;
    `friends`: where the entries of its files are in friend trees; `carries`: where a node makes its
    part of the outputs, the files whose rows of other trees this one has; `copies`: by path of a
    file, where to read it instead."""

    plan: Plan
    input_lumis: LumiCounts
    friends: Sequence[KnownFriend] = ()
    carries: Sequence[CarriedFile] = ()
    copies: Mapping[str, str] = {}

    @property
    def own_files(self) -> list[int]:
        """Numbers of the files of its units."""
        return [number for number, path in enumerate(self.plan.files) if path]

    @property
    def plan_as_read(self) -> Plan:
        """The plan, with the copies of its files."""
        files, identities = self.plan.files, self.plan.identities
        read = [self._as_read(*each) for each in zip(files, identities, strict=True)]
        files, identities = zip(*read, strict=True) if read else ((), ())
        return replace(self.plan, files=files, identities=identities)

    @property
    def carries_as_read(self) -> list[CarriedFile]:
        """The files that are carried, where they are read."""
        return [file._replace(path=self.copies.get(file.path, file.path)) for file in self.carries]

    def index_as_read(self, index: Sequence[FileIndex]) -> list[FileIndex]:
        """The index, with the copies of its files and of their friends."""
        return [self._file_as_read(file) for file in index] if self.copies else list(index)

    def _file_as_read(self, file: FileIndex) -> FileIndex:
        friends = tuple(self._friend_as_read(friend) for friend in file.friends)
        path, (*_, modified_ns) = self._as_read(file.path, file.identity)
        return replace(file, friends=friends, path=path, modified_ns=modified_ns)

    def _friend_as_read(self, friend: FriendPart) -> FriendPart:
        read = [self._as_read(each.path, each.identity) for each in friend.files]
        files = [
            each._replace(path=path, identity=identity)
            for each, (path, identity) in zip(friend.files, read, strict=True)
        ]
        return friend._replace(files=files)

    def _as_read(self, path: str, identity: Identity) -> tuple[str, Identity]:
        """A copy was written at another time; UUID and size are the same."""
        copy = self.copies.get(path)
        return (path, identity) if copy is None else (copy, (*identity[:2], 0))

    @property
    def bytes_by_path(self) -> dict[str, int]:
        """Size of each file that its units are read from, friends included; 0: not known."""
        own = {self.plan.files[n]: self.plan.identities[n][1] for n in self.own_files}
        return own | {path: n for friend in self.friends for path, n in friend.files.items()}

    def to_json(self) -> dict[str, Any]:
        """Without the files of others."""
        plan, own = self.plan.to_json(), self.own_files
        plan["files"] = {n: self.plan.files[n] for n in own}
        plan["identities"] = {n: self.plan.identities[n] for n in own}
        known = sorted({*own, *(file.number for file in self.carries)})
        plan["datasets"] = {n: self.plan.datasets[n] for n in known if self.plan.datasets}
        plan["trees"] = {n: self.plan.trees[n] for n in known if self.plan.trees}
        n_files = len(self.plan.files)
        return {
            "n_files": n_files,
            "plan": plan,
            "lumis": {name: c.tolist() for name, c in self.input_lumis.columns().items()},
            "friends": [asdict(friend) for friend in self.friends],
            "carries": self.carries,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Part:
        """Inverse of `to_json`. Raises LookupError, TypeError or ValueError."""
        plan, numbers = data["plan"], range(data["n_files"])
        files = [plan["files"].get(str(n), "") for n in numbers]
        identities = [plan["identities"].get(str(n), ("", 0, 0)) for n in numbers]
        known = plan["datasets"]
        datasets = [known.get(str(n), 0) for n in numbers] if known else []
        named = plan.get("trees", {})
        trees = [named.get(str(n), "") for n in numbers] if named else []
        columns = {"files": files, "identities": identities, "datasets": datasets, "trees": trees}
        whole = Plan.from_json({**plan, **columns})
        friends = convert(data["friends"], tuple[KnownFriend, ...], str_keys=True)
        carries = convert(data.get("carries", ()), tuple[CarriedFile, ...])
        return cls(whole, LumiCounts.of(data["lumis"]), friends, carries)


def node_borders(units: Units, n_nodes: int, kept: Sequence[range] = ()) -> list[int]:
    """First unit of each node, and the number of units: equal numbers of events, up to a border of
    lumis where one is near. No more nodes than units. `kept`: units that need no processing;
    neighbouring ones are a further node."""
    edges = {each.start for each in kept} ^ {each.stop for each in kept}
    is_kept = np.zeros(len(units), dtype=np.bool_)
    for each in kept:
        is_kept[each.start : each.stop] = True
    share = n_nodes / max(int(units.n_events[~is_kept].sum()), 1)
    borders = [0]
    for first, end in pairwise(sorted({0, *edges, len(units)})):
        own = _units(units, first, end)
        n = n_nodes if not kept else 1 if is_kept[first] else round(share * own.n_events.sum())
        borders += [first + place for place in _equal_borders(own, n)[1:]]
    return borders


def _equal_borders(units: Units, n_nodes: int) -> list[int]:
    before = np.concatenate(([0], np.cumsum(units.n_events)))
    wanted = before[-1] * np.arange(1, n_nodes) / n_nodes
    near = _NEAR * before[-1] / n_nodes
    key = units.lumi_key
    lumis = np.flatnonzero(key[1:] != key[:-1]) + 1
    ends = [_nearest(before, lumis, at, near) for at in wanted.tolist()]
    return sorted({0, *ends, len(units)})


def _nearest(before: Integers, lumis: Integers, at: float, near: float) -> int:
    """The border of lumis nearest to so many events, if it is near; else that of units."""
    for places, most in ((lumis, near), (np.arange(len(before)), np.inf)):
        if len(places):
            place = int(places[np.argmin(np.abs(before[places] - at))])
            if abs(float(before[place]) - at) <= most:
                return place
    raise AssertionError("there is a border of units")


def parts_of(
    plan: Plan,
    lumis: LumiCounts,
    borders: Sequence[int],
    index: Sequence[FileIndex] = (),
    first_file: int | None = None,
) -> Iterator[Part]:
    """A part for each pair of neighbouring borders. `lumis`, `index`: of the whole input; without
    an index it has no friends. `first_file`: rows of files from this number on are carried, each by
    one part; None: by none."""
    carriers = carriers_of(plan, borders, first_file) if first_file is not None else {}
    run, lumi, dataset = (
        np.concatenate(columns)
        for columns in (
            (lumis.run, plan.units.run),
            (lumis.lumi, plan.units.lumi),
            (lumis.dataset, plan.dataset_of_units),
        )
    )
    keys = dataset_lumi_keys(lumi_keys(run, lumi), dataset)
    in_input, of_units = np.split(keys, [len(lumis.run)])
    order = np.argsort(in_input)
    for number, (first, end) in enumerate(pairwise(borders)):
        units = _units(plan.units, first, end)
        own = distinct(of_units[first:end])
        places = order[np.searchsorted(in_input, own, sorter=order)] if len(order) else order
        files = distinct(units.file).tolist()
        carries = [
            CarriedFile(n, plan.files[n], *plan.identities[n][:2])
            for n in sorted(carriers.get(number, ()))
        ]
        yield Part(
            _plan(plan, units, len(own)),
            lumis.where(np.sort(places)),
            known_friends(index, files),
            carries,
        )


def carriers_of(plan: Plan, borders: Sequence[int], first_file: int = 0) -> dict[int, list[int]]:
    """By part, the files whose rows of other trees it has: of each file from number `first_file` on
    the first part with events of it, or of a file before it, so that parts in their order have the
    files in theirs. Files of a dataset without any event have none; those with several trees of
    events are in one part."""
    first_part: dict[int, int] = {}
    for part, (first, end) in enumerate(pairwise(borders)):
        for file in distinct(_units(plan.units, first, end).file).tolist():
            first_part.setdefault(file, part)
    found: dict[int, list[int]] = {}
    of_file = plan.datasets or [0] * len(plan.files)
    for dataset in dict.fromkeys(of_file):
        files = [n for n in range(first_file, len(plan.files)) if of_file[n] == dataset]
        begin = next((first_part[n] for n in files if n in first_part), None)
        if begin is not None:
            parts = accumulate((first_part.get(n, begin) for n in files), max)
            of_path: dict[str, int] = {}
            for file, part in zip(files, parts, strict=True):
                found.setdefault(of_path.setdefault(plan.files[file], part), []).append(file)
    return found


def _plan(plan: Plan, units: Units, n_lumis: int) -> Plan:
    own = set(units.file.tolist())
    return replace(
        plan,
        n_events=int(units.n_events.sum()),
        n_lumis=n_lumis,
        files=tuple(path if n in own else "" for n, path in enumerate(plan.files)),
        identities=tuple(i if n in own else ("", 0, 0) for n, i in enumerate(plan.identities)),
        units=units,
        digest=None,
        warnings=(),
        notes=(),
        n_dropped=0,
        n_without_partner=0,
        n_pieces=0,
    )


def _units(units: Units, first: int, end: int) -> Units:
    ranges = slice(units.first_range[first], units.first_range[end])
    own = slice(first, end)
    return Units(
        child=np.full(end - first, ANY_CHILD, dtype=np.int64),
        run=units.run[own],
        lumi=units.lumi[own],
        first_range=units.first_range[first : end + 1] - units.first_range[first],
        file=units.file[ranges],
        first=units.first[ranges],
        last=units.last[ranges],
    )


# --- more input -----------------------------------------------------------------------------------


def extended(plan: Plan, more: Plan, whole: Plan) -> Plan | None:
    """The units of `plan`, then those of `more`, which is of the files after them; `whole`: a plan
    of all files, cut anyhow. None if their events would be in another order, because lumis
    continue in the new files."""
    units = _appended(plan.units, more.units, len(plan.files))
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


def _appended(units: Units, more: Units, n_files: int) -> Units:
    shifts = {"file": n_files, "first_range": units.first_range[-1]}
    columns = {}
    for name, column in units.columns().items():
        added = more.columns()[name] + shifts.get(name, 0)
        columns[name] = np.concatenate([column, added[1:] if name == "first_range" else added])
    return Units.of(columns)


def _entries(units: Units) -> Integers:
    """(n, 3) file, first and last of each stretch of consecutive entries, in order."""
    return units.stretch(0, len(units)).ranges
