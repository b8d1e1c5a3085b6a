"""Walk over everything that code reaches: helpers in other files of the user, closures, defaults,
globals, attributes and values."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection
from functools import cached_property, partial, partialmethod, singledispatchmethod
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, get_args, get_origin

import numpy as np

from forkrun.base.user_code.installed import is_installed
from forkrun.modules.program import code_uses, outside
from forkrun.modules.program.code_uses import may_change
from forkrun.modules.program.encoded import CACHED, importable
from forkrun.modules.program.own_code import (
    has_own_code,
    is_library_function,
    is_own_class,
    is_own_module,
    is_patched,
    own_file,
)
from forkrun.modules.program.values import PLAIN, ValueWalk

_NOT_CODE = frozenset((
    "__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__",
    "__orig_bases__", "__parameters__", "_abc_impl", "__dataclass_fields__", "__annotations__",
    "__dataclass_params__", "__match_args__", "__slots__", "__annotate__", "__qualname__",
    "__annotations_cache__", "__annotate_func__",
))  # fmt: skip
_NOT_OF_MODULE = frozenset(("__builtins__", "__cached__", "__loader__", "__spec__", "__doc__"))
_KINDS_OF_CLASSES = frozenset(("builtins", "abc", "enum", "typing", "_py_abc"))
"""Modules whose metaclasses keep nothing outside the attributes of the class."""


class CodeWalk(ValueWalk):
    """Walk over code. `values`: reached values of the user's own modules, by `FILE.py:NAME`;
    `stores`: variables that code assigns; `handed_on`: variables of modules that are passed on as a
    whole."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}
        self.stores: set[Any] = set()
        self.handed_on: set[Any] = set()
        self._owner: type | None = None
        """The class whose attributes are being visited."""

    def _look(self, value: Any, where: str) -> None:
        kind = type(value)
        if isinstance(value, ModuleType):
            self._use_module(value, (), where)
        elif kind is FunctionType:
            self._function(value, where)
        elif isinstance(value, type):
            self._class(value, where)
        elif kind is CodeType:
            self._code(value, where)
        elif is_own_class(kind):
            self._object(value, where)
        elif isinstance(value, partial):
            self._all((value.func, value.args, value.keywords), where)
        elif kind is MethodType:
            self._all((value.__func__, value.__self__), where)
        elif isinstance(value, staticmethod | classmethod):
            self.put(kind.__name__)
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
        elif isinstance(value, MethodDescriptorType | WrapperDescriptorType):
            self._named(value.__objclass__.__qualname__, value.__name__)
        elif get_origin(value):
            self._all((get_origin(value), get_args(value)), where)
        elif kind.__module__.startswith("numba") and hasattr(value, "py_func"):
            self._named_by_package(kind, where)
            self._all((value.py_func, repr(getattr(value, "targetoptions", ""))), where)
        elif isinstance(value, np.vectorize):
            self._all((value.pyfunc, repr((value.otypes, value.signature, value.excluded))), where)
        else:
            self._data(value, where)

    def _note_value(self, home: Any, name: str, value: Any) -> None:
        """Notes the value of a variable, if it belongs to the user's own modules."""
        file = own_file(home) if isinstance(home, str) else None
        if name.rpartition(".")[2].startswith("__"):
            return
        if file and not isinstance(value, ModuleType) and not callable(value):
            self.values[f"{file}:{name}"] = value

    def _use(self, value: Any, chain: tuple[str, ...], where: str) -> None:
        """Follows the use of a variable."""
        if isinstance(value, ModuleType):
            self._use_module(value, chain, where)
            return
        if chain and isinstance(value, FunctionType):
            self.shared.setdefault(id(value), value)
        self.visit(value, where)

    def _use_module(self, module: ModuleType, chain: tuple[str, ...], where: str) -> None:
        """Visits the used attributes of a module, or all of one that is passed on."""
        self.put("module", module.__name__)
        if not self._is_first(module, (id(module), chain)):
            return
        is_own, space = is_own_module(module), vars(module)
        if not is_own:
            used = chain[:1] or ("*",)
            if what := outside.module_outside(module, set(used)):
                self.doubt(where, f"uses {what}")
            self._package(module.__name__, where)
            if chain and chain[0] in space:
                self._visit_library(space[chain[0]], chain[1:], where)
            return
        if type(module) is not ModuleType:
            self.visit(type(module), where)
        if "__getattr__" in space:
            self.visit(space["__getattr__"], where)
        for name in chain[:1] or sorted(space.keys() - _NOT_OF_MODULE):
            found = space.get(name)
            if not chain and isinstance(found, ModuleType) and not is_own_module(found):
                continue
            self.put(name)
            self._note_value(module.__name__, name, found)
            self.shared[id(space), name] = space
            self.handed_on |= set() if chain else {(id(space), name)}
            self._use(found, chain[1:], f"{module.__name__}.{name}")

    def _visit_library(self, value: Any, chain: tuple[str, ...], where: str) -> None:
        """Visits an attribute of a library if it may have been set by the user."""
        if isinstance(value, ModuleType):
            if chain or is_own_module(value):
                self._use(value, chain, where)
        elif type(value) in (*PLAIN, str) or is_own_class(type(value)) or is_patched(value):
            self.visit(value, where)

    def _function(self, function: FunctionType, where: str) -> None:
        code, owner, self._owner = function.__code__, self._owner, None
        used = code_uses.uses(code)
        closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        if is_library_function(function):
            self._named_by_package(function, where)
            if importable(function):
                return
            used = frozenset()
            place = where
        else:
            place = _joined(where, function.__qualname__)
            is_of_module = owner is not None and _is_module(owner)
            self._code(code, place, function.__globals__, is_of_module)
        self._all((function.__defaults__, function.__kwdefaults__), place)
        for name, cell in closure.items():
            self.shared[id(cell), ""] = cell
            self.put(name)
            chains = sorted(u.chain for u in used if u.is_cell and u.name == name) or [()]
            for chain in chains:
                self._use(_content(cell), chain, place)
        self.stores.update((id(closure[n]), "") for n in code_uses.stored_cells(code))
        for use in sorted(used):
            if not use.is_cell:
                self._global(function, use, place)
        for name, value in sorted(vars(function).items()):
            if name != "__wrapped__":
                self.put(name)
                self._note_value(function.__module__, f"{function.__qualname__}.{name}", value)
            self.visit(value, place)

    def _global(self, function: FunctionType, use: code_uses.Use, where: str) -> None:
        space, name, chain = function.__globals__, use.name, use.chain
        self.put(name)
        self.shared[id(space), name] = space
        if name in space:
            self._note_value(function.__module__, name, space[name])
            if use.is_stored and (module := _module_of(space[name], chain)):
                self.stores.add((id(vars(module)), chain[-1]))
            self._use(space[name], chain, where)
        elif outside.builtin_outside(name):
            self.doubt(where, f"uses {name}()")
        elif has_own_code(found := getattr(sys.modules["builtins"], name, None)):
            self.visit(found, where)

    def _code(
        self,
        code: CodeType,
        where: str,
        space: dict[str, Any] | None = None,
        is_of_module: bool = False,
    ) -> None:
        space = {} if space is None else space
        self.put(code.co_code.hex(), getattr(code, "co_exceptiontable", b"").hex())
        self.put(f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_flags}")
        for what in outside.uses_outside(code_uses.names_in(code)):
            self.doubt(where, f"uses {what}")
        for name in sorted(code_uses.stored_globals(code)):
            self.stores.add((id(space), name))
            self.doubt(where, f"changes {name}, which outlives the call")
        for name in code_uses.stored_cells(code):
            self.doubt(where, f"changes {name}, which outlives the call")
        for each in code_uses.imports(code):
            self._import(each, space, where, code_uses.names_in(code))
        self.changes |= may_change(code, is_of_module)
        loaded = {str(i.value) for i in code_uses.instructions(code) if i.name == "LOAD_CONST"}
        for number, constant in enumerate(code.co_consts):
            if number or type(constant) is not str or constant in loaded:  # else its docstring
                self._constant(constant, where, space, is_of_module)

    def _constant(self, value: Any, where: str, space: dict[str, Any], is_of_module: bool) -> None:
        if isinstance(value, CodeType):
            self._code(value, where, space, is_of_module)
        else:
            self.visit(value, where)

    def _import(
        self, each: code_uses.Import, space: dict[str, Any], where: str, names: Collection[str]
    ) -> None:
        """Follows an import done when the code is called."""
        name = each.module
        if each.level:
            name = importlib.util.resolve_name("." * each.level + name, space.get("__package__"))
        module = sys.modules.get(name)
        if module is None:
            self._import_new(name, where)
            return
        if not each.names and name.partition(".")[0] in sys.modules:
            module = sys.modules[name.partition(".")[0]]
        if is_own_module(module):
            self._use(module, (), where)
            for used in sorted({*each.names} - vars(module).keys()):
                self._import_new(f"{module.__name__}.{used}", where)
            return
        if each.is_handed_on:
            self._use(module, (), where)
        for used in sorted(each.names or names):
            self._use(module, (used,), where)
            if isinstance(inner := vars(module).get(used), ModuleType):
                for further in sorted(names):
                    self._use(inner, (further,), where)

    def _import_new(self, name: str, where: str) -> None:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None or not is_installed(spec.origin or ""):
            self.doubt(where, f"imports {name} when it is called")
            return
        self.put(name)
        self.packages.setdefault(name.partition(".")[0], "")
        self.packages[name] = outside.installed_packages()
        if outside.name_outside(name, "*"):
            self.doubt(where, f"uses {name}")

    def _class(self, kind: type, where: str) -> None:
        if not is_own_class(kind):
            self._named_by_package(kind, where)
            patched = [name for name, each in vars(kind).items() if has_own_code(each)]
            for name in sorted(patched):
                self.put(name)
                self.visit(vars(kind)[name], _joined(where, kind.__qualname__))
            return
        self.shared.setdefault(id(kind), kind)
        self.put("class", kind.__qualname__)
        self._all(kind.__bases__, where)
        self.visit(type(kind), where)
        if not is_own_class(type(kind)) and type(kind).__module__ not in _KINDS_OF_CLASSES:
            self.doubt(where, f"has a class of {type(kind).__module__}, which keeps more than code")
        place, owner = _joined(where, kind.__qualname__), self._owner
        fields = vars(kind).get("__dataclass_fields__", {})
        made = _NOT_CODE | ({"__repr__"} if _is_made_by_dataclass(kind) else set())
        for name in sorted(vars(kind).keys() - made):
            self.put(name)
            self._note_value(kind.__module__, f"{kind.__qualname__}.{name}", vars(kind)[name])
            self._owner = kind
            self.visit(vars(kind)[name], place)
        self._owner = owner
        for name, field in fields.items():
            self.put(name)
            self.visit(dict(field.metadata), place)


def _is_module(kind: type) -> bool:
    """Whether it is a class of modules. Their base is slow to load, and not loaded here."""
    base = sys.modules.get("forkrun.modules.base")
    return base is not None and issubclass(kind, base.Module)


def _module_of(value: Any, chain: tuple[str, ...]) -> ModuleType | None:
    """The module that has the last attribute of a chain."""
    for name in chain[:-1]:
        value = vars(value).get(name) if isinstance(value, ModuleType) else None
    return value if isinstance(value, ModuleType) else None


def _joined(where: str, name: str) -> str:
    plain = name.rpartition("<locals>.")[2]
    return plain if not where or where.endswith(plain) else f"{where} → {plain}"


def _is_made_by_dataclass(kind: type) -> bool:
    """Whether the class's `__repr__` was made by `dataclasses`."""
    text = getattr(vars(kind).get("__repr__"), "__wrapped__", None)
    file = getattr(getattr(text, "__code__", None), "co_filename", "")
    return "__dataclass_fields__" in vars(kind) and file == "<string>"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
