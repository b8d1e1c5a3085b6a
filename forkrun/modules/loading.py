"""From `python:FILE.py:Class` or `python:package.module:Class` and parameters to a module."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from forkrun.base.nearest import suggestion
from forkrun.base.user_code import bind_parameters, import_home, in_user_code
from forkrun.conditions import Conditions, ModuleConditions
from forkrun.errors import ConfigError
from forkrun.modules.base import KINDS, Module, PythonModule


def load_module(
    label: str, name: str, params: Mapping[str, Any], conditions: Conditions
) -> PythonModule:
    """Constructs a module. `name`: `FILE.py:Class` or `package.module:Class`. Raises ConfigError,
    with the place in the user's own code where that fails."""
    where = f'module "{label}"'
    return construct(find_class(name, where), params, conditions, where)


def construct(
    kind: type[Module], params: Mapping[str, Any], conditions: Conditions, where: str
) -> PythonModule:
    """A module of this class. Raises ConfigError, which begins with `where`."""
    arguments = bind_parameters(kind, params, where)
    module = kind.__new__(kind)
    module.conditions = ModuleConditions(conditions, _declared_conditions(kind, conditions, where))
    try:
        kind.__init__(module, **arguments)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{where}: {in_user_code(error)}") from None
    _check_declarations(module, where)
    return PythonModule(module)


def _declared_conditions(
    kind: type[Module], conditions: Conditions, where: str
) -> Sequence[str] | None:
    """`conditions` of the class, None if it has none."""
    declared: Sequence[str] | None = kind.conditions
    if isinstance(declared, str):
        raise ConfigError(f"{where}: `conditions` is the text {declared!r}; write ({declared!r},)")
    unknown = [label for label in declared or () if label not in conditions.labels]
    if unknown:
        raise ConfigError(
            [
                f'{where}: there is no condition "{label}"' + suggestion(label, conditions.labels)
                for label in unknown
            ]
        )
    return declared


def _check_declarations(module: Module, where: str) -> None:
    """`consumes` and `produces` as the user wrote them: ("Muon_pt") without a comma is a str."""
    if isinstance(module.consumes, str):
        name = module.consumes
        raise ConfigError(f"{where}: `consumes` is the text {name!r}; write ({name!r},)")
    produces = getattr(module, "produces", None)
    if produces is not None and not isinstance(produces, Mapping):
        raise ConfigError(f'{where}: `produces` is a dict like {{"Dimuon_mass": "float32"}}')


def find_object(name: str, where: str) -> Any:
    """What `FILE.py:NAME` or `package.module:NAME` is. Raises ConfigError."""
    home, _, wanted = name.rpartition(":")
    source = import_home(home, where)
    found = getattr(source, wanted, None)
    if not callable(found):
        names = [n for n, v in vars(source).items() if callable(v) and not n.startswith("_")]
        what = f"{where}: {home} has no function {wanted!r}"
        raise ConfigError(what + suggestion(wanted, names))
    return found


def find_class(name: str, where: str) -> type[Module]:
    """The class of a module. Raises ConfigError if it is none."""
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
    """The class itself. Raises ConfigError if it is none of a module."""
    known = tuple(base for _, base in KINDS)
    if inspect.isclass(kind) and issubclass(kind, known):
        return kind
    name = getattr(kind, "__name__", str(kind))
    raise ConfigError(
        f"{where}: {name} is no forkrun.Producer, Filter or Analyzer; derive it from one"
    )
