"""Reads a configuration file into a JobConfig, with `--set a.b=value` in addition to it, or says
everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from forkrun.base.input_files.urls import register_given_urls
from forkrun.base.nearest import suggestion
from forkrun.base.user_text import check_value, parse_by_suffix, parse_toml, short
from forkrun.config.anchor import anchor, anchor_all
from forkrun.config.checks import Refused
from forkrun.config.datasets import makes_weight, read_fileset
from forkrun.config.model import JobConfig
from forkrun.config.problems import dotted, reference_problems, schema_problems
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


_MOST_PROBLEMS = 100
"""More than a person reads; each looks for the nearest right name among all."""


def read_config(file: Path | str, settings: Sequence[tuple[str, Any]] = ()) -> JobConfig:
    """The configuration in a TOML or JSON file, with `settings` (dotted key, value) replacing
    what it says. Raises ConfigError with every problem found."""
    path = Path(file)
    return with_settings(anchor_all(_parse(path), path.resolve().parent), str(file), settings)


def with_settings(
    raw: Mapping[str, Any], file: str, settings: Sequence[tuple[str, Any]]
) -> JobConfig:
    """The model of a raw configuration with `settings` applied. Raises ConfigError."""
    changed = with_labels(raw)
    for key, value in settings:
        apply_setting(changed, key, value)
    return validate(changed, file, [key for key, _ in settings])


def default_config(settings: Sequence[tuple[str, Any]] = ()) -> JobConfig:
    """The configuration of a job without a file, with `settings` applied. Raises ConfigError."""
    return with_settings({}, "command line", settings)


def _parse(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        raw = parse_by_suffix(path.suffix, text)
    except FileNotFoundError:
        raise ConfigError(f"{path}: configuration file not found") from None
    except OSError as error:
        what = f"cannot read the configuration: {error.strerror}"
        raise ConfigError(f"{path}: {what}") from None
    except UnicodeDecodeError as error:
        place = f"byte {error.start:,}"
        raise ConfigError(
            f"{path}: cannot read the configuration: {place} is not valid UTF-8"
        ) from None
    except ValueError as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ConfigError(f"{path}: not valid {kind}: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: a configuration is a table of sections")
    return raw


def validate(raw: Mapping[str, Any], file: str, settings: Sequence[str] = ()) -> JobConfig:
    """The model of a raw configuration. `file` names it in messages; `settings` are the keys that
    came from the command line instead."""
    register_given_urls()
    try:
        check_value(raw)
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None
    raw = with_labels(raw)
    if isinstance(raw.get("datasets"), str):
        raw["datasets"] = read_fileset(raw["datasets"])
    problems: list[tuple[tuple[int | str, ...], str]] = []
    config = None
    try:
        config = JobConfig.checked(raw)
    except Refused as error:
        found = islice(schema_problems(error), _MOST_PROBLEMS + 1)
        problems += [(_as_given(location, raw), what) for location, what in found]
    problems += islice(reference_problems(raw), _MOST_PROBLEMS + 1)
    if config is None or problems:
        lines = [_line(raw, file, settings, *p) for p in problems[:_MOST_PROBLEMS]]
        more = [f"{file}: and more; these are the first"] if len(problems) > len(lines) else []
        raise ConfigError([*lines, *more])
    return config


def _as_given(location: tuple[int | str, ...], raw: Mapping[str, Any]) -> tuple[int | str, ...]:
    """The place in the configuration as it was given, without the module that datasets add."""
    match location:
        case ("modules", int(index), *rest) if index > 0 and makes_weight(raw):
            return ("modules", index - 1, *rest)
    return location


def _line(
    raw: Mapping[str, Any],
    file: str,
    settings: Sequence[str],
    location: tuple[int | str, ...],
    what: str,
) -> str:
    key = ".".join(str(part) for part in location)
    origin = "command line" if any(_covers(setting, key) for setting in settings) else file
    return f"{origin}: {dotted(location, raw)}: {what}" if location else f"{origin}: {what}"


def _covers(setting: str, key: str) -> bool:
    return key == setting or key.startswith(setting + ".")


def with_labels(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration whose modules have labels where these follow from their types. What is of
    another form stays for others to refuse."""
    modules = raw.get("modules")
    if not isinstance(modules, list | tuple):
        return dict(raw)
    names = [None if _label_of(module) else _name_of(module) for module in modules]
    taken = Counter([*names, *map(_label_of, modules)])
    labelled = [
        {"label": name, **module} if name and taken[name] == 1 else module
        for name, module in zip(names, modules, strict=True)
    ]
    return {**raw, "modules": labelled}


def _label_of(module: Any) -> Any:
    label = module.get("label") if isinstance(module, Mapping) else None
    return label if isinstance(label, str) else None


def _name_of(module: Any) -> str | None:
    """The class or function; None of an expression, which has no name."""
    kind = module.get("type") if isinstance(module, Mapping) else None
    if not isinstance(kind, str) or ":" not in kind or kind.startswith("expression:"):
        return None
    return kind.rpartition(":")[2] or None
