"""Objects of a collection: an Awkward Array of records on the memory of the columns, with the
behaviour of Lorentz vectors where the columns allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import awkward as ak
import numpy as np
import numpy.typing as npt

from forkrun.formats.column_types import ColumnType
from forkrun.formats.plain import Plain, inner_of
from forkrun.modules.columns import known_layout, layout_of
from forkrun.modules.objects.collections import Collection, NoSuchColumnError, VectorMember
from forkrun.modules.objects.links import BLOCK, COLLECTION, NOTE, SUFFIX
from forkrun.modules.objects.relations import Relation, event_of, parts_of, places, places_of
from forkrun.modules.objects.vectors import register


class Columnar(Protocol):
    """Source of columns for objects: an event block."""

    def __len__(self) -> int: ...
    def plain(self, column: str) -> Plain:
        """Values, or (offsets, values) of a jagged column."""

    def may_lack(self, column: str) -> bool:
        """Whether some of its numbers may be missing."""

    def objects(self, name: str) -> ak.Array:
        """All objects of a collection."""

    def offsets(self, name: str) -> npt.NDArray[np.int64] | None:
        """(n_events + 1,) offsets of a collection; None if none of its columns is read."""


def make_objects(block: Columnar, collection: Collection, columns: Mapping[str, str]) -> ak.Array:
    """(n_events, n) records, or (n_events,) for a collection with one object per event. `columns`:
    readable ones, by field; the objects are vectors if these include all coordinates."""
    plain = {key: block.plain(column) for key, column in columns.items()}
    if not collection.is_jagged:
        contents = {key: _layout(block, columns[key], each) for key, each in plain.items()}
        return _array(block, collection, _record(collection, contents), set(plain))
    offsets = _common_offsets(plain, columns)
    fields = {key: inner_of(lists) for key, lists in plain.items()}
    for link, (key, target) in collection.links.items():
        if key in fields and (there := block.offsets(target)) is not None:
            fields[link + SUFFIX] = places(event_of(offsets), fields[key], there)
    contents = {key: _layout(block, columns.get(key, ""), each) for key, each in fields.items()}
    for name, relation in collection.relations.items():
        if relation.fields <= fields.keys():
            contents |= _relation_places(block, offsets, name, relation, fields)
            if name + SUFFIX in contents:  # objects replace their numbers
                contents.pop(name, None)
    for name, member in collection.members.items():
        contents |= _member(block, offsets, name, member)
    content = _record(collection, contents)
    layout = ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)
    return _array(block, collection, layout, set(fields))


def _layout(block: Columnar, column: str, values: Plain) -> Any:
    layout = layout_of(values)
    return known_layout(layout) if block.may_lack(column) else layout


def _common_offsets(plain: Mapping[str, Plain], columns: Mapping[str, str]) -> Any:
    (first, (offsets, *_)), *others = plain.items()
    for key, (other, *_) in others:
        is_same = other.ctypes.data == offsets.ctypes.data and len(other) == len(offsets)
        if not is_same and not np.array_equal(other, offsets):
            raise ValueError(
                f"{columns[first]} and {columns[key]} have different numbers of values in an"
                " event: they are not of the same objects"
            )
    return offsets


def _relation_places(
    block: Columnar, offsets: Any, name: str, relation: Relation, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Places of related objects; empty unless the module reads all columns needed."""
    parts = [fields[key] for key in (relation.begin, relation.end) if key]
    try:
        ends, found = places_of(relation, offsets, parts, block.plain, block.offsets)
    except NoSuchColumnError:
        return {}
    content: Any = ak.contents.NumpyArray(found)
    if relation.is_list:
        content = ak.contents.ListOffsetArray(ak.index.Index64(ends), content)
    return {name + SUFFIX: content}


def _member(block: Columnar, offsets: Any, name: str, member: VectorMember) -> dict[str, Any]:
    """Lists of values in columns of their own, made of the columns that the module reads."""
    found: dict[str, Plain] = {}
    for field, column in member.columns.items():
        with suppress(NoSuchColumnError):
            found[field] = block.plain(column)
    try:
        begin, end = block.plain(member.begin), block.plain(member.end)
        per_event = next(iter(found.values()))[0]
    except (NoSuchColumnError, StopIteration):
        return {}
    ends, chosen = parts_of(offsets, (begin[1], end[1]), per_event)
    values = {field: layout_of(inner_of(column))[chosen] for field, column in found.items()}
    content = values[""] if "" in values else _nested(values, ak.contents.RecordArray)
    return {name: ak.contents.ListOffsetArray(ak.index.Index64(ends), content)}


def _record(collection: Collection, contents: Mapping[str, Any]) -> Any:
    parameters = {"__record__": record_name(collection, contents.keys())}
    return _nested(contents, ak.contents.RecordArray, parameters=parameters)


def _nested(parts: Mapping[str, Any], make: Callable[..., Any], **options: Any) -> Any:
    """Record of contents or forms by field. Fields "momentum.x" and "momentum.y" form a record
    within it."""
    within: dict[str, dict[str, Any]] = {}
    for key, part in parts.items():
        first, _, rest = key.partition(".")
        if rest and first not in parts and first + SUFFIX not in parts:
            within.setdefault(first, {})[rest] = part
    own = {key: part for key, part in parts.items() if key.partition(".")[0] not in within}
    own |= {key: _nested(inner, make) for key, inner in within.items()}
    return make(list(own.values()), list(own), **options)


def record_name(collection: Collection, fields: Any) -> str:
    """Name of the behaviour: `Momentum4D` or similar if all coordinates are present."""
    return (
        collection.kind if collection.coordinates <= set(fields) and collection.kind else "Objects"
    )


def load_behaviour(collection: Collection, fields: Iterable[str]) -> None:
    """Loads the behaviour of objects with these fields."""
    register(record_name(collection, {*fields}))


def _array(
    block: Columnar, collection: Collection, layout: Any, fields: set[str], note: Any = None
) -> ak.Array:
    attrs = {BLOCK: block, COLLECTION: collection} | ({NOTE: note} if note else {})
    load_behaviour(collection, fields)
    return ak.Array(layout, attrs=attrs)


def make_virtual(
    block: Columnar,
    collection: Collection,
    types: Mapping[str, ColumnType],
    offsets: Callable[[], Any],
    peek: Callable[[str], Plain],
    note: Callable[[Collection, Iterable[str]], None],
) -> ak.Array:
    """Objects like those of `make_objects`, with all fields, each read when accessed. `types`: by
    field; `peek` returns a column without recording it, for offsets of inner lists and texts;
    `note` receives fields accessed by name or through vectors."""
    buffers: dict[str, Any] = {}
    forms = {}
    for key, kind in types.items():
        n_outer = 1 if collection.is_jagged else 0
        forms[key] = _form(kind, key, n_outer)
        for level in range(n_outer, kind.n_levels):
            buffers[f"{key}.{level}-offsets"] = peek(collection.columns[key])[level]
        buffers[f"{key}-data"] = partial(_values, block, collection.columns[key])
    for link, (key, target) in collection.links.items():
        if collection.is_jagged and key in types:
            forms[link + SUFFIX] = ak.forms.NumpyForm("int64", form_key=link + SUFFIX)
            buffers[f"{link}{SUFFIX}-data"] = partial(
                _places_of, block, offsets, collection.columns[key], target
            )
    for name, relation in collection.relations.items() if collection.is_jagged else ():
        found = partial(_found, block, offsets, collection, relation)
        key = name + SUFFIX
        forms[key] = ak.forms.NumpyForm("int64", form_key=f"{key}.0")
        forms.pop(name, None)  # objects replace their numbers
        if relation.is_list:
            forms[key] = ak.forms.ListOffsetForm("i64", forms[key], form_key=key)
        buffers[f"{key}-offsets"] = partial(lambda found: found()[0], found)
        buffers[f"{key}.0-data"] = partial(lambda found: found()[1], found)
    for name, member in collection.members.items() if collection.is_jagged else ():
        forms[name] = _member_form(block, offsets(), name, member, peek, buffers)
    name = record_name(collection, types)
    form: Any = _nested(
        forms, ak.forms.RecordForm, parameters={"__record__": name}, form_key="record"
    )
    if collection.is_jagged:
        form = ak.forms.ListOffsetForm("i64", form, form_key="lists")
        # Awkward does not support lists of unknown length that contain lists or records.
        has_nested = any(kind.n_levels > 1 or "." in key for key, kind in types.items())
        has_nested = has_nested or bool(collection.relations) or bool(collection.members)
        buffers["lists-offsets"] = offsets() if has_nested else offsets
    layout = ak.from_buffers(form, len(block), buffers, highlevel=False)
    return _array(block, collection, layout, set(types), note)


def _member_form(
    block: Columnar,
    offsets: Any,
    name: str,
    member: VectorMember,
    peek: Callable[[str], Plain],
    buffers: dict[str, Any],
) -> Any:
    """Form of a vector member. Adds its data to the buffers."""
    begin, end, column = (peek(each) for each in member.needed)
    ends, chosen = parts_of(offsets, (begin[1], end[1]), column[0])
    forms = {}
    for field, each in member.columns.items():
        key = f"{name}.{field}"
        forms[field] = _form(member.types[field], key, 1)
        buffers[f"{key}-data"] = partial(lambda each: _values(block, each)[chosen], each)
    inner = forms[""] if "" in forms else _nested(forms, ak.forms.RecordForm, form_key=name)
    buffers[f"{name}-list-offsets"] = ends
    return ak.forms.ListOffsetForm("i64", inner, form_key=f"{name}-list")


def _values(block: Columnar, column: str) -> Any:
    plain = block.plain(column)
    values = plain[-1] if isinstance(plain, tuple) else plain
    return values.view(np.uint8) if values.dtype.kind == "S" else values


def _form(kind: ColumnType, key: str, n_outer: int) -> Any:
    """Awkward form of a column without its `n_outer` outer lists (1 for a field of a
    collection)."""
    primitive, texts = ("uint8", {"__array__": "char"}) if kind.is_text else (kind.element, None)
    form: Any = ak.forms.NumpyForm(
        primitive, inner_shape=kind.dimensions, parameters=texts, form_key=key
    )
    for level in reversed(range(n_outer, kind.n_levels)):
        is_text = kind.is_text and level + 1 == kind.n_levels
        form = ak.forms.ListOffsetForm(
            "i64",
            form,
            parameters={"__array__": "string"} if is_text else None,
            form_key=f"{key}.{level}",
        )
    return form


def _places_of(block: Any, offsets: Callable[[], Any], column: str, target: str) -> Any:
    return places(event_of(offsets()), _values(block, column), block.offsets(target))


def _found(
    block: Any, offsets: Callable[[], Any], collection: Collection, relation: Relation
) -> tuple[Any, Any]:
    keys = [key for key in (relation.begin, relation.end) if key]
    parts = [_values(block, collection.columns[key]) for key in keys]
    return places_of(relation, offsets(), parts, block.plain, block.offsets)
