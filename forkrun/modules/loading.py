"""Modules from `python:FILE.py:Class` or `python:package.module:Class` with parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from forkrun.base.arguments import check_flags, check_text, refused
from forkrun.base.nearest import close_to, suggestion
from forkrun.base.user_code import (
    bind_parameters,
    import_home,
    in_user_code,
    place_of,
    place_of_class,
)
from forkrun.conditions import Conditions, ModuleConditions
from forkrun.errors import ConfigError
from forkrun.modules.base import Module, Producer
from forkrun.modules.python_module import KINDS, METHODS, PythonModule, variations_of


def construct(
    kind: type[Module], params: Mapping[str, Any], conditions: Conditions, where: str
) -> PythonModule:
    """Module of a class. Raises ConfigError, which begins with `where`."""
    arguments = check_class(kind, params, where)
    module = kind.__new__(kind)
    module.conditions = ModuleConditions(conditions, _declared_conditions(kind, conditions, where))
    try:
        kind.__init__(module, **arguments)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{where}: {in_user_code(error)}") from None
    check_declarations(module, where)
    return PythonModule(module)


def _declared_conditions(
    kind: type[Module], conditions: Conditions, where: str
) -> Sequence[str] | None:
    """Declared `conditions` of the class; None without a declaration."""
    declared: Sequence[str] | None = kind.conditions
    if declared is not None:
        check_names(where, "conditions", declared)
    unknown = [label for label in declared or () if label not in conditions.labels]
    if unknown:
        raise ConfigError(
            [
                f'{where}: unknown condition "{label}"' + suggestion(label, conditions.labels)
                for label in unknown
            ]
        )
    return declared


def check_class(kind: type[Module], params: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Checks a class before construction and returns the arguments of `__init__`. Raises
    ConfigError with all problems."""
    problems, arguments = _method_problems(kind, where), dict(params)
    try:
        arguments = bind_parameters(kind, params, where)
    except ConfigError as error:
        problems = [*error.problems, *problems]
    if problems:
        raise ConfigError(problems)
    return arguments


def _method_problems(kind: type[Module], where: str) -> list[str]:
    """Reasons why the class has no method that can be called with blocks."""
    word, base = next((word, base) for word, base in KINDS if issubclass(kind, base))
    name = METHODS[word]
    method = getattr(kind, name)
    if method is getattr(base, name):
        own = [n for k in kind.__mro__ for n in vars(k) if k.__module__ == kind.__module__]
        close = close_to(name, [n for n in own if not n.startswith("__")])
        hint = f"; rename its {close}()" if close else ""
        return [
            f"{where}: the class {kind.__name__} has no method {name}(self, events), which a"
            f" forkrun.{base.__name__} needs{hint}{place_of_class(kind)}"
        ]
    if not _takes(method, kind.__dict__.get(name)):
        return [
            f"{where}: {name}() of {kind.__name__} is called with the events: write"
            f" def {name}(self, events){place_of(method)}"
        ]
    return []


def _takes(method: Any, raw: Any) -> bool:
    """Whether a method of an instance can be called with one argument."""
    given = (None,) if isinstance(raw, staticmethod) else (None, None)
    try:
        inspect.signature(method).bind(*given)
    except ValueError:  # written in C, without a signature
        return True
    except TypeError:
        return False
    return True


def find_object(name: str, where: str) -> Any:
    """Function or class named `FILE.py:NAME` or `package.module:NAME`. Raises ConfigError."""
    home, _, wanted = name.rpartition(":")
    source = import_home(home, where)
    found = getattr(source, wanted, None)
    if not callable(found):
        names = [n for n, v in vars(source).items() if callable(v) and not n.startswith("_")]
        what = f"{where}: {home} has no function {wanted!r}"
        raise ConfigError(what + suggestion(wanted, names))
    return found


def find_class(name: str, where: str) -> type[Module]:
    """Class of a module, after importing its file. Raises ConfigError for other objects."""
    home, _, class_name = name.rpartition(":")
    source = import_home(home, where)
    kind = getattr(source, class_name, None)
    if kind is None:
        classes = [n for n, v in vars(source).items() if inspect.isclass(v)]
        hint = suggestion(class_name, classes)
        raise ConfigError(f"{where}: {home} has no class {class_name!r}{hint}")
    if inspect.isfunction(kind):
        raise ConfigError(
            f'{where}: {class_name} is a function; say what it is: kind = "filter", "producer",'
            ' "analyzer" or "histogram"'
        )
    return checked_class(kind, where)


def checked_class(kind: Any, where: str) -> type[Module]:
    """Returns the class. Raises ConfigError if it is not one of modules."""
    known = tuple(base for _, base in KINDS)
    if inspect.isclass(kind) and issubclass(kind, known):
        return kind
    name = getattr(kind, "__name__", str(kind))
    raise ConfigError(
        f"{where}: {name} is not a forkrun.Producer, Filter or Analyzer; derive it from one"
    )


def check_declarations(module: Module, where: str) -> None:
    """Checks the declarations of a module: a wrong type would be ignored or mean something else.
    Raises ConfigError, which begins with `where`."""
    if module.consumes is not None:  # None: found out with the first events
        check_names(where, "consumes", module.consumes)
    check_text(where, "`random_name`", module.random_name)
    _check_one_lumi(where, module.one_lumi)
    if isinstance(module, Producer):
        _check_producer(module, where)


def check_names(where: str, name: str, given: Any) -> None:
    """Checks names of columns or conditions. Raises ConfigError."""
    if isinstance(given, str):
        raise ConfigError(f"{where}: `{name}` is the text {given!r}; write ({given!r},)")
    if not _are_names(given):
        raise refused(where, f"`{name}`", "a list of names", given)


def _check_one_lumi(where: str, given: Any) -> None:
    if not isinstance(given, bool) and not (isinstance(given, str) and given == "job"):
        raise refused(where, "`one_lumi`", 'True, False or "job"', given)


def _check_producer(module: Producer, where: str) -> None:
    produces: Any = module.produces
    is_good = isinstance(produces, Mapping) and all(isinstance(t, str) for t in produces.values())
    if produces is not None and not is_good:
        raise ConfigError(f'{where}: `produces` is a dict like {{"Dimuon_mass": "float32"}}')
    check_names(where, "replaces", module.replaces)
    check_text(where, "`only_variation`", module.only_variation)
    check_flags(where, **{"`on_data`": module.on_data})
    given: Any = module.variations
    is_good = isinstance(given, Mapping) and all(map(_are_names, given.values()))
    if not is_good or not all(re.fullmatch(r"\w+", name) for name in variations_of(module)):
        form = '{"jes": ("up", "down")}, of letters, digits and _'
        raise ConfigError(f"{where}: `variations` is a dict like {form}")


def _are_names(given: Any) -> bool:
    is_list = isinstance(given, Collection) and not isinstance(given, str | bytes | Mapping)
    return is_list and all(isinstance(each, str) for each in given)
