"""Module calls repeated for systematic variations, and their products: modules that make varied
columns and all that depend on them. Pure: the schedule has an extra call for each.

A repeated filter creates a path for the variation, on which analyzers run again; products that do
not depend on the variation are made once."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache, cached_property

from msgspec import Struct

from forkrun.config.modules import NOMINAL, varied_label
from forkrun.schedule.versions import Version, Versions, plain_name


class Wiring(Struct, frozen=True):
    """A module from the schedule's view. `kind`: producer, filter or analyzer; `reads` and `makes`:
    columns and other products, by the module's names."""

    kind: str
    reads: Sequence[str]
    makes: Sequence[str] = ()


class Call(Struct, frozen=True):
    """A call of a module, with the products that its names stand for, where these differ. `label`:
    of the call; `module`: label in the configuration."""

    label: str
    module: str
    variation: str = NOMINAL
    sees: Mapping[str, str] = {}
    makes: Mapping[str, str] = {}


class Variations:
    """Dependence of modules on variations. `wirings`: by label; `paths`: labels by path, in order.

    Attributes: `names`: all variations of the job; the others are computed on first use."""

    def __init__(
        self,
        versions: Versions,
        wirings: Mapping[str, Wiring],
        paths: Mapping[str, Sequence[str]],
    ) -> None:
        self._versions, self._wirings, self._paths = versions, wirings, paths
        self._maker = {n: label for label, w in wirings.items() for n in w.makes
                       if n not in versions.modules[label].replaces}  # fmt: skip
        self._under_way: set[tuple[str, str]] = set()
        self.varies = cache(self._varies)
        self.names = versions.variations

    @cached_property
    def calls(self) -> list[Call]:
        """Each module, then again for each variation that changes its input or products."""
        return [call for label in self._wirings for call in self._calls_of(label)]

    def varied_paths(self, whole: Container[tuple[str, str]] = ()) -> dict[str, list[str]]:
        """Labels of calls by path and variation: the repeated analyzers, and the filters before the
        last call needed. `whole`: paths, with variations, that need all filters."""
        paths = {}
        for variation in self._versions.variations:
            for path, labels in self._paths.items():
                if calls := self._varied_path(labels, variation, (path, variation) in whole):
                    paths[varied_label(path, variation)] = calls
        return paths

    @cached_property
    def of_path(self) -> dict[str, list[str]]:
        """By path, variations that may change a decision of one of its filters."""
        return {path: self._of_filters(labels) for path, labels in self._paths.items()}

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """By variation and column name, products that differ from the nominal case, as seen by a
        module after all others."""
        if not self.names:
            return {}
        names = dict.fromkeys(name for wiring in self._wirings.values() for name in wiring.makes)
        versions = {name: self._versions.seen("", name) for name in names}
        return {variation: self._others_in(variation, versions) for variation in self.names}

    @cached_property
    def of_analyzers(self) -> dict[str, list[str]]:
        """By label, the nominal case and the variations for which an analyzer is repeated; only
        repeated analyzers."""
        analyzers = [label for label, w in self._wirings.items() if w.kind == "analyzer"]
        again = {label: [v for v in self.names if self._is_called(label, v)] for label in analyzers}
        return {label: [NOMINAL, *names] for label, names in again.items() if names}

    def _of_filters(self, labels: Sequence[str]) -> list[str]:
        filters = [n for n in labels if n in self._wirings and self._wirings[n].kind == "filter"]
        return [v for v in self.names if any(self.varies(label, v) for label in filters)]

    def _others_in(self, variation: str, versions: Mapping[str, Version]) -> dict[str, str]:
        return {
            name: product
            for name, version in versions.items()
            if (product := self.product(version, variation)) != self.product(version, NOMINAL)
        }

    def product(self, version: Version, variation: str) -> str:
        """Product of a column's version in a variation."""
        if version.only:
            assert version.before is not None
            return (
                version.product
                if version.only == variation
                else self.product(version.before, variation)
            )
        maker = version.maker or self._maker.get(plain_name(version.product), "")
        varies = maker and variation != NOMINAL and self.varies(maker, variation)
        return varied_label(version.product, variation) if varies else version.product

    def _varies(self, label: str, variation: str) -> bool:
        """Whether a variation changes a module's input or products."""
        module = self._versions.modules[label]
        if variation in module.variations or module.only:
            return not module.only or module.only == variation
        if (label, variation) in self._under_way:
            return False  # a cycle; the schedule refuses it
        self._under_way.add((label, variation))
        try:
            seen = (self._versions.seen(label, name) for name in self._wirings[label].reads)
            return any(self.product(v, variation) != self.product(v, NOMINAL) for v in seen)
        finally:
            self._under_way.discard((label, variation))

    def _calls_of(self, label: str) -> Iterator[Call]:
        module = self._versions.modules[label]
        if module.only:
            yield self._call(label, label, module.only)
            return
        yield self._call(label, label, NOMINAL)
        for variation in self._versions.variations:
            if self._is_called(label, variation):
                yield self._call(varied_label(label, variation), label, variation)

    def _call(self, own: str, label: str, variation: str) -> Call:
        wiring = self._wirings[label]
        sees = {n: self.product(self._versions.seen(label, n), variation) for n in wiring.reads}
        makes = {name: self._versions.made(label, name) for name in wiring.makes}
        if own != label:
            makes = {name: varied_label(product, variation) for name, product in makes.items()}
        return Call(own, label, variation, _others(sees), _others(makes))

    def _is_called(self, label: str, variation: str) -> bool:
        if self._wirings[label].kind != "analyzer" or self.varies(label, variation):
            return self.varies(label, variation)
        return any(
            self.varies(before, variation)
            for labels in self._paths.values()
            if label in labels
            for before in labels[: labels.index(label)]
            if before in self._wirings and self._wirings[before].kind == "filter"
        )

    def _varied_path(self, labels: Sequence[str], variation: str, is_whole: bool) -> list[str]:
        calls: list[str] = []
        n_needed = 0
        for label in labels:
            if label not in self._wirings:
                continue
            is_again = self._is_called(label, variation)
            is_filter = self._wirings[label].kind == "filter"
            if is_again or is_filter:
                calls.append(varied_label(label, variation) if is_again else label)
            if (is_again and not is_filter) or (is_filter and is_whole):
                n_needed = len(calls)
        return calls[:n_needed]


def _others(products: Mapping[str, str]) -> dict[str, str]:
    """Products that differ from their names, and all with "@": the bare name is the column."""
    return {name: product for name, product in products.items() if name != product or "@" in name}
