"""Methods of objects beyond those of Awkward Arrays: Lorentz vectors of the `vector` library, which
is loaded when the first one is made, and links to other collections."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import awkward as ak
import numpy as np

from forkrun.modules.objects.collections import NoSuchNameError
from forkrun.modules.objects.links import COLLECTION, NOTE, explain_missing, linked

_KINDS = ("Momentum2D", "Momentum3D", "Momentum4D")
_AXES = dict(zip(_KINDS, ("xy", "xyz", "xyzt"), strict=True))
_FIELDS = ("pt", "eta", "phi", "mass", "x", "y", "z", "t")
"""Attributes read directly if they are fields; otherwise computed from the coordinates."""
_OTHER_NAMES = {"px": "x", "py": "y", "pz": "z", "E": "t", "e": "t", "energy": "t"}
"""Other names of coordinates in `vector`; columns with these names may mean something else."""
_PARTS = ("azimuthal", "longitudinal", "temporal")
_OWN_FIELDS = {"azimuthal": ("pt", "phi"), "longitudinal": ("eta",), "temporal": ("mass",)}
_OWN_KINDS = {
    "azimuthal": "AzimuthalAwkwardRhoPhi",
    "longitudinal": "LongitudinalAwkwardEta",
    "temporal": "TemporalAwkwardTau",
}
_OTHERS = (
    ({"pt", "phi"}, {"x", "y", "px", "py", "rho"}),
    ({"eta"}, {"z", "pz", "theta"}),
    ({"mass"}, {"t", "tau", "E", "e", "energy", "M", "m"}),
)
"""Coordinates, with names that mean something else in their presence."""
_COORDINATES = {
    "x", "y", "z", "t", "rho", "phi", "theta", "eta", "tau",
    "px", "py", "pz", "E", "e", "energy", "pt", "M", "m", "mass",
}  # fmt: skip


class _Linked:
    """Base of objects: follows links to other collections, and explains missing attributes."""

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
                raise NoSuchNameError(explain_missing(self, name)) from None
            return found


class Objects(_Linked, ak.Array):  # type: ignore[misc]
    """Objects of a collection that are not vectors."""


def register(name: str) -> None:
    """Registers the behaviour of records with this name in the whole process: the behaviour of an
    array is lost when several are combined. Sums become double precision for other users of
    `vector`, too; registering the library's own behaviour again replaces this until the next
    call."""
    if name in _KINDS and not issubclass(ak.behavior.get(("*", name), ak.Array), _Linked):
        _register_vectors()
    ak.behavior["*", "Objects"] = Objects


def _register_vectors() -> None:
    import vector
    import vector._compute.lorentz
    import vector._compute.planar
    import vector._compute.spatial  # imported on the first call otherwise

    vector.register_awkward()
    for kind in _KINDS:
        ak.behavior["*", kind] = _vector_class(ak.behavior["*", kind])
        ak.behavior[kind] = _record_class(ak.behavior[kind])
        ak.behavior[ak.sum, kind] = _in_double(ak.behavior[ak.sum, kind])
    for operation in (np.add, np.subtract):
        for pair in itertools.product(_KINDS, _KINDS):
            ak.behavior[operation, *pair] = _in_double(ak.behavior[operation, *pair])


def _vector_class(plain: type) -> type:
    """Reads its own coordinates directly."""
    own: dict[str, Any] = {
        name: _coordinate(getattr(plain, name), name) for name in _FIELDS if hasattr(plain, name)
    }
    own |= {
        name: _coordinate(getattr(plain, of), name)
        for name, of in _OTHER_NAMES.items()
        if hasattr(plain, of)
    }
    own |= {part: _noted(part, getattr(plain, part)) for part in _PARTS if hasattr(plain, part)}
    own |= {name: _on_cartesian(getattr(ak.Array, name)) for name in ("__add__", "__sub__")}
    own["__awkward_validation__"] = _checked(plain)
    own |= {name: habit for name, (of, habit) in _HABITS.items() if hasattr(plain, of)}
    own["__module__"] = __name__  # else that of the metaclass, "abc"
    return type(plain.__name__, (_Linked, plain), own)


def _record_class(plain: type) -> type:
    """Class of one vector."""
    return type(plain.__name__, (plain,), {"__awkward_validation__": _checked(plain)})


def _checked(plain: type) -> Callable[[Any], None]:
    """Replaces the check of the library, which refuses vectors that also have x and y, or mass and
    energy: with pt and phi, or px and py, they are unambiguous."""
    inherited = getattr(plain, "__awkward_validation__", None)

    def check(self: Any) -> None:
        if inherited and not any(pair <= {*self.fields} for pair in ({"pt", "phi"}, {"px", "py"})):
            inherited(self)

    return check


def _coordinate(inherited: Any, name: str) -> property:
    def read(self: Any) -> Any:
        return self[name] if name in self.fields else inherited.fget(self)

    return property(read)


def _still_vectors(objects: Any, chosen: Any) -> Any:
    """The given fields of objects, which remain vectors if all coordinates are among them."""
    collection = objects.attrs.get(COLLECTION)
    is_vector = collection and collection.coordinates and collection.coordinates <= {*chosen.fields}
    return ak.with_name(chosen, collection.kind) if is_vector else chosen


def _note(objects: Any, fields: Any) -> None:
    """Notes accessed fields during a trial."""
    if isinstance(fields, list | set | frozenset):
        names = [field for field in fields if isinstance(field, str)]
        objects.attrs[NOTE](objects.attrs[COLLECTION], names)


def _noted(part: str, inherited: Any) -> property:
    """Coordinates as requested by the library. It would take x and y for those of the momentum, but
    a secondary vertex has them, next to pt and phi, as its position."""

    def read(self: Any) -> Any:
        from vector.backends import awkward as kinds

        if NOTE in self.attrs:
            _note(self, self.attrs[COLLECTION].coordinates)
        fields = _OWN_FIELDS[part]
        if not {*fields} <= {*self.fields}:
            return inherited.fget(self)
        return getattr(kinds, _OWN_KINDS[part])(
            *(ak.Array.__getitem__(self, name) for name in fields)
        )

    return property(read)


def _delta_r(self: Any, other: Any) -> Any:
    """Name of deltaR in coffea."""
    return self.deltaR(other)


def _delta_phi(self: Any, other: Any) -> Any:
    """Name of deltaphi in coffea."""
    return self.deltaphi(other)


def _nearest(
    self: Any, other: Any, *, threshold: float | None = None, return_metric: bool = False
) -> Any:
    """(n_events, n) for each object, the one of `other` in its event with the smallest ΔR, None if
    there is none, or none within `threshold`; with `return_metric`, also ΔR, as in coffea."""
    mine, theirs = ak.unzip(ak.cartesian([self, other], axis=1, nested=True))
    distance = mine.deltaR(theirs)
    best = ak.argmin(distance, axis=2, keepdims=True)
    found, least = ak.firsts(theirs[best], axis=2), ak.firsts(distance[best], axis=2)
    if threshold is not None:
        found = ak.mask(found, ak.fill_none(least < threshold, False))
    return (found, least) if return_metric else found


_HABITS = {
    "delta_r": ("deltaR", _delta_r),
    "delta_phi": ("deltaphi", _delta_phi),
    "nearest": ("deltaR", _nearest),
}
"""Methods known from coffea, by name, with the property that a vector needs for them."""


def _in_double(operation: Any) -> Any:
    """Sum of vectors in double precision: the mass of two is a small difference of large numbers,
    which float32 would lose."""

    def sum_of(*arrays: Any, **options: Any) -> Any:
        return operation(*(_cartesian(each) for each in arrays), **options)

    return sum_of


def _on_cartesian(operation: Any) -> Any:
    """The operator on Cartesian coordinates. Awkward Array would first copy vectors to each of
    their combinations: here they are converted once."""

    def of_two(self: Any, other: Any) -> Any:
        return operation(_cartesian(self), _cartesian(other))

    return of_two


def _cartesian(array: Any) -> Any:
    """Cartesian coordinates alone, as float64."""
    if not isinstance(array, ak.Array) or _is_cartesian(array.layout):
        return array
    import vector

    name = array.layout.purelist_parameter("__record__")
    others = {other for own, others in _OTHERS if own <= {*array.fields} for other in others}
    coordinates = array[[field for field in array.fields if field in _COORDINATES - others]]

    def convert(layout: Any, **_: Any) -> Any:
        if layout.is_indexed and layout.content.is_record:
            few = layout if len(layout.content) <= len(layout) else layout.to_packed()
            return few.copy(content=converted(few.content)) if few.is_indexed else converted(few)
        return converted(layout) if layout.is_record else None

    def converted(records: Any) -> Any:
        if _is_cartesian(records):
            return records
        contents = [records[field].to_packed() for field in records.fields]
        if not all(each.is_numpy for each in contents):  # some are missing
            return ak.values_astype(records, np.float64, highlevel=False)
        columns = [each.to_backend_array().astype(np.float64) for each in contents]
        vectors = vector.array(dict(zip(records.fields, columns, strict=True)))
        values = [ak.contents.NumpyArray(getattr(vectors, axis)) for axis in _AXES[name]]
        return ak.contents.RecordArray(values, [*_AXES[name]])

    return ak.with_name(ak.transform(convert, coordinates), name)


def _is_cartesian(layout: Any) -> bool:
    return (
        layout.is_record
        and "".join(layout.fields) in _AXES.values()
        and all(each.is_numpy and each.dtype == np.float64 for each in layout.contents)
    )
