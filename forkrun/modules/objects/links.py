"""From objects to those of another collection, by an index that they have: `muons.jet`."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
import numpy.typing as npt

from forkrun.base.nearest import suggestion

# In `attrs` of the arrays; what begins with @ is kept in no file.
BLOCK, COLLECTION, NOTE = "@forkrun_block", "@forkrun_collection", "@forkrun_note"
SUFFIX = "IdxG"
"""Suffix of the field with the places of linked objects in the block, as in coffea."""


def places(
    offsets: npt.NDArray[Any], indices: npt.NDArray[Any], there: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """For each object of a block the place of the one that it leads to, among all of the block; -1
    where its index leads to none. `offsets`: (n_events + 1,) of the objects; `there`: of those
    that the indices, (n,), count in each event."""
    begin, n = there[:-1], np.diff(there)
    counts = np.diff(offsets)
    index = indices.astype(np.int64)
    is_there = (index >= 0) & (index < np.repeat(n, counts))
    return np.where(is_there, np.repeat(begin, counts) + index, -1)


def related(
    offsets: npt.NDArray[Any],
    parts: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    index: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    there: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each object of a block the places of those that it is related to, as `places` gives them:
    offsets and places. `parts`: begin and end of each object's part of its event's list; `index`:
    offsets and numbers of these lists."""
    per_event, numbers = index
    n_objects = np.diff(offsets)
    event = np.repeat(np.arange(len(n_objects)), n_objects)
    n_there = np.diff(per_event)[event]
    begin, end = (np.minimum(part.astype(np.int64), n_there) for part in parts)
    counts = np.maximum(end - begin, 0)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    first = np.repeat(per_event[:-1][event] + begin - ends[:-1], counts)
    chosen = numbers[first + np.arange(ends[-1])]
    of_event = np.concatenate([[0], np.cumsum(np.bincount(event, counts, len(n_objects)))])
    return ends, places(of_event.astype(np.int64), chosen, there)


def linked(objects: ak.Array, name: str) -> ak.Array | None:
    """The object that each of `objects` leads to, None where there is none; None if there is no
    such link, or its indices are not read."""
    block, collection = objects.attrs.get(BLOCK), objects.attrs.get(COLLECTION)
    field = name + SUFFIX
    if collection is None or field not in objects.fields:
        return None
    if name in collection.relations:
        target = block.objects(collection.relations[name].target)
    else:
        target = block.objects(collection.links[name][1])
    content = target.layout.content

    def leads(layout: Any, **_: Any) -> Any:
        if not layout.is_numpy:
            return None
        index = ak.index.Index64(np.asarray(layout.data))
        return ak.contents.IndexedOptionArray.simplified(index, content)

    return ak.Array(
        ak.transform(leads, objects[field], highlevel=False),
        attrs=target.attrs,
    )  # fmt: skip


def why_not(objects: ak.Array, name: str) -> str:
    """Why these objects have no such attribute, in words."""
    collection = objects.attrs.get(COLLECTION)
    if collection is None:
        return f"no field, link or vector property named {name!r}"
    if column := collection.columns.get(name):
        return f"the module does not read {column}: name it in `consumes`"
    missing = sorted(
        c
        for f, c in collection.columns.items()
        if f in collection.coordinates - set(objects.fields)
    )
    if missing and collection.kind:
        return (
            f"{collection.name} has no field {name!r}, and is not a Lorentz vector here, because"
            " the"
            f" module does not read {', '.join(missing)}: name them in `consumes`"
        )
    reader = getattr(objects.attrs.get(BLOCK), "_reader", None)
    if reader and (there := reader.known.no_field(collection.name, name)):
        return str(there)
    known = [*collection.columns, *collection.links, *collection.relations]
    return f"{collection.name} has no field {name!r}" + suggestion(name, known)
