"""From objects to any number of others, in one collection or several: relations of EDM4hep,
references of Delphes and links of ATLAS. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct


def event_of(offsets: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """(n_objects,) number of each object's event. `offsets`: (n_events + 1,)."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def places(
    event: npt.NDArray[Any], indices: npt.NDArray[Any], there: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """For each of some objects the place of the one that it leads to, among all of the block; -1
    where its index leads to none. `event`: its event; `there`: offsets of those that the indices
    count in each event."""
    index = indices.astype(np.int64)
    is_there = (index >= 0) & (index < np.diff(there)[event])
    return np.where(is_there, there[:-1][event] + index, -1)


def parts_of(
    offsets: npt.NDArray[Any], parts: Sequence[npt.NDArray[Any]], there: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Offsets and places, among all values of a block, of those that belong to each object.
    `parts`: (n_objects,) begin and end in the event's list; `there`: offsets of these lists."""
    event = event_of(offsets)
    n_there = np.diff(there)[event]
    begin, end = (np.minimum(part.astype(np.int64), n_there) for part in parts)
    counts = np.maximum(end - begin, 0)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    first = np.repeat(there[:-1][event] + begin - ends[:-1], counts)
    return ends, first + np.arange(ends[-1])


_IN_TARGET = 1 << 40
"""A place among the objects of the first target, of the second behind so many, and so on."""
_UNIQUE = 0xFFFFFF
"""Bits of a `fUniqueID` that tell objects apart; those above are the number of a process."""

Lists = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Offsets and values."""


class Relation(Struct, frozen=True):
    """`index`: column of each event, or of each object, with the numbers of others; `begin`, `end`:
    fields with the part of the event's list that belongs to an object; "": one for each object.
    `targets`: collections to which it may lead, the likely one first; `is_list`: to any number, or
    to one at most. `ids`: column beside `index` that tells which, by `keys`; `by_unique_id`: the
    numbers are those of `fUniqueID`; `has_small_ids`: ids below 65,536, which a table tells
    apart, mean the first target."""

    index: str
    targets: Sequence[str]
    begin: str = ""
    end: str = ""
    ids: str = ""
    keys: Mapping[int, int] = {}
    is_list: bool = True
    by_unique_id: bool = False
    has_small_ids: bool = False

    @property
    def columns(self) -> list[str]:
        """What is read beside the objects and those that they lead to."""
        ids = [f"{each}.fUniqueID" for each in self.targets] if self.by_unique_id else [self.ids]
        return [self.index, *(each for each in ids if each)]

    @property
    def fields(self) -> set[str]:
        """Fields of the objects that have to be read."""
        return {self.begin, self.end} - {""}


def relations_of(
    name: str,
    columns: Mapping[str, str],
    types: Collection[str],
    collections: Sequence[str],
    by_name: Callable[[str], str | None],
) -> dict[str, Relation]:
    """Those of the collection `name`. `columns`: by field; `types`: all columns; `by_name`: the
    collection that a name certainly means."""
    found = dict(_of_delphes(columns, types, collections))
    for to, index in _indices(name, columns, types, collections):
        likely = by_name(to)
        targets = [likely] if likely else []
        targets += [each for each in collections if each not in targets]
        begin, end, ids = f"{to}_begin", f"{to}_end", index.removesuffix("index") + "collectionID"
        is_list = {begin, end} <= columns.keys()
        found[to] = Relation(
            index,
            targets if ids in types else targets[:1],
            *((begin, end) if is_list else ("", "")),
            ids if ids in types else "",
            {id_of(each): number for number, each in enumerate(targets)},
            is_list,
            has_small_ids=True,
        )
    return found


def _indices(
    name: str, columns: Mapping[str, str], types: Collection[str], collections: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Names of relations of EDM4hep, and the columns with the numbers of objects. A collection of
    such numbers alone, a part of another collection, leads to its `object`."""
    if {"index", "collectionID"} == columns.keys():
        yield "object", columns["index"]
    before, end = f"_{name}_", ".index"
    longer = tuple(f"_{each}_" for each in collections if each.startswith(f"{name}_"))
    for column in types:
        if column.startswith(before) and column.endswith(end) and not column.startswith(longer):
            yield column[len(before) : -len(end)], column


def _of_delphes(
    columns: Mapping[str, str], types: Collection[str], collections: Sequence[str]
) -> Iterator[tuple[str, Relation]]:
    """`Particle.ref` leads from tracks to the `particle`, `Constituents.refs` from jets to their
    `constituents`."""
    for field in columns:
        name, _, last = field.rpartition(".")
        if last not in ("ref", "refs") or "." in name or not name:  # Jet_ref is a column
            continue
        there = [each for each in collections if f"{each}.fUniqueID" in types]
        meant = [each for each in there if name in (each, f"{each}s")]
        to = name[0].lower() + name[1:]
        yield (
            to,
            Relation(columns[field], meant or there, is_list=last == "refs", by_unique_id=True),
        )


def id_of(name: str) -> int:
    """The `collectionID` of a collection: podio hashes names with MurmurHash3 (32 bits, seed 0)."""
    data, hashed = name.encode(), 0
    for at in range(0, len(data), 4):
        part = data[at : at + 4]
        key = int.from_bytes(part, "little") * 0xCC9E2D51 & 0xFFFFFFFF
        hashed ^= _turned(key, 15) * 0x1B873593 & 0xFFFFFFFF
        if len(part) == 4:
            hashed = (_turned(hashed, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    hashed ^= len(data)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return hashed ^ hashed >> 16


def _turned(number: int, n_bits: int) -> int:
    return (number << n_bits | number >> (32 - n_bits)) & 0xFFFFFFFF


def places_of(
    relation: Relation,
    offsets: npt.NDArray[Any],
    parts: Sequence[npt.NDArray[Any]],
    plain: Callable[[str], Any],
    there: Callable[[str], npt.NDArray[Any] | None],
) -> Lists:
    """For each object of a block the others that it is related to: offsets and places, as
    `in_targets` takes them apart. `offsets`: (n_events + 1,) of the objects; `parts`: values of
    `begin` and `end`; `plain` reads a column, `there`: offsets of a collection."""
    per_event, *lists, numbers = plain(relation.index)
    chosen = np.arange(len(numbers))
    ends = lists[0] if lists else np.arange(len(numbers) + 1)
    if parts:
        ends, chosen = parts_of(offsets, parts, per_event)
    elif not np.array_equal(per_event, offsets):
        raise ValueError(f"{relation.index} has another number of values than there are objects")
    event = np.repeat(event_of(offsets), np.diff(ends))
    if relation.by_unique_id:
        return ends, _by_unique_id(relation, event, numbers[chosen], plain, len(offsets) - 1)
    ids = plain(relation.ids)[-1][chosen] if relation.ids else np.ones(len(chosen), np.int64)
    target = _targets(relation, ids)
    found = np.full(len(chosen), -1, np.int64)
    for number in np.unique(target[target >= 0]):
        of_target, is_it = there(relation.targets[number]), target == number
        if of_target is not None:
            place = places(event[is_it], numbers[chosen[is_it]], of_target)
            found[is_it] = np.where(place < 0, place, place + number * _IN_TARGET)
    return ends, found


def _targets(relation: Relation, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Numbers of targets. Before podio hashed names, ids were small numbers of a table: of these
    the first target is meant."""
    known, which = np.unique(ids, return_inverse=True)
    numbers = [relation.keys.get(int(each) & 0xFFFFFFFF, -1) for each in known]
    is_of_table = relation.has_small_ids and all(0 < int(each) < 1 << 16 for each in known)
    return np.array([0] * len(known) if is_of_table else numbers, np.int64)[which]


def _by_unique_id(
    relation: Relation,
    event: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
    plain: Callable[[str], Any],
    n_events: int,
) -> npt.NDArray[np.int64]:
    """Places of the objects with these numbers; of several in an event the first target's."""
    wanted = event.astype(np.int64) << 24 | (numbers & _UNIQUE)
    found = np.full(len(wanted), -1, np.int64)
    for number, target in enumerate(relation.targets):
        of_target, ids = plain(f"{target}.fUniqueID")
        if not len(ids):
            continue
        own = event_of(of_target).astype(np.int64) << 24 | (ids & _UNIQUE)
        order = np.argsort(own, kind="stable")
        place = order[np.minimum(np.searchsorted(own[order], wanted), len(own) - 1)]
        is_there = (own[place] == wanted) & ((numbers & _UNIQUE) != 0)
        found = np.where((found < 0) & is_there, place + number * _IN_TARGET, found)
    return found


def in_targets(found: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Number of the target and place in it of each, from `places_of`; -1 of those that lead to
    none."""
    is_there = found >= 0
    return np.where(is_there, found // _IN_TARGET, -1), np.where(is_there, found % _IN_TARGET, -1)


_IDS = "_collectionID"
_PARTICLES = "MCParticle"
"""Pointers lead here, unless another collection has their name."""


def lcio_pointers(
    columns: Mapping[str, str],
    types: Mapping[str, str],
    collections: Sequence[str],
    by_name: Callable[[str], str | None],
) -> Iterator[tuple[str, Relation]]:
    """`MCParticle.parents` leads to the `parents` of a particle, `PFOs.tracks` to `tracks`. Those
    of items in lists, `contributions.particle`, stay numbers. `columns`: by field; `types`: of all
    columns; `by_name`: the collection that a name certainly means."""
    for field, column in columns.items():
        ids = columns.get(field + _IDS)
        if ids is None or "." in field:
            continue
        likely = [by_name(field) or _PARTICLES]
        targets = [each for each in likely if each in collections]
        targets += [each for each in collections if each not in targets]
        keys = {id_of(each): number for number, each in enumerate(targets)}
        yield field, Relation(column, targets, ids=ids, keys=keys, is_list="[][]" in types[column])
