"""Which columns belong together as a collection of objects, by a naming rule. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from forkrun.base.dataclass import dataclass

if TYPE_CHECKING:
    from forkrun.config import SourceConfig

_KINEMATICS = (
    ("Momentum4D", {"pt", "eta", "phi", "mass"}),
    ("Momentum3D", {"pt", "eta", "phi"}),
    ("Momentum2D", {"pt", "phi"}),
)
_LINK = re.compile(r"(?P<name>.+)Idx(?P<rest>[A-Z]?\w*)")


class NoSuchColumnError(KeyError):
    """Neither the input nor a module has it, or the module may not read it."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoSuchNameError(AttributeError):
    """An event block, or the objects of a collection, have nothing of this name."""


@dataclass(frozen=True)
class NamingRule:
    """`pattern`: how a column is named, "{collection}_{field}"; the collection ends where what
    stands between the two first appears. `fields`: other names of fields, {"PT": "pt"}."""

    pattern: str = "{collection}_{field}"
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, source: SourceConfig) -> NamingRule:
        """What the configuration says."""
        return cls(source.collections, source.fields)

    def split(self, column: str) -> tuple[str, str] | None:
        """Collection and field of a column; None if it belongs to none."""
        match = re.fullmatch(self._expression, column)
        return (
            (match["collection"], self.fields.get(match["field"], match["field"]))
            if match
            else None
        )

    @property
    def _expression(self) -> str:
        text = re.escape(self.pattern)
        text = text.replace(re.escape("{collection}"), r"(?P<collection>[^\W_]\w*?)")
        return text.replace(re.escape("{field}"), r"(?P<field>.+)")


@dataclass(frozen=True)
class Collection:
    """`columns`: by field. `is_jagged`: any number of objects per event; else one. `kind`: the name
    of the vector's behaviour, "" if it is no vector. `links`: collections that a field of indices
    points into, by the name under which its objects are reached."""

    name: str
    columns: Mapping[str, str]
    is_jagged: bool
    kind: str
    links: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def coordinates(self) -> set[str]:
        """Fields that a vector of this kind has."""
        return dict(_KINEMATICS).get(self.kind, set())


class Columns:
    """All columns that modules of a job can see, with their types, and their collections."""

    def __init__(self, types: Mapping[str, str], rule: NamingRule | None = None) -> None:
        self.types = types
        self._rule = rule or NamingRule()
        self._fields: dict[str, dict[str, str]] | None = None
        self._collections: dict[str, Collection | None] = {}

    @property
    def names(self) -> list[str]:
        """Names of all collections."""
        return list(self._by_collection())

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
        jagged = [key for key, column in fields.items() if "[]" in self.types[column]]
        is_jagged = 2 * len(jagged) >= len(fields)
        columns = {key: fields[key] for key in fields if (key in jagged) == is_jagged}
        kind = next((kind for kind, needed in _KINEMATICS if needed <= columns.keys()), "")
        return Collection(name, columns, is_jagged, kind, self._links(columns))

    def _links(self, columns: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """`jetIdx` leads to `jet` in the collection Jet, `muonIdx1` to `muon1` in Muon,
        `genPartIdxMother` to `genPartMother` in GenPart."""
        by_name = {name.casefold(): name for name in self._by_collection()}
        links = {}
        for key in columns:
            match = _LINK.fullmatch(key)
            target = by_name.get(match["name"].casefold()) if match else None
            if match and target:
                links[match["name"] + match["rest"]] = (key, target)
        return links
