"""From the configuration to the payloads that there are, with their intervals. Loads none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from forkrun.base.user_text import parse_by_suffix
from forkrun.conditions.iov import ALWAYS, Iov, close_intervals, overlaps
from forkrun.conditions.provider import ConditionsProvider
from forkrun.conditions.providers.registry import find_provider, make_provider
from forkrun.config.anchor import anchor_iovs, is_url
from forkrun.config.checks import Refused
from forkrun.config.conditions import (
    CONDITION_TYPES,
    ConditionConfig,
    IovConfig,
    IovIndex,
    first_of,
    iov_problems,
    last_of,
)
from forkrun.config.problems import dotted, schema_problems
from forkrun.errors import ConfigError


class PayloadSource(Struct, frozen=True):
    """How to load a payload. `where` names it in messages; `iov`: the first that it is of."""

    provider: ConditionsProvider
    file: str | None
    iov: Iov
    where: str


class ConditionSource(Struct, frozen=True):
    """A condition before it is loaded. `iovs`: in order, without overlap; `payload_of`: by
    interval, the number of its payload in `payloads`."""

    config: ConditionConfig
    iovs: tuple[Iov, ...]
    payload_of: tuple[int, ...]
    payloads: tuple[PayloadSource, ...]

    @property
    def label(self) -> str:
        return self.config.label


def make_source(config: ConditionConfig) -> ConditionSource:
    """Makes the source of a condition. Raises ConfigError with everything that is wrong with it."""
    where = f'condition "{config.label}"'
    found = find_provider(config.type, where)
    entries = _entries(config, where)
    problems: list[str] = []
    payloads: list[PayloadSource] = []
    for place, entry in entries:
        try:
            payloads += _payloads(found, config, entry, where + place)
        except ConfigError as error:
            problems += error.problems
    problems += [problem for payload in payloads for problem in _file_problems(config, payload)]
    problems += _overlaps(where, payloads)
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return _source(config, sorted(payloads, key=lambda payload: payload.iov))


def _entries(config: ConditionConfig, where: str) -> list[tuple[str, IovConfig | None]]:
    """Intervals of the configuration or the index file; one None if it knows no intervals."""
    iovs = _read_index(Path(config.index), where) if config.index else config.iovs
    of_index = f" of {config.index}" if config.index else ""
    return [(f", iovs[{n}]{of_index} ({_iov(entry)})", entry) for n, entry in enumerate(iovs)] or [
        ("", None)
    ]


def _iov(entry: IovConfig) -> Iov:
    return Iov(first_of(entry.since), last_of(entry.until))


def _read_index(path: Path, where: str) -> Sequence[IovConfig]:
    what = f"{where}: index file {path}"
    try:
        text = path.read_text(encoding="utf-8")
        raw = parse_by_suffix(path.suffix, text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{what} cannot be read: {error}") from None
    except ValueError as error:
        raise ConfigError(f"{what} is neither TOML nor (.json) JSON: {error}") from None
    if isinstance(raw, dict):
        raw = {key: anchor_iovs(value, path.parent) for key, value in raw.items()}
    return _validated(raw, what)


def _validated(raw: Any, what: str) -> Sequence[IovConfig]:
    try:
        iovs = IovIndex.checked(raw).iovs
        found = [(("iovs", *place), text) for place, text in iov_problems(raw["iovs"])]
        found += [] if iovs else [(("iovs",), "it contains no interval")]
    except Refused as error:
        found = list(schema_problems(error, IovIndex))
    if found:
        raise ConfigError([f"{what}: {dotted(place, {})}: {text}" for place, text in found])
    return iovs


def _payloads(
    found: type[ConditionsProvider] | Callable[..., Any],
    config: ConditionConfig,
    entry: IovConfig | None,
    where: str,
) -> Iterator[PayloadSource]:
    params = {**config.params, **(entry.params if entry else {})}
    file = (entry.file if entry else None) or config.file
    provider = make_provider(found, params, file is not None, where)
    own = list(provider.iovs())
    if own and entry:
        raise ConfigError(f"{where}: {config.type} has intervals of its own; leave out iovs")
    for iov in own or [_iov(entry) if entry else ALWAYS]:
        yield PayloadSource(provider, file, iov, f"{where} ({iov})" if own else where)


def _file_problems(config: ConditionConfig, payload: PayloadSource) -> Iterator[str]:
    """Problems of files that forkrun itself reads, prefetched or not."""
    if config.type not in CONDITION_TYPES:
        return
    if payload.file is None:
        yield f"{payload.where}: a condition of type {config.type} needs a file"
    elif is_url(payload.file):
        yield f"{payload.where}: conditions are read from local files; copy {payload.file}"
    elif not os.path.exists(payload.file):
        yield f"{payload.where}: file not found: {payload.file}"


def _overlaps(where: str, payloads: Sequence[PayloadSource]) -> Iterator[str]:
    """Overlaps of intervals that only a provider knows; others are checked in the configuration."""
    for one, other in overlaps([payload.iov for payload in payloads]):
        yield f"{where}: its intervals overlap: {one}; {other}"


def _source(config: ConditionConfig, payloads: Sequence[PayloadSource]) -> ConditionSource:
    """A condition's source; intervals of the same content share a payload."""
    contents = [_content(payload, n) for n, payload in enumerate(payloads)]
    firsts: dict[object, PayloadSource] = {}
    for content, payload in zip(contents, payloads, strict=True):
        firsts.setdefault(content, payload)
    numbers = {content: number for number, content in enumerate(firsts)}
    iovs = close_intervals([payload.iov for payload in payloads])
    return ConditionSource(
        config,
        tuple(iovs),
        tuple(numbers[content] for content in contents),
        tuple(firsts.values()),
    )


def _content(payload: PayloadSource, number: int) -> object:
    if payload.provider.depends_on_iov:
        return number
    attributes: Mapping[str, Any] = vars(payload.provider)
    return payload.file, repr(sorted(attributes.items()))
