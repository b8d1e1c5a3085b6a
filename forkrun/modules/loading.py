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
    kind = _find_class(name, where)
    arguments = bind_parameters(kind, params, where)
    module = kind.__new__(kind)
    module.conditions = ModuleConditions(conditions, _declared_conditions(kind, conditions, where))
    try:
        kind.__init__(module, **arguments)
    except Exception as error:
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
    produces = getattr(module, "produces", {})
    if not isinstance(produces, Mapping):
        raise ConfigError(f'{where}: `produces` is a dict like {{"Dimuon_mass": "float32"}}')


def _find_class(name: str, where: str) -> type[Module]:
    home, _, class_name = name.rpartition(":")
    source = import_home(home, where)
    kind = getattr(source, class_name, None)
    if kind is None:
        classes = [n for n, v in vars(source).items() if inspect.isclass(v)]
        hint = suggestion(class_name, classes)
        raise ConfigError(f"{where}: {home} has no class {class_name!r}{hint}")
    known = tuple(base for _, base in KINDS)
    if not (inspect.isclass(kind) and issubclass(kind, known)):
        raise ConfigError(
            f"{where}: {class_name} is no forkrun.Producer, Filter or Analyzer; derive it from one"
        )
    return kind
