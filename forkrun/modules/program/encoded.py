"""Encoding of single values of a module for another process."""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import pickle
import sys
import weakref
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType, new_class
from typing import Any

import msgspec

Encoded = tuple[str, Any]
"""("module", name), ("name", (module, qualified name)), ("value", pickled), or ("type", name of the
type) for values that cannot be pickled."""

CACHED = type(functools.lru_cache(len))
"""Type of functions with `functools.lru_cache` or `functools.cache`."""
_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary)
_PLAIN = (int, float, complex, str, bytes, bool, type(None))


def encode(value: Any) -> Encoded:
    """Encodes a value, by its name if another process can import it. Never raises."""
    if type(value) in _PLAIN:
        return "value", pickle.dumps(value)
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if named := importable(value):
        return "name", named
    try:
        return "value", pickled(value)
    except Exception:
        return "type", f"{type(value).__module__}.{type(value).__qualname__}"


def decode(encoded: Encoded) -> Any:
    """Decodes a value. Raises exceptions of its import or its unpickling."""
    kind, what = encoded
    if kind == "module":
        return importlib.import_module(what)
    if kind == "name":
        home, name = what
        return _attribute(importlib.import_module(home), name)
    return pickle.loads(what)


def importable(value: Any) -> tuple[str, str] | None:
    """Module and qualified name of a function, class or similar; None if it is not found there."""
    home, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(home, str) or not isinstance(name, str) or home == "__main__":
        return None
    try:
        is_there = _attribute(sys.modules[home], name) is value
    except (KeyError, AttributeError):
        return None
    return (home, name) if is_there else None


def _attribute(module: ModuleType, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def pickled(value: Any) -> bytes:
    """Pickles with `cloudpickle`, and keeps the file name of code, from which messages show lines:
    `cloudpickle` omits it since version 3.1.3."""
    import cloudpickle

    as_usual = cloudpickle.Pickler.dispatch_table[CodeType]

    def with_file(code: CodeType) -> tuple[Any, ...]:
        make, values = as_usual(code)
        return code_in_file, (code.co_filename, make, *values)

    own: dict[Any, Callable[[Any], Any]] = {CodeType: with_file, CACHED: _reduce_cached}
    own[functools.cached_property] = _reduce_cached_property
    own.update((kind, _reduce_weak) for kind in _WEAK)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table = cloudpickle.Pickler.dispatch_table.new_child(own)

        def reducer_override(self, value: Any) -> Any:
            is_struct = type(value) is type(msgspec.Struct) and not importable(value)
            return _reduce_struct(value) if is_struct else super().reducer_override(value)

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def _reduce_cached(function: Any) -> Any:
    """Reduces a function with a cache, which starts empty; by its name if that can be imported:
    Python would use the name in any case."""
    if importable(function):
        return function.__qualname__
    return cached, (function.__wrapped__, function.cache_parameters()), vars(function)


def cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """The function with a cache."""
    return functools.lru_cache(**parameters)(function)


def _reduce_cached_property(value: Any) -> Any:
    """Reduces a cached property, without its lock in Python 3.11."""
    state = {key: each for key, each in vars(value).items() if key != "lock"}
    return functools.cached_property, (value.func,), state


def _reduce_struct(kind: Any) -> Any:
    """Reduces a class of `msgspec`, which needs its fields and options when it is made:
    `cloudpickle` sets attributes afterwards."""
    from cloudpickle import cloudpickle

    fields, config = kind.__struct_fields__, kind.__struct_config__
    own = {n: each for n, each in vars(kind).get("__annotations__", {}).items() if n in fields}
    parameters = inspect.signature(kind).parameters
    options = {name: getattr(config, name) for name in dir(config) if not name.startswith("_")}
    if config.tag is None:
        del options["tag"], options["tag_field"]
    options["kw_only"] = any(parameters[n].kind is inspect.Parameter.KEYWORD_ONLY for n in own)
    options["rename"] = dict(zip(fields, kind.__struct_encode_fields__, strict=True))
    given = zip(reversed(fields), reversed(kind.__struct_defaults__), strict=False)
    defaults = {
        name: ("default_factory", each.factory) if hasattr(each, "factory") else ("default", each)
        for name, each in given
        if name in own and each is not msgspec.NODEFAULT
    }
    state = cloudpickle._class_getstate(kind)
    bases = vars(kind).get("__orig_bases__", kind.__bases__)
    made_of = kind.__name__, bases, own, defaults, options
    return make_struct, made_of, state, None, None, cloudpickle._class_setstate


def make_struct(
    name: str,
    bases: tuple[Any, ...],
    annotations: Mapping[str, Any],
    defaults: Mapping[str, tuple[str, Any]],
    options: dict[str, Any],
) -> type:
    """Class of `msgspec` without its methods."""
    space = {"__annotations__": dict(annotations)}
    space |= {field: msgspec.field(**{how: each}) for field, (how, each) in defaults.items()}
    return new_class(name, bases, options, lambda own: own.update(space))


def _reduce_weak(value: Any) -> Any:
    """Reduces a dictionary with weak references, such as the registry of
    `functools.singledispatch`."""
    return type(value), (dict(value),)


def code_in_file(file: str, make: Callable[..., CodeType], *values: Any) -> CodeType:
    """Code from `make`, with the name of its file."""
    return make(*values).replace(co_filename=file)
