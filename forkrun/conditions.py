"""Conditions: calibrations, corrections, models; loaded once in the parent, shared by all children."""

from __future__ import annotations

import importlib.util
import json
import pickle
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from forkrun.config import ConditionConfig
from forkrun.errors import ConfigError, ForkrunError


def load_conditions(configs: Sequence[ConditionConfig]) -> dict[str, Any]:
    """Value of each condition by label; arrays in it are read-only. Raises ConfigError with every
    condition that cannot be loaded."""
    conditions, problems = {}, []
    for config in configs:
        try:
            conditions[config.label] = read_only(_load(config))
        except ForkrunError as error:
            problems.append(f'conditions "{config.label}": {error}')
        except Exception as error:
            problems.append(_explain(config, error))
    if problems:
        raise ConfigError(problems)
    return conditions


def _load(config: ConditionConfig) -> Any:
    if config.type.startswith("python:"):
        return _call(config)
    return _LOADERS[config.type](Path(str(config.file)))


def _load_npz(file: Path) -> dict[str, Any]:
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


_LOADERS: dict[str, Callable[[Path], Any]] = {
    "npz": _load_npz,
    "npy": lambda file: np.load(file, allow_pickle=False),
    "json": lambda file: json.loads(file.read_text(encoding="utf-8")),
    "toml": lambda file: tomllib.loads(file.read_text(encoding="utf-8")),
    "pickle": lambda file: pickle.loads(file.read_bytes()),
}


def _call(config: ConditionConfig) -> Any:
    """`python:FILE.py:FUNCTION` or `python:PACKAGE.MODULE:FUNCTION`, called with `file` if given."""
    _, place, name = config.type.split(":")
    function = getattr(_import(place), name, None)
    if not callable(function):
        raise ConfigError(f'{place} has no function "{name}"')
    return function(config.file) if config.file else function()


def _import(place: str) -> ModuleType:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location(Path(place).stem, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _explain(config: ConditionConfig, error: Exception) -> str:
    what = f'conditions "{config.label}": '
    if isinstance(error, FileNotFoundError):
        return f"{what}there is no file {error.filename}"
    if config.type.startswith("python:"):
        return f"{what}{config.type} raised {type(error).__name__}: {error}"
    kind = type(error).__name__
    return f"{what}{config.file} cannot be read as {config.type}: {kind}: {error}"


def read_only(value: Any) -> Any:
    """The same value, with every NumPy array in its dicts, lists and tuples made read-only: children
    that wrote to one would each change a copy of their own."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, dict):
        for item in value.values():
            read_only(item)
    elif isinstance(value, list | tuple):
        for item in value:
            read_only(item)
    return value
