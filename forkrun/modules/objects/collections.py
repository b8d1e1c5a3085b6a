"""Which columns belong together as a collection of objects, by a naming rule. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from msgspec import Struct

from forkrun.formats.column_types import ColumnType
from forkrun.index import ColumnNames
from forkrun.modules.objects.element_links import element_links
from forkrun.modules.objects.relations import Relation, lcio_pointers, relations_of

_BEGIN, _END = "_begin", "_end"


class VectorMember(Struct, frozen=True):
    """`begin`, `end`: columns with the part of the event's list that belongs to an object;
    `columns`: those of the list by field, by "" where it has values alone; `types`: theirs."""

    begin: str
    end: str
    columns: Mapping[str, str]
    types: Mapping[str, ColumnType]

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns without which there is no list."""
        return (self.begin, self.end, next(iter(self.columns.values())))


def vector_members(
    name: str, columns: Mapping[str, str], types: Mapping[str, str], related: Container[str]
) -> dict[str, VectorMember]:
    """Those of the collection `name`. `columns`: by field; `types`: all columns; `related`: names
    of what leads to other objects."""
    found = {}
    for begin in columns:
        member = begin.removesuffix(_BEGIN)
        end = member + _END
        if member == begin or end not in columns or member in related:
            continue
        of_list = dict(_of_list(f"_{name}_{member}", types))
        if of_list:
            kinds = {field: ColumnType.of(types[column]) for field, column in of_list.items()}
            found[member] = VectorMember(columns[begin], columns[end], of_list, kinds)
    return found


def _of_list(name: str, types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = [name] if name in types else [each for each in types if each.startswith(f"{name}.")]
    for column in names:
        of = ColumnType.of(types[column])
        if of.n_levels == 1 and not of.is_text:
            yield column.removeprefix(name).removeprefix("."), column


_ENERGIES = ("mass", "energy", "m", "M", "E", "e")
_KINEMATICS = (
    *(("Momentum4D", frozenset({"pt", "eta", "phi", energy})) for energy in _ENERGIES),
    *(("Momentum4D", frozenset({"px", "py", "pz", energy})) for energy in _ENERGIES),
    ("Momentum3D", frozenset({"pt", "eta", "phi"})),
    ("Momentum3D", frozenset({"px", "py", "pz"})),
    ("Momentum2D", frozenset({"pt", "phi"})),
    ("Momentum2D", frozenset({"px", "py"})),
)
"""Kinds of vectors and the fields that make one; the first that a collection has."""
_LINK = re.compile(r"(?P<name>.+)Idx(?P<rest>[A-Z]?\w*)")

_LINKS = {
    ("GenFatJetCands", "jetIdx"): "GenJetAK8", ("GenFatJetSVs", "jetIdx"): "GenJetAK8",
    ("GenFatJetCands", "pFCandsIdx"): "GenCands", ("GenJetCands", "pFCandsIdx"): "GenCands",
    ("LowPtElectron", "electronIdx"): "Electron",
}  # fmt: skip
"""Links of NanoAOD and PFNano whose names do not tell the collection."""


_COORDINATES = {
    "PT": "pt", "Eta": "eta", "Phi": "phi", "Mass": "mass",
    **{f"momentum.{axis}": f"p{axis}" for axis in "xyz"},
    **{f"fCoordinates.f{n}": n.lower() for n in ("Pt", "Eta", "Phi")},
    **{f"fCoordinates.f{axis}": f"p{axis.lower()}" for axis in "XYZ"},
    **{f"fP.f{axis}": f"p{axis.lower()}" for axis in "XYZ"},
    "fCoordinates.fE": "energy", "fCoordinates.fT": "energy", "fCoordinates.fM": "mass",
    "fE": "energy",
}  # fmt: skip
"""Members of Delphes, EDM4hep and ROOT that are coordinates, and the names that objects have for
them, too."""


_WITHIN = ("parents", "daughters")
"""Relations of EDM4hep that lead to the same collection."""


class NoSuchColumnError(KeyError):
    """Neither the input nor a module has it, or the module may not read it."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoSuchNameError(AttributeError):
    """An event block, or the objects of a collection, have nothing of this name."""


class NamingRule(Struct, frozen=True, dict=True):
    """`patterns`: how columns are named, "{collection}_{field}", the first that fits; the
    collection ends where what stands between the two first appears. `fields`: other names of
    fields, {"PT": "pt"}; `trees`: whose columns are TREE.BRANCH, of no collection but their own."""

    patterns: Sequence[str] = ("{collection}.{field}", "{collection}_{field}")
    fields: Mapping[str, str] = {}
    trees: Sequence[str] = ()

    def split(self, column: str) -> tuple[str, str] | None:
        """Collection and field of a column; None if it belongs to none."""
        tree = next((tree for tree in self.trees if column.startswith(f"{tree}.")), "")
        for expression in self._expressions:
            match = expression.fullmatch(column)
            if match and tree in ("", match["collection"]):
                return match["collection"], self.fields.get(match["field"], match["field"])
        return None

    @cached_property
    def _expressions(self) -> list[re.Pattern[str]]:
        return [re.compile(_expression(pattern)) for pattern in self.patterns]


def _expression(pattern: str) -> str:
    text = re.escape(pattern)
    text = text.replace(re.escape("{collection}"), r"(?P<collection>[^\W_]\w*?)")
    return text.replace(re.escape("{field}"), r"(?P<field>.+)")


class Collection(Struct, frozen=True):
    """`columns`: by field, "momentum.x" of a field within another; coordinates also by their usual
    names. `is_jagged`: any number of objects per event; else one. `kind`: the name
    of the vector's behaviour, "" if it is no vector; `coordinates`: fields that make the vector.
    `links`: collections that a field of indices points into, by the name under which its objects
    are reached; `relations`: the same, to several; `members`: lists of values that lie in columns
    of their own."""

    name: str
    columns: Mapping[str, str]
    is_jagged: bool
    kind: str
    coordinates: frozenset[str] = frozenset()
    links: Mapping[str, tuple[str, str]] = {}
    relations: Mapping[str, Relation] = {}
    members: Mapping[str, VectorMember] = {}

    def columns_of_link(self, name: str) -> list[str]:
        """Columns that tell which objects a link or relation leads to; none if it is neither."""
        if relation := self.relations.get(name):
            return [*(self.columns[field] for field in sorted(relation.fields)), *relation.columns]
        return [self.columns[self.links[name][0]]] if name in self.links else []


class Columns:
    """All columns that modules of a job can see, with their types, and their collections."""

    def __init__(
        self,
        types: Mapping[str, str],
        rule: NamingRule | None = None,
        names_there: ColumnNames | None = None,
    ) -> None:
        """`names_there`: what messages say of other names."""
        self.types = types
        self.lacked: frozenset[str] = frozenset()
        """Columns that other events have."""
        self.names_there = names_there or ColumnNames()
        self._rule = rule or NamingRule()
        self._fields: dict[str, dict[str, str]] | None = None
        self._collections: dict[str, Collection | None] = {}

    def with_types(self, types: Mapping[str, str]) -> Columns:
        """Other columns, of the same input and rule."""
        return Columns(types, self._rule, self.names_there)

    def without(self, lacked: frozenset[str], dataset: str) -> Columns:
        """Those of a dataset whose files do not have some."""
        types = {name: kind for name, kind in self.types.items() if name not in lacked}
        left = Columns(types, self._rule)
        collections = self.collections_of(lacked).difference(left.names)
        left.lacked = lacked
        left.names_there = self.names_there.without(
            [*sorted(lacked), *sorted(collections)], dataset
        )
        return left

    def no_field(self, collection: str, field: str) -> str:
        """What there is where a collection has no such field; "": nothing."""
        for branch in self.names_there.others:
            if self._rule.split(branch) == (collection, field):
                return self.names_there.no_column(branch)
        return ""

    @property
    def names(self) -> list[str]:
        """Names of all collections."""
        return list(self._by_collection())

    def collections_of(self, columns: Iterable[str]) -> set[str]:
        """Names of collections that have some of these columns."""
        return {parts[0] for column in columns if (parts := self._rule.split(column))}

    def collection(self, name: str) -> Collection | None:
        """The collection of this name, if there is one."""
        if name not in self._collections:
            fields = self._by_collection().get(name)
            self._collections[name] = self._make(name, fields) if fields else None
        return self._collections[name]

    def _by_collection(self) -> dict[str, dict[str, str]]:
        if self._fields is None:
            self._fields = {}
            for column in self.types:
                if parts := self._rule.split(column):
                    self._fields.setdefault(parts[0], {})[parts[1]] = column
        return self._fields

    def _make(self, name: str, fields: Mapping[str, str]) -> Collection:
        """Jagged, if most of its columns are: a sum over jets may be named like one of their
        fields. The others are then no fields."""
        # LCIO has parameters of a collection, which are none of its objects'.
        own = {k: c for k, c in fields.items() if not k.startswith("parameters.")}
        fields = own or fields
        jagged = [key for key, column in fields.items() if "[]" in self.types[column]]
        is_jagged = 2 * len(jagged) >= len(fields)
        columns = {key: fields[key] for key in fields if (key in jagged) == is_jagged}
        known = _COORDINATES.items()
        columns = {name: columns[key] for key, name in known if key in columns} | columns
        nothing = ("", frozenset[str]())
        kind, needed = next((each for each in _KINEMATICS if each[1] <= columns.keys()), nothing)
        links = self._links(name, columns)
        by_name = partial(self._target_by_name, name)
        relations = dict(relations_of(name, columns, self.types, self.names, by_name))
        some = {each: next(iter(of.values())) for each, of in self._by_collection().items()}
        relations |= element_links(name, columns, self.types, some)
        relations |= lcio_pointers(columns, self.types, self.names, by_name)
        members = vector_members(name, columns, self.types, relations)
        return Collection(name, columns, is_jagged, kind, needed, links, relations, members)

    def _links(self, name: str, columns: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """`jetIdx` leads to `jet` in the collection Jet, `muonIdx1` to `muon1` in Muon,
        `genPartIdxMother` to `genPartMother` in GenPart."""
        links = {}
        for key in columns:
            match = _LINK.fullmatch(key)
            target = self._target(name, key, match["name"].casefold()) if match else None
            if match and target:
                links[match["name"] + match["rest"]] = (key, target)
        return links

    def _target_by_name(self, name: str, relation: str) -> str | None:
        """The collection that a relation certainly leads to, if no id tells."""
        return name if relation in _WITHIN else self._target(name, relation, relation.casefold())

    def _target(self, name: str, key: str, meant: str) -> str | None:
        """The collection that a field of indices leads to, None if that is not certain. `meant`: in
        small letters. What belongs to fat jets, FatJetPFCands, has their index as `jetIdx`."""
        if (name, key) in _LINKS:
            known = _LINKS[name, key]
            return known if known in self._by_collection() else None
        by_name = {other.casefold(): other for other in self._by_collection()}
        own = name.casefold()
        end = own.find(meant) + len(meant)
        if end > len(meant) and name[end : end + 1].isupper():
            begin = [low for low in by_name if own.startswith(low) and low.endswith(meant)]
            others = [low for low in begin if low != own]
            return by_name[max(others, key=len)] if others else None
        return by_name.get(meant)
