"""What the results of a function or class depend on: a digest of its code, and of all that this
reaches: helpers in other files of the user, what is closed over, defaults, globals, attributes,
values, versions of packages. Of what has no digest, the reasons.

Not of its text: a comment, or a line elsewhere, changes nothing."""

from __future__ import annotations

import dis
import enum
import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator
from functools import cached_property, partial, partialmethod, singledispatchmethod
from pathlib import PurePath
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, get_args, get_origin

import numpy as np
from msgspec import Struct

from forkrun.base.user_code.installed import is_installed
from forkrun.modules.program import outside
from forkrun.modules.program.changing import may_change
from forkrun.modules.program.code_digest import globals_in, names_in
from forkrun.modules.program.encoded import CACHED, importable
from forkrun.modules.program.own_modules import own_file

_PLAIN = (int, float, complex, bytes, bool, type(None), type(...))
_NOT_CODE = frozenset((
    "__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__",
    "__orig_bases__", "__parameters__", "_abc_impl", "__dataclass_fields__", "__annotations__",
    "__dataclass_params__", "__match_args__", "__slots__", "__annotate__", "__qualname__",
    "__annotations_cache__", "__annotate_func__",
))  # fmt: skip
_LOOK_UP = frozenset(
    ("getattr", "vars", "__dict__", "attrgetter", "dir", "hasattr", "methodcaller")
)
"""With these, code may use any attribute."""
_DATA = frozenset((
    "numpy", "awkward", "vector", "hist", "boost_histogram", "datetime", "decimal", "fractions",
    "re", "collections", "itertools", "operator", "types", "pathlib", "enum", "uncertainties",
    "array", "zoneinfo", "correctionlib", "builtins", "typing", "statistics", "string", "abc",
))  # fmt: skip
"""Packages whose objects are what pickle makes of them."""
_BASE = frozenset(("numpy", "awkward", "vector", "forkrun", "hist", "boost_histogram"))
_MOST_PARTS = 200_000


class Dependence(Struct, frozen=True):
    """`digest`: of all that was reached; `reasons`: why this is not all that results depend on;
    `shared`: by `id` what others may reach as well and change; `changes`: whether this code may."""

    digest: str
    reasons: tuple[str, ...]
    shared: dict[int, Any]
    changes: bool


def dependence_of(*values: Any) -> Dependence:
    """What code and values depend on; the same digest in another process with the same Python."""
    walk = _Walk()
    try:
        for value in values:
            walk.visit(value, "")
    except Exception as error:  # of the user's own descriptors, or of what no walk has met yet
        walk.doubt("", f"cannot be looked into: {type(error).__name__}: {error}")
    if walk.packages - _BASE - sys.stdlib_module_names:
        walk.put("packages", outside.installed_packages())
    reasons = tuple(dict.fromkeys(walk.reasons))
    return Dependence(walk.digest.hexdigest(), reasons, walk.shared, walk.changes)


class _Walk:
    """One walk over all that is reached. `alive`: keeps numbers of objects their own."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.reasons: list[str] = []
        self.shared: dict[int, Any] = {}
        self.changes = False
        self.packages: set[str] = set()
        self._seen: dict[tuple[int, frozenset[str]], int] = {}
        self._alive: list[Any] = []

    def put(self, *texts: str) -> None:
        for text in texts:
            self.digest.update(text.encode("utf-8", "surrogatepass") + b"\0")

    def doubt(self, where: str, why: str) -> None:
        """Notes what has no digest."""
        self.reasons.append(f"{where.removeprefix('.')} {why}" if where else why)

    def visit(self, value: Any, where: str, names: frozenset[str] = frozenset()) -> None:
        """`where`: the place in the code, for people; `names`: attributes that are used there."""
        if type(value) in _PLAIN:
            self.put(type(value).__name__, repr(value))
            return
        if isinstance(value, str | PurePath):
            self._text(value, where)
            return
        key = (id(value), names if isinstance(value, ModuleType) else frozenset())
        if key in self._seen:
            self.put("again", str(self._seen[key]))
            return
        self._seen[key] = len(self._seen)
        self._alive.append(value)
        if len(self._seen) > _MOST_PARTS:
            if len(self._seen) == _MOST_PARTS + 1:
                self.doubt(where, "reaches too many objects to look into")
            return
        try:
            self._look(value, where, names)
        except RecursionError:
            self.doubt(where, "is nested too deeply to look into")

    def _text(self, value: str | PurePath, where: str) -> None:
        """A text; where it names a file, that too."""
        text = str(value)
        self.put(type(value).__name__, text)
        if 2 < len(text) < 1024 and "\0" not in text and ("." in text or "/" in text):
            try:
                if os.path.isfile(text):
                    with open(text, "rb") as file:
                        self.put(hashlib.file_digest(file, "sha256").hexdigest())
            except OSError:
                self.doubt(where, f"names {text}, which cannot be read")

    def _look(self, value: Any, where: str, names: frozenset[str]) -> None:
        if isinstance(value, ModuleType):
            self._module(value, where, names)
        elif isinstance(value, FunctionType):
            self._function(value, where)
        elif inspect.isclass(value):
            self._class(value, where)
        elif isinstance(value, CodeType):
            self._code(value, where)
        elif isinstance(value, partial):
            self._all((value.func, value.args, value.keywords), where)
        elif isinstance(value, MethodType):
            self._all((value.__func__, value.__self__), where)
        elif isinstance(value, staticmethod | classmethod):
            self.put(type(value).__name__)
            self.visit(value.__func__, where)
        elif isinstance(value, CACHED):
            self._all((value.__wrapped__, str(value.cache_parameters())), where)
        elif isinstance(value, cached_property):
            self.visit(value.func, where)
        elif isinstance(value, singledispatchmethod):
            self._all((value.func, value.dispatcher), where)
        elif isinstance(value, partialmethod):
            self._all((value.func, value.args, value.keywords), where)
        elif isinstance(value, property):
            self._all((value.fget, value.fset), where)
        elif isinstance(value, MemberDescriptorType | GetSetDescriptorType):
            self.put(value.__name__)
        elif get_origin(value):
            self._all((get_origin(value), get_args(value)), where)
        elif isinstance(getattr(value, "py_func", None), FunctionType):  # of Numba
            self._named_by_package(type(value), where)
            self._all((value.py_func, repr(getattr(value, "targetoptions", ""))), where)
        elif isinstance(value, np.vectorize):
            self._all((value.pyfunc, repr((value.otypes, value.signature, value.excluded))), where)
        else:
            self._data(value, where)

    def _all(self, values: Any, where: str) -> None:
        self.put(str(len(values)))
        for value in values:
            self.visit(value, where)

    # --- code -------------------------------------------------------------------------------------

    def _module(self, module: ModuleType, where: str, names: frozenset[str]) -> None:
        self.put("module", module.__name__)
        if not own_file(module.__name__):
            if what := outside.module_outside(module, set(names)):
                self.doubt(where, f"uses {what}")
            self._package(module.__name__, where)
            return
        self.shared.setdefault(id(module), module)
        wanted = vars(module).keys() if names & _LOOK_UP else names & vars(module).keys()
        for name in sorted(wanted - {"__builtins__", "__cached__", "__loader__", "__spec__"}):
            self.put(name)
            self.visit(vars(module)[name], f"{module.__name__}.{name}", names)

    def _package(self, module: str, where: str) -> None:
        version = outside.package_version(module)
        top = module.partition(".")[0]
        if top == "__main__":
            return
        self.packages.add(top)
        if version is None:
            self.doubt(where, f"uses {top}, of which no version is known")
        self.put(top, version or "")

    def _named_by_package(self, value: Any, where: str) -> None:
        home, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        home = home if isinstance(home, str) else "builtins"
        self.put(home, name)
        if what := outside.name_outside(home, name):
            self.doubt(where, f"uses {what}")
        self._package(home, where)

    def _function(self, function: FunctionType, where: str) -> None:
        home = function.__module__ or ""
        if home != "__main__" and not own_file(home) and _is_of_library(function):
            self._named_by_package(function, where)
            return
        place = _joined(where, function.__qualname__)
        self._code(function.__code__, place)
        self._all((function.__defaults__, function.__kwdefaults__), place)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self.put(name)
            self.visit(_content(cell), place)
        used = frozenset(names_in(function.__code__))
        for name in sorted(globals_in(function.__code__)):
            self.put(name)
            if name in function.__globals__:
                self.visit(function.__globals__[name], place, used)
            elif outside.builtin_outside(name):
                self.doubt(place, f"uses {name}()")
        for name, value in sorted(vars(function).items()):
            if name != "__wrapped__":
                self.put(name)
            self.visit(value, place)

    def _code(self, code: CodeType, where: str) -> None:
        self.put(code.co_code.hex(), getattr(code, "co_exceptiontable", b"").hex())
        self.put(f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_flags}")
        for what in outside.uses_outside(set(code.co_names)):
            self.doubt(where, f"uses {what}")
        instructions = list(dis.get_instructions(code))
        for each in instructions:
            if each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
                each.opname == "STORE_DEREF" and each.argval in code.co_freevars
            ):
                self.doubt(where, f"changes {each.argval}, which outlives the call")
            elif each.opname == "IMPORT_NAME":
                self._import(str(each.argval), where, frozenset(names_in(code)))
        self.changes |= may_change(code, instructions)
        for constant in code.co_consts:
            self.visit(constant, where)

    def _import(self, name: str, where: str, names: frozenset[str]) -> None:
        """A module that is imported when the code is called."""
        module = sys.modules.get(name)
        if module is None:
            try:
                spec = importlib.util.find_spec(name)
            except (ImportError, ValueError):
                spec = None
            if spec is None or not is_installed(spec.origin or ""):
                self.doubt(where, f"imports {name} when it is called")
                return
            self.put(name, outside.installed_packages())
            if outside.name_outside(name, "*"):
                self.doubt(where, f"uses {name}")
            return
        self.visit(module, where, names)

    def _class(self, kind: type, where: str) -> None:
        if kind.__module__ != "__main__" and not own_file(kind.__module__) and _is_of_library(kind):
            self._named_by_package(kind, where)
            return
        self.shared.setdefault(id(kind), kind)
        self.put("class", kind.__qualname__)
        self._all(kind.__bases__, where)
        self.visit(type(kind), where)
        for name in sorted(vars(kind).keys() - _NOT_CODE):
            self.put(name)
            self.visit(vars(kind)[name], _joined(where, kind.__qualname__))

    # --- values -----------------------------------------------------------------------------------

    def _data(self, value: Any, where: str) -> None:
        """Values; of other objects what pickle makes of them."""
        kind = type(value)
        self.put(kind.__module__, kind.__qualname__)
        if isinstance(value, dict | list | set | bytearray | np.ndarray):
            self.shared.setdefault(id(value), value)
        if kind.__module__ != "__main__" and not own_file(kind.__module__):
            self._package(kind.__module__, where)
        if isinstance(value, dict) and kind.__module__ in ("builtins", "collections", "types"):
            self._all([each for pair in value.items() for each in pair], where)
            self.visit(getattr(value, "default_factory", None), where)
        elif kind in (list, tuple):
            self._all(value, where)
        elif kind in (set, frozenset):
            self._all(sorted(value, key=lambda each: (type(each).__name__, repr(each))), where)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            content = hashlib.sha256(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
            self.put(f"{value.dtype} {value.shape}", content.hexdigest())
        elif (
            own_file(kind.__module__)
            or kind.__module__ == "__main__"
            or "<locals>" in kind.__qualname__
        ):
            self.shared.setdefault(id(value), value)
            self.visit(kind, where)
            self._object(value, where)
        elif importable(value):
            self._named_by_package(value, where)
        elif kind.__module__ == "logging":
            self.put(str(getattr(value, "name", "")))
        elif kind.__name__ == "builtin_function_or_method":
            self._all((value.__name__, value.__self__), where)
        elif kind.__name__ in ("ufunc", "_tuplegetter", "method_descriptor", "wrapper_descriptor"):
            self.put(str(getattr(value, "__name__", "")))
        else:
            self._pickled(value, where)

    def _object(self, value: Any, where: str) -> None:
        """An object of the user's: its state."""
        if isinstance(value, enum.Enum):
            self._all((value.name, value.value), where)
            return
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self._all([each for name in sorted(own, key=str) for each in (name, own[name])], where)
        try:
            taken = value.__reduce_ex__(4)
        except Exception:
            slots = [s for base in type(value).__mro__ for s in vars(base).get("__slots__", ())]
            if slots or not isinstance(own, dict):
                self.doubt(where, f"has a {type(value).__qualname__}, which cannot be looked into")
            return
        for part in (taken,) if isinstance(taken, str) else taken[1:]:
            self.visit([*part] if isinstance(part, Iterator) else part, where)

    def _pickled(self, value: Any, where: str) -> None:
        kind = type(value)
        top = kind.__module__.partition(".")[0]
        if top not in _DATA or outside.name_outside(kind.__module__, kind.__qualname__):
            named = f"{kind.__module__}.{kind.__qualname__}"
            self.doubt(where, f"has a {named}, which cannot be looked into")
            return
        try:
            import cloudpickle

            self.put(hashlib.sha256(cloudpickle.dumps(value)).hexdigest())
        except Exception as error:
            self.doubt(where, f"has a {kind.__qualname__}, which cannot be looked into: {error}")


def _joined(where: str, name: str) -> str:
    plain = name.rpartition("<locals>.")[2]
    return plain if not where or where.endswith(plain) else f"{where} → {plain}"


def _is_of_library(value: Any) -> bool:
    """Whether a function or class is of a module that was imported from a library."""
    module = sys.modules.get(value.__module__ or "")
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    is_own_here = not isinstance(file, str) or is_installed(file) or _top(module) == "forkrun"
    return is_own_here and not getattr(value, "__module__", "").startswith("forkrun_user_")


def _top(module: ModuleType) -> str:
    return module.__name__.partition(".")[0]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
