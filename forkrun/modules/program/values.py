"""Values of the user's own modules: read in the running program, and set in a process that imports
these modules again; and a walk over values of programs, with a digest: plain values and arrays by
content, objects of libraries by their pickled state, objects of the user's classes by class and
state.

A program sets them after its imports (`cuts.CUT = args.cut`, `cuts.CONFIG["year"] = 2018`,
`Selection.pt = 20`), and functions of its job read them."""

from __future__ import annotations

import copyreg
import enum
import hashlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from forkrun.errors import ConfigError
from forkrun.modules.program import outside
from forkrun.modules.program.code_uses import CHANGES
from forkrun.modules.program.encoded import Encoded, decode, encode, importable
from forkrun.modules.program.own_code import is_own_class

Values = Mapping[str, Encoded]
"""Values of one module, by name: `CUT`, `Selection.pt` of a class, `met.threshold` of a
function."""

_MISSING = object()
_BY_STATEMENT = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that Python code has made
_REDUCE = ("__reduce__", "__reduce_ex__", "__setattr__")


def values_of(module: ModuleType) -> Values:
    """All values except the module's own functions and classes, which an import makes."""
    return {
        f"{prefix}{name}": encode(value)
        for prefix, space in _spaces(module)
        for name, value in list(vars(space).items())
        if _counts(space, prefix, name, value)
    }


def _spaces(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The module itself, and its own classes and functions, which have attributes."""
    yield "", module
    for name, value in list(vars(module).items()):
        is_space = isinstance(value, type | FunctionType) and not isinstance(value, enum.EnumMeta)
        if is_space and importable(value) == (module.__name__, name):
            yield f"{name}.", value


def _counts(space: Any, prefix: str, name: str, value: Any) -> bool:
    if name.startswith("__") and name.endswith("__"):
        return False
    if isinstance(space, type) and inspect.isdatadescriptor(value):
        return False
    home = space.__name__ if isinstance(space, ModuleType) else space.__module__
    inner = getattr(value, "__func__", value)  # static and class methods
    return importable(inner) != (home, f"{prefix}{name}")


def settle(module: ModuleType, values: Values) -> None:
    """Gives a newly imported module the program's values. Equal values stay, so that references to
    them remain valid. Raises ConfigError that names values which could not be transferred."""
    problems = []
    for key, encoded in values.items():
        try:
            _settle(module, key, encoded)
        except Exception as error:
            name = key.rpartition(".")[2]
            if encoded[0] != "type" or not name.startswith("_"):  # else private
                problems.append(f"{module.__name__}.{key}: {_why(encoded, error)}")
    if problems:
        raise ConfigError(problems)


def _why(encoded: Encoded, error: Exception) -> str:
    what = f"a {encoded[1]}" if encoded[0] == "type" else f"{type(error).__name__}: {error}"
    return (
        f"the program that runs this job has set it to a value that no other process can have"
        f" ({what}); set it within a function of the job, or take job.run(children=0)"
    )


def _settle(module: ModuleType, key: str, encoded: Encoded) -> None:
    *path, name = key.split(".")
    space: Any = module
    for part in path:
        space = getattr(space, part)
    fresh = vars(space).get(name, _MISSING)
    if fresh is not _MISSING and encode(fresh) == encoded:
        return
    if encoded[0] == "type":
        raise TypeError(key)
    value = decode(encoded)
    if not _takes_over(fresh, value):
        setattr(space, name, value)


def _takes_over(fresh: Any, value: Any) -> bool:
    """Gives the existing object the new content, if that is possible: others may refer to it."""
    if type(fresh) is not type(value):
        return False
    if isinstance(fresh, dict | set):
        fresh.clear()
        fresh.update(value)
    elif isinstance(fresh, list | bytearray):
        fresh[:] = value
    elif _is_its_dictionary(type(fresh)):
        vars(fresh).clear()
        vars(fresh).update(vars(value))
    else:
        return False
    return True


def _is_its_dictionary(kind: type) -> bool:
    """Whether objects of this class consist of their `__dict__` alone."""
    own = kind.__mro__[:-1]
    is_plain = all(base.__flags__ & _BY_STATEMENT and "__slots__" not in vars(base) for base in own)
    as_usual = all(getattr(kind, name) is getattr(object, name) for name in _REDUCE)
    return bool(own) and is_plain and as_usual and not hasattr(kind, "__setstate__")


PLAIN = (int, float, complex, bytes, bool, type(None), type(...))
_DATA = frozenset((
    "numpy", "awkward", "vector", "hist", "boost_histogram", "datetime", "decimal", "fractions",
    "re", "collections", "itertools", "operator", "types", "pathlib", "enum", "uncertainties",
    "array", "zoneinfo", "correctionlib", "builtins", "typing", "statistics", "string", "abc",
    "_operator", "_decimal", "_collections", "_hist", "dataclasses",
))  # fmt: skip
"""Packages whose objects are fully described by their pickled state."""
_MOST_PARTS = 200_000


class ValueWalk:
    """Walk over values. `digest`: of code and values; `packages`: versions of the libraries used;
    `reasons`: why results depend on more than this; `opaque`: objects that cannot be inspected;
    `shared`: objects and variables that other code may reach; `changes`: whether something was
    reached that changes objects."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.reasons: list[str] = []
        self.shared: dict[Any, Any] = {}
        self.changes = False
        self.packages: dict[str, str] = {}
        self.opaque: list[Any] = []
        self._paths: dict[str, str] = {}
        """Texts that may name files, with their places in the code."""
        self._seen: dict[Any, int] = {}
        self._alive: list[Any] = []
        """Keeps the ids of objects unique."""

    def put(self, *texts: str) -> None:
        for text in texts:
            self.digest.update(text.encode("utf-8", "surrogatepass") + b"\0")

    def doubt(self, where: str, why: str) -> None:
        """Notes something that has no digest."""
        self.reasons.append(f"{where.removeprefix('.')} {why}" if where else why)

    def visit(self, value: Any, where: str) -> None:
        """`where`: the place in the code, for people."""
        if type(value) in PLAIN:
            self.put(type(value).__name__, repr(value))
        elif type(value) is str or (isinstance(value, PurePath) and not is_own_class(type(value))):
            self._text(value, where)
        elif type(value) is tuple and all(type(each) in PLAIN for each in value):
            self.put("tuple", repr(value))
        elif self._is_first(value, id(value)):
            if len(self._seen) > _MOST_PARTS:
                if len(self._seen) == _MOST_PARTS + 1:
                    self.doubt(where, "reaches too many objects to look into")
                return
            try:
                self._look(value, where)
            except RecursionError:
                self.doubt(where, "is nested too deeply to look into")
            except Exception as error:  # of the user's own descriptors, or of an unknown kind
                self.doubt(where, f"cannot be looked into: {type(error).__name__}: {error}")

    def _is_first(self, value: Any, key: Any) -> bool:
        """Whether it is met for the first time; otherwise adds the place of the first time to the
        digest."""
        if key in self._seen:
            self.put("again", str(self._seen[key]))
            return False
        self._seen[key] = len(self._seen)
        self._alive.append(value)
        return True

    def _text(self, value: str | PurePath, where: str) -> None:
        text = str(value)
        self.put(type(value).__name__, text)
        if 2 < len(text) < 1024 and "\0" not in text and ("." in text or "/" in text):
            self._paths.setdefault(text, where)

    def put_files(self) -> None:
        """Adds the content of the files that texts name."""
        for path, where in sorted(self._paths.items()):
            try:
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        self.put(path, hashlib.file_digest(file, "sha256").hexdigest())
            except OSError:
                self.doubt(where, f"names {path}, which cannot be read")

    def _look(self, value: Any, where: str) -> None:
        """Visits a value that is met for the first time."""
        raise NotImplementedError

    def _all(self, values: Any, where: str) -> None:
        self.put(str(len(values)))
        for value in values:
            self.visit(value, where)

    def _named(self, home: str, name: str) -> None:
        """Adds a function of Python or a library, which may be one that changes objects."""
        self.put(home, name)
        self.changes |= name.rpartition(".")[2] in CHANGES

    def _named_by_package(self, value: Any, where: str) -> None:
        home, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        home = home if isinstance(home, str) else "builtins"
        self._named(home, name)
        if what := outside.name_outside(home, name):
            self.doubt(where, f"uses {what}")
        self._package(home, where)

    def _package(self, module: str, where: str) -> None:
        version = outside.package_version(module)
        top = module.partition(".")[0]
        if top == "__main__":
            return
        if version is None:
            self.doubt(where, f"uses {top}, of which no version is known")
        self.packages[top] = version or ""

    def _data(self, value: Any, where: str) -> None:
        """Adds data; objects of libraries by their pickled state."""
        kind = type(value)
        self.put(kind.__module__, kind.__qualname__)
        if kind not in (tuple, frozenset) and not importable(value):
            self.shared.setdefault(id(value), value)
        if kind in (list, tuple):
            self._all(value, where)
        elif kind in (dict, MappingProxyType):
            self._all([each for pair in value.items() for each in pair], where)
        elif kind in (set, frozenset):
            self._all(sorted(value, key=lambda each: (type(each).__name__, repr(each))), where)
        elif kind is np.ndarray and not value.dtype.hasobject:
            content = hashlib.sha256(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
            self.put(f"{value.dtype} {value.shape}", content.hexdigest())
        elif kind is np.ufunc:
            self.put(value.__name__)
            if getattr(np, value.__name__, None) is not value:
                self.doubt(where, f"has the ufunc {value.__name__}, which cannot be looked into")
        elif importable(value):
            self._named_by_package(value, where)
        elif kind.__module__ == "logging":
            self.put(str(getattr(value, "name", "")))
        elif kind.__name__ == "builtin_function_or_method":
            self._named("", value.__name__)
            self.visit(value.__self__, where)
        elif kind.__name__ == "_tuplegetter":
            self.visit(value.__reduce__()[1][0], where)
        elif kind.__module__ == "dataclasses" and kind.__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
            pass
        else:
            self.visit(kind, where)
            top = kind.__module__.partition(".")[0]
            if top in _DATA and not outside.name_outside(kind.__module__, kind.__qualname__):
                self._taken(value, where)
            else:
                self.opaque.append(value)
                named = f"{kind.__module__}.{kind.__qualname__}"
                self.doubt(where, f"has a {named}, which cannot be looked into")

    def _object(self, value: Any, where: str) -> None:
        """Adds an object of the user's class: its class and state."""
        kind = type(value)
        self.shared.setdefault(id(value), value)
        self.visit(kind, where)
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self._all([each for name in sorted(own, key=str) for each in (name, own[name])], where)
        slots = [s for base in kind.__mro__ for s in _slots(base)]
        self._all([getattr(value, name, None) for name in slots], where)
        bases = [base for base in kind.__mro__[:-1] if not is_own_class(base)]
        self._taken(value, where, is_all_seen=not bases)

    def _taken(self, value: Any, where: str, *, is_all_seen: bool = False) -> None:
        """Adds the pickled state of an object. `is_all_seen`: all of it has been visited
        already."""
        try:
            make: Callable[[Any], Any] | None = copyreg.dispatch_table.get(type(value))
            taken = make(value) if make else value.__reduce_ex__(4)
        except Exception as error:
            if not is_all_seen:
                self.opaque.append(value)
                kind = type(value).__qualname__
                self.doubt(where, f"has a {kind}, which cannot be looked into: {error}")
            return
        if isinstance(taken, str):
            self.put(taken)
            return
        self.put(getattr(taken[0], "__qualname__", ""))
        for part in taken[1:]:
            self.visit([*part] if isinstance(part, Iterator) else part, where)


def _slots(kind: type) -> list[str]:
    found = vars(kind).get("__slots__", ())
    names = [found] if isinstance(found, str) else [*found]
    return [n for n in names if n not in ("__dict__", "__weakref__") and not n.startswith("__")]
