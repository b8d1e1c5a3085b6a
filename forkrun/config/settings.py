"""`--set a.b=value`: single values given in addition to the configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forkrun.base.nearest import suggestion
from forkrun.base.user_text import parse_toml, short
from forkrun.config.anchor import anchor
from forkrun.errors import ConfigError


def parse_setting(text: str) -> tuple[str, Any]:
    """Key and value of `a.b=value`. The value is in TOML syntax; a bare word is a string."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {text}: write KEY=VALUE, for example --set forking.children=8")
    return key.strip(), _parse_value(text, value.strip())


def _parse_value(text: str, value: str) -> Any:
    try:
        return parse_toml(f"value = {value}")["value"]
    except ValueError as error:
        if value and not set(value) & set("\"'[]{}\n") and not value.isdecimal():
            return value
        what = f"--set {short(text)}: the value is not in TOML syntax: {error}"
        raise ConfigError(what) from None


def apply_setting(raw: dict[str, Any], key: str, value: Any) -> None:
    """Sets one value in place. Members of a list are named by number or label:
    `modules.dimuon.params.pt_min`. Paths are relative to the current directory."""
    *parents, last = key.split(".")
    place: Any = raw
    for depth, part in enumerate(parents):
        place = _step(place, part, ".".join(parents[: depth + 1]))
    if not isinstance(place, dict):
        raise ConfigError(f"--set {key}: {'.'.join(parents)} has no keys")
    place[last] = anchor(parents[0] if parents else "", last, value, Path.cwd())


def _step(place: Any, part: str, key: str) -> Any:
    if isinstance(place, list):
        labels = {str(item.get("label")): item for item in place if isinstance(item, dict)}
        if part in labels:
            return labels[part]
        if part.isdigit() and int(part) < len(place):
            return place[int(part)]
        raise ConfigError(f'--set {key}: nothing has the label "{part}"' + suggestion(part, labels))
    if not isinstance(place, dict):
        raise ConfigError(f"--set {key}: this is a value and has no keys")
    return place.setdefault(part, {})
