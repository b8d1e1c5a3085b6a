"""[[conditions]] and [prefetch], and the intervals in which conditions are valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from forkrun.config.checks import Before, Rule
from forkrun.config.section import Label, Section, Texts

LumiId = tuple[int, int]  # run, lumi
LAST = (1 << 32) - 1
CONDITION_TYPES = (
    "npz", "npy", "json", "toml", "pickle", "parquet", "arrow", "root", "correctionlib", "onnx"
)  # fmt: skip


def _as_text(value: object) -> object:
    return str(value) if type(value) is int else value


ConditionType = Annotated[str, Rule(pattern=rf"^({'|'.join(CONDITION_TYPES)}|python:[^:]+:\w+)$")]
Bound = Annotated[str, Before(_as_text), Rule(pattern=r"^\d{1,10}(:\d{1,10})?$")]
ElementType = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64"
]  # fmt: skip
Dimension = Annotated[int, Rule(is_strict=True, ge=-1)]


class ArrayConfig(Section):
    """Requirements on an array."""

    dtype: ElementType | None = None
    """Element type that the array must have."""
    shape: tuple[Dimension, ...] | None = None
    """Shape that the array must have; -1: any number."""


class IovConfig(Section):
    """[[conditions.iovs]]: the payload of one interval of validity."""

    since: Bound
    """First run (`273150`) or `"RUN:LUMI"` of the interval."""
    until: Bound | None = None
    """Last run or `"RUN:LUMI"`, included; not given: until the next interval begins."""
    file: str | None = None
    """File to load."""
    params: dict[str, Any] = {}
    """Parameters in addition to those of the condition."""


class IovIndex(Section):
    """A file of intervals (`index`)."""

    iovs: tuple[IovConfig, ...]
    """The intervals."""


class ConditionConfig(ArrayConfig):
    """[[conditions]]: loaded in the parent, shared by all children."""

    label: Label
    """Name of the condition."""
    type: ConditionType
    """`"npy"`, `"npz"`, `"json"`, `"toml"`, `"pickle"`, `"root"`, `"correctionlib"`, `"parquet"`,
    `"arrow"`, `"onnx"`, `"python:FILE.py:NAME"` or `"python:PACKAGE.MODULE:NAME"`
    (docs/conditions.md)."""
    file: str | None = None
    """File to load."""
    params: dict[str, Any] = {}
    """Parameters of the type; keywords of your own function or class."""
    iovs: tuple[IovConfig, ...] = ()
    """Intervals of validity; none: always valid."""
    index: str | None = None
    """Instead of `file` and `iovs`: a TOML or JSON file with `iovs`."""
    arrays: dict[str, ArrayConfig] = {}
    """Element types and shapes by name, for conditions with several arrays: `{ NAME = { dtype = …,
    shape = … } }`."""


class PrefetchConfig(Section):
    """[prefetch]: what is loaded before the fork."""

    exclude: Texts = ()
    """Patterns of labels of conditions that each child loads when it first needs them."""


def first_of(bound: str) -> LumiId:
    """The first lumi of `since`: of a run its beginning."""
    run, _, lumi = bound.partition(":")
    return int(run), int(lumi or 0)


def last_of(bound: str | None) -> LumiId:
    """The last lumi of `until`: of a run its end."""
    if bound is None:
        return LAST, LAST
    run, _, lumi = bound.partition(":")
    return int(run), int(lumi or LAST)


Problem = tuple[tuple[int | str, ...], str]


def iov_problems(iovs: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Intervals that end before they begin, or share a lumi. Takes what has not been validated;
    bounds of a wrong form are left to the model."""
    known = [(n, bounds) for n, iov in enumerate(iovs) if (bounds := _bounds(iov))]
    for number, (since, until) in known:
        if until is not None and last_of(until) < first_of(since):
            yield (number, "until"), f"ends ({until}) before it begins ({since})"
    ordered = sorted(known, key=lambda item: first_of(item[1][0]))
    longest = None  # of those with an end of their own
    for place, (number, (since, until)) in enumerate(ordered):
        before, (begin, _) = ordered[place - 1]
        if place and first_of(begin) == first_of(since):
            what = f"iovs[{before}] begins at {begin}, too; a lumi lies in one interval only"
            yield (number, "since"), what
        elif longest and first_of(since) <= last_of(longest[1][1]):
            yield (number, "since"), _overlap(since, *longest)
        if until and (longest is None or last_of(until) > last_of(longest[1][1])):
            longest = number, (since, until)


def _overlap(begin: str, number: int, bounds: tuple[str, str]) -> str:
    return (
        f"begins at {begin}, before the end of iovs[{number}] ({bounds[0]} until {bounds[1]}); a"
        " lumi lies in one interval only: end that one earlier, or leave out its `until`"
    )


def _bounds(iov: Mapping[str, Any]) -> tuple[str, str | None] | None:
    since, until = _as_text(iov.get("since")), _as_text(iov.get("until"))
    if not _is_bound(since) or not (until is None or _is_bound(until)):
        return None
    return str(since), None if until is None else str(until)


def _is_bound(value: object) -> bool:
    parts = value.split(":") if isinstance(value, str) else []
    return len(parts) in (1, 2) and all(part.isdecimal() for part in parts)


def condition_problems(condition: Mapping[str, Any]) -> Iterator[Problem]:
    """Files that are missing or named twice over, and wrong intervals, of one [[conditions]]."""
    kind = str(condition.get("type", ""))
    iovs = condition.get("iovs", [])
    iovs = [iov for iov in iovs if isinstance(iov, Mapping)] if isinstance(iovs, list) else []
    if condition.get("index"):
        for key in ("file", "iovs"):
            if condition.get(key):
                yield (key,), f"the index file has the files and intervals; leave out {key}"
        return
    needs_file = kind in CONDITION_TYPES and not condition.get("file")
    if needs_file and not iovs:
        yield ("file",), f"a condition of type {kind} needs a file"
    for number, iov in enumerate(iovs):
        if needs_file and not iov.get("file"):
            yield ("iovs", number, "file"), f"a condition of type {kind} needs a file"
    for location, what in iov_problems(iovs):
        yield ("iovs", *location), what
