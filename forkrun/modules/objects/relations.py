"""Relations from objects to any number of others, in one or several collections: relations of
EDM4hep, references of Delphes, pointers of LCIO and links of ATLAS. Pure."""

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
    """Place of the linked object among all in the block, for each object; -1 for an invalid index.
    `event`: number of the object's event; `there`: offsets of the collection to which indices
    refer."""
    index = indices.astype(np.int64)
    is_there = (index >= 0) & (index < np.diff(there)[event])
    return np.where(is_there, there[:-1][event] + index, -1)


def parts_of(
    offsets: npt.NDArray[Any], parts: Sequence[npt.NDArray[Any]], there: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Offsets and places of the values that belong to each object, among all values in a block.
    `parts`: (n_objects,) beginning and end in the event's list; `there`: offsets of these lists."""
    event = event_of(offsets)
    n_there = np.diff(there)[event]
    begin, end = (np.minimum(part.astype(np.int64), n_there) for part in parts)
    counts = np.maximum(end - begin, 0)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    first = np.repeat(there[:-1][event] + begin - ends[:-1], counts)
    return ends, first + np.arange(ends[-1])


_IN_TARGET = 1 << 40
"""Offset between targets: a place is that among the objects of the target, plus a multiple of
this."""
_UNIQUE = 0xFFFFFF
"""Bits of a `fUniqueID` that identify an object; the higher ones number a process."""

Lists = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Offsets and values."""


class Relation(Struct, frozen=True):
    """A relation. `index`: column with the numbers of related objects, one list per event or one
    entry per object; `begin`, `end`: fields with an object's part of the event's list; "": one
    entry for each object. `targets`: possible collections, the likely one first; `is_list`: leads
    to any number of objects, else to one at most. `ids`: column parallel to `index` that tells the
    target, by `keys`; `by_unique_id`: numbers are values of `fUniqueID`; `has_small_ids`: ids below
    65,536, which only a table could tell apart, mean the first target."""

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
        """Columns read in addition to those of the objects and targets."""
        ids = [f"{each}.fUniqueID" for each in self.targets] if self.by_unique_id else [self.ids]
        return [self.index, *(each for each in ids if each)]

    @property
    def fields(self) -> set[str]:
        """Fields of the objects required for the relation."""
        return {self.begin, self.end} - {""}


def relations_of(
    name: str,
    columns: Mapping[str, str],
    types: Collection[str],
    collections: Sequence[str],
    by_name: Callable[[str], str | None],
) -> dict[str, Relation]:
    """Relations of the collection `name`. `columns`: by field; `types`: of all columns; `by_name`:
    returns the collection that a name certainly means."""
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
    """Names of EDM4hep relations, with the columns of their object numbers. A collection of nothing
    but such numbers, a subset of another collection, leads to its `object`."""
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
    """Relations of Delphes: `Particle.ref` leads from tracks to the `particle`, `Constituents.refs`
    from jets to their `constituents`."""
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
    """Offsets and places of the objects related to each object of a block; `in_targets` decodes the
    places. `offsets`: (n_events + 1,) of the objects; `parts`: values of `begin` and `end`; `plain`
    reads a column, `there` returns offsets of a collection."""
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
    """Numbers of targets. Before podio hashed names, ids were small numbers from a table: these
    mean the first target."""
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
    """Places of the objects with these unique ids; if an event has several, that in the first
    target."""
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
    """Number of the target and place in it for each place from `places_of`; -1 for none."""
    is_there = found >= 0
    return np.where(is_there, found // _IN_TARGET, -1), np.where(is_there, found % _IN_TARGET, -1)


_IDS = "_collectionID"
_PARTICLES = "MCParticle"
"""Target of pointers, unless another collection has their name."""


def lcio_pointers(
    columns: Mapping[str, str],
    types: Mapping[str, str],
    collections: Sequence[str],
    by_name: Callable[[str], str | None],
) -> Iterator[tuple[str, Relation]]:
    """Relations of LCIO, where an index and a column with the collection form a pointer:
    `MCParticle.parents` leads to the `parents` of a particle, `PFOs.tracks` to `tracks`. Pointers
    of items in lists, `contributions.particle`, stay numbers. `columns`: by field; `types`: of all
    columns; `by_name`: returns the collection that a name certainly means."""
    for field, column in columns.items():
        ids = columns.get(field + _IDS)
        if ids is None or "." in field:
            continue
        likely = [by_name(field) or _PARTICLES]
        targets = [each for each in likely if each in collections]
        targets += [each for each in collections if each not in targets]
        keys = {id_of(each): number for number, each in enumerate(targets)}
        yield field, Relation(column, targets, ids=ids, keys=keys, is_list="[][]" in types[column])
