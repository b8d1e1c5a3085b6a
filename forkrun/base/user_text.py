"""JSON and TOML written by people: any text gives a value that is safe to use, or a ValueError with
the problem and its place."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forkrun.base.quantities import plural

Location = tuple[int | str, ...]

MOST_NESTED = 64
"""Maximum nesting of tables and lists: far more than in any configuration, far less than the limit
of Python's functions."""
_MOST_DIGITS = 4300
"""Python refuses longer numbers: parsing time grows with the square."""


def parse_json(text: str) -> Any:
    """Parses JSON. Raises ValueError, also for NaN, Infinity, numbers beyond the range of floating
    point, and repeated keys."""
    try:
        value = json.loads(text, object_pairs_hook=unique_keys)
    except (json.JSONDecodeError, DoubleKeyError):
        raise
    except (RecursionError, ValueError):
        raise ValueError(_place_of_excess(text)) from None
    check_value(value, finite=True)
    return value


class DoubleKeyError(ValueError):
    """A repeated key in one object of JSON: readers take the last, people mean both."""


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, as `object_pairs_hook`. Raises DoubleKeyError."""
    table = dict(pairs)
    if len(table) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, n in counts.items() if n > 1)
        raise DoubleKeyError(
            f'the key "{short_key(key)}" occurs twice in one object; only one can be meant: remove'
            " the other"
        )
    return table


def parse_toml(text: str) -> dict[str, Any]:
    """Parses TOML. Raises ValueError."""
    import tomllib  # most commands do not need it

    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (RecursionError, ValueError):
        raise ValueError(_place_of_excess(text)) from None
    check_value(value)
    return value


def parse_by_suffix(suffix: str, text: str) -> Any:
    """Parses JSON for `.json`, else TOML. Raises ValueError."""
    return parse_json(text) if suffix == ".json" else parse_toml(text)


def check_value(value: Any, *, finite: bool = False) -> None:
    """Raises ValueError for too deep nesting, for text that can neither name a file nor be written
    to one, for bytes, and, if `finite`, for infinite numbers and NaN."""
    if _is_sound(value):
        return
    for location, part in _walk(value):
        if len(location) > MOST_NESTED:
            place = _dotted(location[:3])
            raise ValueError(f"{place}…: nested more than {MOST_NESTED} times; make it flatter")
        if isinstance(part, str) and (what := text_problem(part)):
            raise ValueError(f"{_dotted(location)}: {what}")
        if isinstance(part, bytes):
            raise ValueError(f"{_dotted(location)}: {short(part)} is bytes, not a text: decode it")
        if finite and isinstance(part, float) and not math.isfinite(part):
            raise ValueError(f"{_dotted(location)}: {part} is not a JSON number")


def _is_sound(value: Any) -> bool:
    """Quick check that the value has no problem, without places: a job may have ten thousand
    modules. False: needs a closer look."""
    texts: list[str] = []
    level = [value]
    for _ in range(MOST_NESTED):
        below: list[Any] = []
        for part in level:
            match part:
                case str():
                    texts.append(part)
                case dict():
                    below += part.keys()
                    below += part.values()
                case list() | tuple():
                    below += part
                case float() if not math.isfinite(part):
                    return False
                case Mapping() | bytes():
                    return False
        if not below:
            return text_problem("".join(texts)) is None
        level = below
    return False


def text_problem(text: str) -> str | None:
    """Why a text can neither name a file nor be written to one; None if it can."""
    if "\0" in text:
        return f"{short(text)} holds a NUL character; no name of a file can"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{short(text)} holds bytes that are not valid UTF-8; rename the file, or link to it"
    return None


def printable(text: str) -> str:
    """Text without control characters: names of files may contain escape sequences."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else repr(c)[1:-1] for c in text)


def short(value: object, most: int = 100) -> str:
    """`repr` of a value, shortened."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _walk(value: Any) -> Iterator[tuple[Location, Any]]:
    """All parts with their places, including keys, without recursion; stops one level beyond the
    maximum."""
    rest: list[tuple[Location, Any]] = [((), value)]
    while rest:
        location, part = rest.pop()
        yield location, part
        if len(location) > MOST_NESTED:
            continue
        if isinstance(part, Mapping):
            rest += [((*location, "key"), key) for key in part if isinstance(key, str)]
            rest += [((*location, short_key(key)), item) for key, item in part.items()]
        elif isinstance(part, list | tuple):
            rest += [((*location, number), item) for number, item in enumerate(part)]


def short_key(key: object) -> str:
    """A key shortened for messages."""
    text = str(key)
    return text if len(text) <= 40 else text[:39] + "…"


def _dotted(location: Location) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "the whole value"


def _place_of_excess(text: str) -> str:
    """Place of a number with too many digits, or of values nested too deeply."""
    if match := re.search(rf"[0-9_]{{{_MOST_DIGITS},}}", text):
        line = text.count("\n", 0, match.start()) + 1
        return f"line {line}: a number of {plural(len(match[0]), 'digit')}"
    depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{\]}\n]', text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MOST_NESTED:
            line = text.count("\n", 0, match.start()) + 1
            return f"line {line}: nested more than {MOST_NESTED} times; make it flatter"
    return "nested too deeply"


def leaves(value: Any) -> Iterator[Any]:
    """Innermost values in dicts, lists and tuples, in order; the value itself otherwise."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value
