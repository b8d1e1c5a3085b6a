"""Profiles of sites: defaults of [batch] in a file of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forkrun.base.nearest import suggestion
from forkrun.base.user_text import parse_toml
from forkrun.config import BatchConfig, JobConfig
from forkrun.config.anchor import user_folder
from forkrun.config.checks import Refused
from forkrun.config.problems import schema_problems
from forkrun.errors import ConfigError

_DEFAULT = "default"


def profiles_file() -> Path:
    """`forkrun/batch.toml` in $XDG_CONFIG_HOME, else in ~/.config."""
    home = user_folder("XDG_CONFIG_HOME", ".config") or Path("/")
    return home / "forkrun" / "batch.toml"


def with_profile(config: JobConfig, name: str | None) -> JobConfig:
    """The configuration with a profile's values as defaults of its own [batch]; without a name, the
    profile `default`, if it exists. Raises ConfigError."""
    own = {key: getattr(config.batch, key) for key in config.batch.given_keys}
    return config.replaced({"batch": BatchConfig.checked({**_values(name), **own})})


def _values(name: str | None) -> dict[str, Any]:
    place = profiles_file()
    try:
        profiles = parse_toml(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        profiles = {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{place}: cannot be read: {error}") from None
    if name is None:
        name = _DEFAULT
        profiles.setdefault(name, {})
    if not isinstance(profiles.get(name), dict):
        known = suggestion(name, profiles)
        raise ConfigError(f'{place}: unknown profile "{name}"{known}')
    values: dict[str, Any] = profiles[name]
    _check(place, name, values)
    return values


def _check(place: Path, name: str, values: dict[str, Any]) -> None:
    try:
        BatchConfig.checked(values)
    except Refused as error:
        lines = [
            f"{place}: [{name}] {'.'.join(map(str, location))}: {what}"
            for location, what in schema_problems(error, BatchConfig)
        ]
        raise ConfigError(lines) from None
