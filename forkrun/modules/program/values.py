"""Values of the user's own modules: read in the running program, and set in a process that imports
these modules again.

A program sets them after its imports (`cuts.CUT = args.cut`, `cuts.CONFIG["year"] = 2018`,
`Selection.pt = 20`), and functions of its job read them."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from forkrun.errors import ConfigError
from forkrun.modules.program.encoded import Encoded, decode, encode, importable

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
