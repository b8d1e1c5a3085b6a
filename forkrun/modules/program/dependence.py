"""Dependence of results on code: a digest of everything that a function or class reaches, a digest
of the code alone, and the values of the user's modules that it uses.

None depends on the text: comments, or changes in other lines, have no effect."""

from __future__ import annotations

import decimal
import hashlib
import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from msgspec import Struct

from forkrun.modules.program import outside
from forkrun.modules.program.code_walk import CodeWalk
from forkrun.modules.program.encoded import pickled
from forkrun.modules.program.own_code import is_own_class, own_file, put_into_libraries
from forkrun.modules.program.values import ValueWalk

W = TypeVar("W", bound=ValueWalk)
_BASE = frozenset(("numpy", "awkward", "vector", "forkrun", "hist", "boost_histogram"))
_PYTHONS = ((3, 11), (3, 12), (3, 13))
"""Versions whose bytecode is known."""


class Dependence(Struct, frozen=True):
    """Facts about code. `digest`: of everything reached; `reasons`: why results depend on more than
    this; `shared`: reached objects, by `id`, and variables, by name and `id` of their module, that
    other code may reach and change; `changes`: whether this code may change objects; `stores`:
    variables that it assigns."""

    digest: str
    reasons: tuple[str, ...]
    shared: dict[Any, Any]
    changes: bool
    stores: frozenset[Any] = frozenset()


def dependence_of(*values: Any) -> Dependence:
    """Dependence of results on code, values, files and versions of packages. The digest is the same
    in another process with the same Python."""
    walk = _walked(CodeWalk(), values)
    if sys.version_info[:2] not in _PYTHONS:
        walk.doubt("", "is code of a version of Python that forkrun does not know")
    walk.put_files()
    walk.put(repr(sorted(walk.packages.items())))
    if walk.packages.keys() - _BASE - sys.stdlib_module_names:
        walk.put("packages", outside.installed_packages())
    walk.put(*(outside.edited_files(package) for package in sorted(walk.packages)))
    if "decimal" in walk.packages:
        walk.put(str(decimal.getcontext()))
    if walk.changes:
        walk.stores |= walk.handed_on
    reasons = tuple(dict.fromkeys(walk.reasons))
    digest = walk.digest.hexdigest()
    return Dependence(digest, reasons, walk.shared, walk.changes, frozenset(walk.stores))


class JobCode(Struct, frozen=True):
    """Code of a job before its trial. `modules`: in Python, by label; `behaviors`: user code that
    any code may use without naming it: behaviors of Awkward arrays, objects that the program has
    put into libraries; `environment`: digest of builds; `loaded`: names of imported modules."""

    modules: dict[str, Dependence]
    behaviors: Dependence
    environment: str
    loaded: frozenset[str]

    @classmethod
    def of(cls, modules: Mapping[str, Any]) -> JobCode:
        code = {label: dependence_of(*code_of(each.module)) for label, each in modules.items()}
        behaviors, environment = dependence_of(put_into_libraries()), outside.environment_digest()
        return cls(code, behaviors, environment, frozenset(sys.modules))

    @property
    def is_complete(self) -> bool:
        """Whether it still covers all code: imports of the program's own modules explain more."""
        doubtful = any(each.reasons for each in (*self.modules.values(), self.behaviors))
        return not doubtful and not any(map(own_file, sys.modules.keys() - self.loaded))


def code_digest(*values: Any) -> str:
    """Digest of code and values, without versions of packages and the content of files: a job is
    resumed only with the same code. Objects that cannot be inspected count as pickled."""
    walk = _walked(_WithoutImports(), values)
    walk.put(*map(_pickled, walk.opaque))
    return walk.digest.hexdigest()


def used_values(*code: Any) -> dict[str, str]:
    """Digests, by `FILE.py:NAME`, of the values of the user's own modules that code uses; without
    code within them, and the same in any process."""
    values = _walked(_Finder(), code).values
    return {key: _walked(_Values(), [each]).digest.hexdigest() for key, each in values.items()}


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names whose values differ."""
    return [name for name, digest in before.items() if now.get(name) != digest]


def _walked(walk: W, values: Any) -> W:
    for value in values:
        walk.visit(value, "")
    return walk


def together(code: Mapping[str, Dependence]) -> dict[str, set[str]]:
    """Modules that share an object which one of them may change, by label: the results of one may
    depend on whether the other runs."""
    reach: dict[Any, list[str]] = {}
    for label, each in code.items():
        for shared in {*each.shared, *each.stores}:
            reach.setdefault(shared, []).append(label)
    stored = frozenset[Any]().union(*(each.stores for each in code.values()))
    found: dict[str, set[str]] = {}
    for shared, labels in reach.items():
        is_variable = isinstance(shared, tuple)
        is_changed = shared in stored if is_variable else any(code[n].changes for n in labels)
        if len(labels) > 1 and is_changed:
            for label in labels:
                found.setdefault(label, set()).update(labels)
    return found


def code_of(module: Any) -> list[Any]:
    """Code of a user's module: its functions, or its class."""
    function = getattr(module, "function", None)
    if type(module).__module__ != "forkrun.modules.entries" or function is None:
        return [type(module)]
    others = [getattr(module, name, None) for name in ("params", "weight")]
    return [_text_of(each) for each in (function, *others)]


def _text_of(value: Any) -> Any:
    """Text of an expression; other values unchanged."""
    is_expression = type(value).__module__ == "forkrun.modules.expressions"
    return value.text if is_expression else value


class _WithoutImports(CodeWalk):
    """Walk over code except imports within functions, whose modules may be loaded later."""

    def _import(self, *_: Any) -> None:
        pass


class _Finder(_WithoutImports):
    """Walk over code alone."""

    def _data(self, value: Any, where: str) -> None:
        pass


class _Values(ValueWalk):
    """Walk over data alone."""

    def _look(self, value: Any, where: str) -> None:
        if isinstance(value, FunctionType):
            self.put(value.__code__.co_code.hex())
        elif isinstance(value, type | ModuleType):
            self.put(value.__name__)
        elif is_own_class(type(value)):
            self._object(value, where)
        else:
            self._data(value, where)


def _pickled(value: Any) -> str:
    try:
        return hashlib.sha256(pickled(value)).hexdigest()
    except Exception:  # reported where the value is handed over
        return type(value).__qualname__
