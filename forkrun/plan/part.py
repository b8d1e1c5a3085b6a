"""Parts of a plan, one for each node: consecutive units of it, as a plan of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from forkrun.base.lumis import Integers, LumiCounts, distinct, lumi_keys, of_datasets
from forkrun.index import FileIndex
from forkrun.index.known_friends import KnownFriend, known_friends
from forkrun.plan.model import ANY_CHILD, Plan, Units

_NEAR = 0.1
"""Part of a node's events by which its border may move to that of a lumi."""


class Part(Struct, frozen=True):
    """`plan`: units counted from 0, of files that have the same numbers as in the whole plan; the
    paths of others are "". `input_lumis`: events in the whole input of the lumis of these units;
    `friends`: where the entries of its files are in friend trees; `copies`: by path of a file,
    where to read it instead."""

    plan: Plan
    input_lumis: LumiCounts
    friends: Sequence[KnownFriend] = ()
    copies: Mapping[str, str] = {}

    @property
    def own_files(self) -> list[int]:
        """Numbers of the files of its units."""
        return [number for number, path in enumerate(self.plan.files) if path]

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
        plan["datasets"] = {n: self.plan.datasets[n] for n in own if self.plan.datasets}
        plan["trees"] = {n: self.plan.trees[n] for n in own if self.plan.trees}
        n_files = len(self.plan.files)
        return {
            "n_files": n_files,
            "plan": plan,
            "lumis": {name: c.tolist() for name, c in self.input_lumis.columns().items()},
            "friends": [asdict(friend) for friend in self.friends],
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
        friends = tuple(KnownFriend.from_json(friend) for friend in data["friends"])
        return cls(whole, LumiCounts.of(data["lumis"]), friends)


def node_borders(units: Units, n_nodes: int) -> list[int]:
    """First unit of each node, and the number of units: equal numbers of events, up to a border of
    lumis where one is near. No more nodes than units."""
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
    plan: Plan, lumis: LumiCounts, borders: Sequence[int], index: Sequence[FileIndex] = ()
) -> Iterator[Part]:
    """A part for each pair of neighbouring borders. `lumis`, `index`: of the whole input; without
    an index it has no friends."""
    run, lumi, dataset = (
        np.concatenate(columns)
        for columns in (
            (lumis.run, plan.units.run),
            (lumis.lumi, plan.units.lumi),
            (lumis.dataset, plan.dataset_of_units),
        )
    )
    keys = of_datasets(lumi_keys(run, lumi), dataset)
    in_input, of_units = np.split(keys, [len(lumis.run)])
    order = np.argsort(in_input)
    for first, end in pairwise(borders):
        units = _units(plan.units, first, end)
        own = distinct(of_units[first:end])
        places = order[np.searchsorted(in_input, own, sorter=order)] if len(order) else order
        files = distinct(units.file).tolist()
        yield Part(
            _plan(plan, units, len(own)), lumis.where(np.sort(places)), known_friends(index, files)
        )


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
