"""Versions of columns: the product that a module means by the name of a column that others replace,
in general or in a systematic variation. Pure.

The order of [[modules]] determines visibility: a module sees the column made by the last module
before it. `NAME@input` is the column before any replacement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

AT_INPUT = "@input"


def plain_name(product: str) -> str:
    """The column's name known to users: "Jet_pt" for "Jet_pt@jes_up"."""
    return product.partition("@")[0]


def is_plain(product: str) -> bool:
    """Whether a product is a column's final nominal version, not an earlier or varied one."""
    return "@" not in product


class Declared(Struct, frozen=True):
    """Declarations of a module. `replaces`: columns; `variations`: those in which it makes other
    values; `only`: the only variation in which it runs, "" if it always runs."""

    label: str
    replaces: Sequence[str] = ()
    variations: Sequence[str] = ()
    only: str = ""


class Version(Struct, frozen=True):
    """Version of a column. `product`: in the nominal case; `maker`: label of the module that made
    it by replacing the column, "" for the first version; `before`: the version replaced; `only`:
    the only variation in which the two differ."""

    product: str
    maker: str = ""
    before: Version | None = None
    only: str = ""

    @property
    def nominal(self) -> Version:
        """The version that holds without variations."""
        return self.before.nominal if self.only and self.before else self


class Versions:
    """All versions of the columns of a job. `modules`: in the order of [[modules]].

    Attributes: `first`: first product of each column with several versions, by name; `variations`:
    all of the job, in order of declaration; computed once, since each path uses them and there may
    be ten thousand modules."""

    def __init__(self, modules: Iterable[Declared]) -> None:
        self.modules = {module.label: module for module in modules}
        each = (v for m in self.modules.values() for v in (*m.variations, m.only) if v)
        self.variations = list(dict.fromkeys(each))
        self._place = {label: place for place, label in enumerate(self.modules)}
        self._chains: dict[str, list[Version]] = {}
        for name in dict.fromkeys(n for m in self.modules.values() for n in m.replaces):
            self._chains[name] = self._chain(name)
        self.first = {name: chain[0].product for name, chain in self._chains.items()}

    @property
    def replaced(self) -> list[str]:
        """Columns with a later version than the first in the nominal case."""
        return [name for name, chain in self._chains.items() if chain[-1].nominal.maker]

    def seen(self, label: str, name: str) -> Version:
        """Version that a module means by a name; `label`: "" for a module after all others."""
        column, is_first = name.removesuffix(AT_INPUT), name.endswith(AT_INPUT)
        chain = self._chains.get(column, [Version(column)])
        place = self._place.get(label, len(self._place))
        before = [v for v in chain[1:] if self._place[v.maker] < place]
        return before[-1] if before and not is_first else chain[0]

    def of_input(self, label: str, columns: Iterable[str]) -> frozenset[str]:
        """Names by which a module means these columns in their input versions."""
        names = (each for name in columns for each in (name, f"{name}{AT_INPUT}"))
        return frozenset(name for name in names if not self.seen(label, name).nominal.maker)

    def made(self, label: str, name: str) -> str:
        """Product that a module makes under a name."""
        for version in self._chains.get(name, ()):
            if version.maker == label and label:
                return version.product
        return self.first.get(name, name)

    def nominal_names(self, label: str) -> tuple[dict[str, str], dict[str, str]]:
        """Products that a module sees, and makes, in the nominal case, by name of columns with
        several versions."""
        names = [each for name in self._chains for each in (name, f"{name}{AT_INPUT}")]
        sees = {name: self.seen(label, name).nominal.product for name in names}
        return sees, {name: self.made(label, name) for name in self._chains}

    def maker(self, product: str) -> str:
        """Label of the module that makes this product of a replaced column; "" for others."""
        chain = self._chains.get(plain_name(product), ())
        return next((v.maker for v in chain if v.product == product), "")

    def _chain(self, name: str) -> list[Version]:
        """Versions of a column, first to last. The nominal one has the plain name."""
        makers = [m for m in self.modules.values() if name in m.replaces]
        last = next((m.label for m in reversed(makers) if not m.only), "")
        chain = [Version(f"{name}{AT_INPUT}" if last else name)]
        for module in makers:
            product = name if module.label == last else f"{name}@after-{module.label}"
            chain.append(Version(product, module.label, chain[-1], module.only))
        return chain
