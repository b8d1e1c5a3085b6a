"""What a class of modules declares, in the class or in `__init__`: each is checked, as another kind
would be passed over, or mean something else."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from forkrun.base.arguments import check_flags, check_text, refused
from forkrun.errors import ConfigError
from forkrun.modules.base import Module, Producer
from forkrun.modules.python_module import variations_of


def check_declarations(module: Module, where: str) -> None:
    """Raises ConfigError, which begins with `where`."""
    if module.consumes is not None:  # None: found out with the first events
        check_names(where, "consumes", module.consumes)
    check_text(where, "`random_name`", module.random_name)
    _check_one_lumi(where, module.one_lumi)
    if isinstance(module, Producer):
        _check_producer(module, where)


def check_names(where: str, name: str, given: Any) -> None:
    """Names of columns or conditions. Raises ConfigError."""
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
