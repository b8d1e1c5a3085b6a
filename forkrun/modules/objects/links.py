"""Links from objects to those of another collection, by their indices: `muons.jet`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from forkrun.base.awkward_array import ak
from forkrun.base.nearest import suggestion
from forkrun.modules.objects.collections import Collection, NoSuchColumnError
from forkrun.modules.objects.relations import in_targets

# Keys of `attrs` of the arrays; keys that begin with @ are never written to files.
BLOCK, COLLECTION, NOTE = "@forkrun_block", "@forkrun_collection", "@forkrun_note"
SUFFIX = "IdxG"
"""Suffix of fields with the places of linked objects in the block, as in coffea."""


def linked(objects: ak.Array, name: str) -> ak.Array | None:
    """The object to which each of `objects` leads, or the list of them, None where there is none.
    Returns None if there is no such link, or its indices are not read."""
    block, collection = objects.attrs.get(BLOCK), objects.attrs.get(COLLECTION)
    field = name + SUFFIX
    if collection is None or field not in objects.fields:
        return None
    relation = collection.relations.get(name)
    targets = relation.targets if relation else [collection.links[name][1]]
    numbers, _ = in_targets(ak.to_numpy(ak.flatten(objects[field], axis=None)))
    content, attrs, begins = _content(block, targets, np.unique(numbers[numbers >= 0]).tolist())

    def leads(layout: Any, **_: Any) -> Any:
        if not layout.is_numpy:
            return None
        number, index = in_targets(np.asarray(layout.data))
        index = np.where(index < 0, index, index + begins[number])
        return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(index), content)

    return ak.Array(ak.transform(leads, objects[field], highlevel=False), attrs=attrs)


def _content(
    block: Any, targets: Sequence[str], used: Sequence[int]
) -> tuple[Any, Any, npt.NDArray[np.int64]]:
    """All objects of the targets in use, one target after the other, and where each begins. If none
    is in use: no objects, with the fields of all targets that are read."""
    if not used:
        return _no_objects(block, targets)
    found = [block.objects(targets[number]) for number in used]
    begins = np.zeros(len(targets) + 1, np.int64)
    begins[used] = np.cumsum([0, *(len(each.layout.content) for each in found)])[: len(used)]
    contents = [each.layout.content for each in found]
    content = contents[0] if len(found) == 1 else ak.concatenate(contents, highlevel=False)
    # Collections have different relations: none can be followed from their objects together.
    return content, found[0].attrs if len(found) == 1 else {}, begins


def _no_objects(block: Any, targets: Sequence[str]) -> tuple[Any, Any, npt.NDArray[np.int64]]:
    """No objects, with the fields of all possible targets: no event shows which target is meant,
    and available fields must not depend on the events in a block."""
    begins = np.zeros(len(targets) + 1, np.int64)
    found = []
    for target in targets:
        with suppress(NoSuchColumnError):  # the module reads none of its columns
            found.append(block.objects(target))
    if len(found) < 2:
        first = found[0] if found else block.objects(targets[0])
        return first.layout.content, first.attrs, begins
    like = next((each for each in found if _record(each) != "Objects"), found[0])
    in_order = (*reversed(found), like)
    collections = [each.attrs[COLLECTION] for each in in_order]
    attrs = {**like.attrs, COLLECTION: replace(
        collections[-1],
        links={k: v for each in collections for k, v in each.links.items()},
        relations={k: v for each in collections for k, v in each.relations.items()},
    )}  # fmt: skip
    if NOTE in attrs:
        attrs[NOTE] = partial(_note_guess, found)
    forms = {k: each.layout.content.form.content(k) for each in in_order for k in each.fields}
    parameters = {"__record__": _record(like)}
    form = ak.forms.RecordForm([*forms.values()], [*forms], parameters=parameters)
    return form.length_zero_array(highlevel=False), attrs, begins


def _record(objects: ak.Array) -> str:
    """Name of the behaviour of a list of objects."""
    return str(objects.layout.content.parameter("__record__"))


def _note_guess(found: Sequence[ak.Array], _: Collection, fields: Iterable[str]) -> None:
    """Notes fields of all collections that may be meant, since no event has shown which one is."""
    for each in found:
        each.attrs[NOTE](each.attrs[COLLECTION], fields, is_guess=True)


def explain_missing(objects: ak.Array, name: str) -> str:
    """Reason why these objects have no such attribute, for messages."""
    collection = objects.attrs.get(COLLECTION)
    if collection is None:
        return f"no field, link or vector property named {name!r}"
    if name in collection.relations:
        needed = ", ".join(collection.columns_of_link(name))
        return (
            f"{collection.name}.{name} needs {needed}, which the module does not read,"
            " and columns of the objects that it leads to: name them in `consumes`"
        )
    if member := collection.members.get(name):
        return (
            f"{collection.name}.{name} needs {', '.join(member.needed)}, which the module does not"
            " read: name them in `consumes`"
        )
    if column := collection.columns.get(name):
        return f"the module does not read {column}: name it in `consumes`"
    missing = sorted(
        c
        for f, c in collection.columns.items()
        if f in collection.coordinates - set(objects.fields)
    )
    is_vector = objects.layout.purelist_parameter("__record__") != "Objects"
    if missing and collection.kind and not is_vector:
        return (
            f"{collection.name} has no field {name!r}, and is not a Lorentz vector here, because"
            " the"
            f" module does not read {', '.join(missing)}: name them in `consumes`"
        )
    reader = getattr(objects.attrs.get(BLOCK), "_reader", None)
    if reader and (there := reader.known.no_field(collection.name, name)):
        return str(there)
    known = [*collection.columns, *collection.links, *collection.relations, *collection.members]
    return f"{collection.name} has no field {name!r}" + suggestion(name, known)
