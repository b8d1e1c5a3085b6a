"""What collections of objects can do besides what Awkward Arrays can: Lorentz vectors of the
`vector` library, which is loaded when one is made, and links to other collections."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import awkward as ak
import numpy as np

from forkrun.modules.objects.collections import NoSuchNameError
from forkrun.modules.objects.links import COLLECTION, NOTE, linked, why_not

_KINDS = ("Momentum2D", "Momentum3D", "Momentum4D")
_FIELDS = ("pt", "eta", "phi", "mass")
_PARTS = ("azimuthal", "longitudinal", "temporal")
_COORDINATES = {
    "x", "y", "z", "t", "rho", "phi", "theta", "eta", "tau",
    "px", "py", "pz", "E", "e", "energy", "pt", "M", "m", "mass",
}  # fmt: skip


class _Linked:
    """Leads to other collections, and says why an attribute is not there."""

    def __getitem__(self, where: Any) -> Any:
        if NOTE in self.attrs:
            _note(self, [where] if isinstance(where, str) else where)
        found = super().__getitem__(where)  # type: ignore[misc]
        if isinstance(where, list) and where and isinstance(where[0], str):
            return _still_vectors(self, found)
        return found

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)  # type: ignore[misc]
        except AttributeError:
            if name.startswith("_"):
                raise
            found = linked(self, name)
            if found is None:
                raise NoSuchNameError(why_not(self, name)) from None
            return found


class Objects(_Linked, ak.Array):  # type: ignore[misc]
    """Objects of a collection that are no vectors."""


@functools.cache
def register(name: str) -> None:
    """Gives records of this name their behaviour, in all of this process: that of an array gets
    lost where several are combined. Other users of `vector` get sums in double precision, too."""
    if name in _KINDS:
        _register_vectors()
    ak.behavior["*", "Objects"] = Objects


@functools.cache
def _register_vectors() -> None:
    import vector

    vector.register_awkward()
    for kind in _KINDS:
        ak.behavior["*", kind] = _vector_class(ak.behavior["*", kind])
        ak.behavior[ak.sum, kind] = _in_double(ak.behavior[ak.sum, kind])
    for operation in (np.add, np.subtract):
        for pair in itertools.product(_KINDS, _KINDS):
            ak.behavior[operation, *pair] = _in_double(ak.behavior[operation, *pair])


def _vector_class(plain: type) -> type:
    """Reads its own coordinates without a detour."""
    own = {
        name: _coordinate(getattr(plain, name), name) for name in _FIELDS if hasattr(plain, name)
    }
    own |= {part: _noted(getattr(plain, part)) for part in _PARTS if hasattr(plain, part)}
    return type(plain.__name__, (_Linked, plain), own)


def _coordinate(inherited: Any, name: str) -> property:
    def read(self: Any) -> Any:
        return self[name] if name in self.fields else inherited.fget(self)

    return property(read)


def _still_vectors(objects: Any, chosen: Any) -> Any:
    """Some fields of objects, which are vectors as long as all coordinates are among them."""
    collection = objects.attrs.get(COLLECTION)
    is_vector = collection and collection.coordinates and collection.coordinates <= {*chosen.fields}
    return ak.with_name(chosen, collection.kind) if is_vector else chosen


def _note(objects: Any, fields: Any) -> None:
    """Fields that are asked for, while it is found out what a module reads."""
    if isinstance(fields, list | set):
        names = [field for field in fields if isinstance(field, str)]
        objects.attrs[NOTE](objects.attrs[COLLECTION], names)


def _noted(inherited: Any) -> property:
    """The coordinates as the library asks for them."""

    def read(self: Any) -> Any:
        if NOTE in self.attrs:
            _note(self, self.attrs[COLLECTION].coordinates)
        return inherited.fget(self)

    return property(read)


def _in_double(operation: Any) -> Any:
    """Sums of vectors in double precision: the mass of two is a small difference of large numbers,
    of which float32 leaves nothing."""

    def sum_of(*arrays: Any, **options: Any) -> Any:
        return operation(*(_doubled(each) for each in arrays), **options)

    return sum_of


def _doubled(array: Any) -> Any:
    """The coordinates alone, as float64."""
    if not isinstance(array, ak.Array):
        return array
    name = array.layout.purelist_parameter("__record__")
    coordinates = array[[field for field in array.fields if field in _COORDINATES]]
    return ak.with_name(ak.values_astype(coordinates, np.float64), name)
