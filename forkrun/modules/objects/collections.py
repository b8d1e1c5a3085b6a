"""Grouping of columns into collections of objects, by a naming rule. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from msgspec import Struct

from forkrun.formats.column_types import ColumnType
from forkrun.index.whole_input import ColumnNames
from forkrun.modules.objects.element_links import element_links
from forkrun.modules.objects.relations import Relation, lcio_pointers, relations_of

_BEGIN, _END = "_begin", "_end"


class VectorMember(Struct, frozen=True):
    """Lists of values that belong to objects and lie in columns of their own: vector members of
    EDM4hep, `EventHeader.weights_begin` and `_end` into `_EventHeader_weights`. `begin`, `end`:
    columns with the object's part of the event's list; `columns`: of the list, by field, or "" for
    plain values; `types`: theirs."""

    begin: str
    end: str
    columns: Mapping[str, str]
    types: Mapping[str, ColumnType]

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns required for the list."""
        return (self.begin, self.end, next(iter(self.columns.values())))


def vector_members(
    name: str, columns: Mapping[str, str], types: Mapping[str, str], related: Container[str]
) -> dict[str, VectorMember]:
    """Vector members of the collection `name`. `columns`: by field; `types`: of all columns;
    `related`: names of relations."""
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
"""Kinds of vectors with the fields that make one; the first match counts."""
_LINK = re.compile(r"(?P<name>.+)Idx(?P<rest>[A-Z]?\w*)")

_LINKS = {
    ("GenFatJetCands", "jetIdx"): "GenJetAK8", ("GenFatJetSVs", "jetIdx"): "GenJetAK8",
    ("GenFatJetCands", "pFCandsIdx"): "GenCands", ("GenJetCands", "pFCandsIdx"): "GenCands",
    ("LowPtElectron", "electronIdx"): "Electron",
}  # fmt: skip
"""Links of NanoAOD and PFNano whose names do not show the collection."""


_COORDINATES = {
    "PT": "pt", "Eta": "eta", "Phi": "phi", "Mass": "mass",
    **{f"momentum.{axis}": f"p{axis}" for axis in "xyz"},
    **{f"fCoordinates.f{n}": n.lower() for n in ("Pt", "Eta", "Phi")},
    **{f"fCoordinates.f{axis}": f"p{axis.lower()}" for axis in "XYZ"},
    **{f"fP.f{axis}": f"p{axis.lower()}" for axis in "XYZ"},
    "fCoordinates.fE": "energy", "fCoordinates.fT": "energy", "fCoordinates.fM": "mass",
    "fE": "energy",
}  # fmt: skip
"""Members of Delphes, EDM4hep and ROOT that are coordinates, and additional names for them in
objects."""


_WITHIN = ("parents", "daughters")
"""Relations of EDM4hep that lead to the same collection."""


class NoSuchColumnError(KeyError):
    """A column that exists neither in the input nor in a module, or that the module may not
    read."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoSuchNameError(AttributeError):
    """An event block, or the objects of a collection, have no such attribute."""


class NamingRule(Struct, frozen=True, dict=True):
    """Rule for names of columns. `patterns`: "{collection}_{field}" and others, the first match
    counts; the collection ends at the first occurrence of the text between the two. `fields`: other
    names for fields, {"PT": "pt"}; `trees`: trees whose columns, TREE.BRANCH, form a collection of
    their own."""

    patterns: Sequence[str] = ("{collection}.{field}", "{collection}_{field}")
    fields: Mapping[str, str] = {}
    trees: Sequence[str] = ()

    def split(self, column: str) -> tuple[str, str] | None:
        """Collection and field of a column; None if it belongs to no collection."""
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
    """Objects made of columns. `columns`: by field, "momentum.x" for a field within another one;
    coordinates also under their usual names. `is_jagged`: any number of objects per event, else
    one. `kind`: name of the vector's behaviour, "" for other objects; `coordinates`: fields that
    make the vector. `links`: field of indices and target collection, by the name of the linked
    objects; `relations`: links to several collections; `members`: lists of values in columns of
    their own."""

    name: str
    columns: Mapping[str, str]
    is_jagged: bool
    kind: str
    coordinates: frozenset[str] = frozenset()
    links: Mapping[str, tuple[str, str]] = {}
    relations: Mapping[str, Relation] = {}
    members: Mapping[str, VectorMember] = {}

    def columns_of_link(self, name: str) -> list[str]:
        """Columns that tell which objects a link or relation leads to; empty for other names."""
        if relation := self.relations.get(name):
            return [*(self.columns[field] for field in sorted(relation.fields)), *relation.columns]
        return [self.columns[self.links[name][0]]] if name in self.links else []


class Columns:
    """All columns visible to modules of a job, with their types and collections."""

    def __init__(
        self,
        types: Mapping[str, str],
        rule: NamingRule | None = None,
        names_there: ColumnNames | None = None,
    ) -> None:
        """`names_there`: text for messages about other names."""
        self.types = types
        self.lacked: frozenset[str] = frozenset()
        """Columns that only other events have."""
        self.names_there = names_there or ColumnNames()
        self._rule = rule or NamingRule()
        self._fields: dict[str, dict[str, str]] | None = None
        self._collections: dict[str, Collection | None] = {}

    def with_types(self, types: Mapping[str, str]) -> Columns:
        """Other columns, with the same input and rule."""
        return Columns(types, self._rule, self.names_there)

    def without(self, lacked: frozenset[str], dataset: str) -> Columns:
        """Columns of a dataset whose files lack some."""
        types = {name: kind for name, kind in self.types.items() if name not in lacked}
        left = Columns(types, self._rule)
        collections = self.collections_of(lacked).difference(left.names)
        left.lacked = lacked
        left.names_there = self.names_there.without(
            [*sorted(lacked), *sorted(collections)], dataset
        )
        return left

    def no_field(self, collection: str, field: str) -> str:
        """Content of the input in place of a missing field; "": nothing."""
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
        """The collection with this name, if any."""
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
        """Makes a collection, jagged if most of its columns are: a sum over jets may be named like
        one of their fields. Columns of the other form are not fields."""
        # In LCIO, parameters belong to the collection, not to its objects.
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
        """Links: `jetIdx` leads to `jet` in the collection Jet, `muonIdx1` to `muon1` in Muon,
        `genPartIdxMother` to `genPartMother` in GenPart."""
        links = {}
        for key in columns:
            match = _LINK.fullmatch(key)
            target = self._target(name, key, match["name"].casefold()) if match else None
            if match and target:
                links[match["name"] + match["rest"]] = (key, target)
        return links

    def _target_by_name(self, name: str, relation: str) -> str | None:
        """Target of a relation by its name, where no id tells it; None if uncertain."""
        return name if relation in _WITHIN else self._target(name, relation, relation.casefold())

    def _target(self, name: str, key: str, meant: str) -> str | None:
        """Target of a field of indices; None if uncertain. `meant`: in lower case. Collections of
        fat jets, such as FatJetPFCands, call their index `jetIdx`."""
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
