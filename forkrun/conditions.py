"""Conditions: calibrations, corrections, models. Loaded once, in the parent; shared by children."""

from __future__ import annotations

import json
import pickle
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forkrun.config import ConditionConfig
from forkrun.config.nearest import suggestion
from forkrun.errors import ConfigError
from forkrun.preparation_steps import step


def load_conditions(configs: Sequence[ConditionConfig]) -> dict[str, Any]:
    """Value of each condition by label; arrays in it are read-only. Raises ConfigError with every
    condition that cannot be loaded."""
    conditions: dict[str, Any] = {}
    problems: list[str] = []
    for config in configs:
        try:
            with step(f'condition "{config.label}" was loaded'):
                conditions[config.label] = read_only(_load(config))
        except ConfigError as error:
            problems += error.problems
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
    """Of `python:FILE.py:FUNCTION` or `python:PACKAGE.MODULE:FUNCTION`; gets `file` if given."""
    from forkrun.module_loading import import_home  # slow to load, and seldom needed here

    _, home, name = config.type.split(":")
    source = import_home(home, f'condition "{config.label}"')
    function = getattr(source, name, None)
    if not callable(function):
        problem = f'condition "{config.label}": {home} has no function "{name}"'
        raise ConfigError(problem + suggestion(name, vars(source)))
    return function(config.file) if config.file else function()


def _explain(config: ConditionConfig, error: Exception) -> str:
    what = f'condition "{config.label}": '
    if isinstance(error, FileNotFoundError):
        return f"{what}there is no file {error.filename}"
    if config.type.startswith("python:"):
        return f"{what}{config.type} raised {type(error).__name__}: {error}"
    kind = type(error).__name__
    return f"{what}{config.file} cannot be read as {config.type}: {kind}: {error}"


def read_only(value: Any) -> Any:
    """The same value, with every NumPy array in its dicts, lists and tuples made read-only: a child
    that wrote to one would change a copy of its own."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, dict):
        for item in value.values():
            read_only(item)
    elif isinstance(value, list | tuple):
        for item in value:
            read_only(item)
    return value
