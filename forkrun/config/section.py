"""Types of keys, and the base class of all sections of a configuration."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, time
from enum import Enum
from functools import cached_property
from math import isfinite
from os import PathLike
from typing import Annotated, Any, ClassVar, Self

from msgspec import Struct

from forkrun.base.arguments import LABEL
from forkrun.base.quantities import parse_duration, parse_size
from forkrun.config.checks import After, Before, Check, Problem, Refused, Rule, check_of


def one_or_many(value: object) -> object:
    """A list, of which one text may stand for a list of one."""
    return [value] if isinstance(value, str) else value


def share_or_size(value: object) -> object:
    """`"5%"` stays; sizes become bytes. Raises ValueError."""
    if isinstance(value, str) and re.fullmatch(r"(100|[1-9]?\d)%", value):
        return value
    size = parse_size(value)
    if not isinstance(size, int) or size < 0:
        raise ValueError('a share of the free space, "5%", or a size, "20 GB"')
    return size


class AtMost(Struct, frozen=True):
    """Refuses a number that makes no sense, and says why."""

    most: float
    why: str

    def __call__(self, value: float) -> float:
        if value > self.most:
            raise ValueError(f"at most {self.most:,}: {self.why}")
        return value


def at_most(most: float, why: str) -> After:
    """An upper bound with its reason."""
    return After(AtMost(most, why))


_ENTRIES = at_most((1 << 63) - 1, "entries of files are counted in 63 bits")
Count = Annotated[int, Rule(is_strict=True, ge=0), _ENTRIES]
Positive = Annotated[int, Rule(is_strict=True, ge=1), _ENTRIES]
_SIZE = at_most((1 << 63) - 1, "addresses have 63 bits")
_TIME = at_most(1_000_000_000, "that is 31 years; leave the limit out")
Size = Annotated[int, Before(parse_size), Rule(ge=1), _SIZE]
ShareOrSize = Annotated[int | str, Before(share_or_size)]
Duration = Annotated[float, Before(parse_duration), Rule(ge=0, is_finite=True), _TIME]
Number = float
"""Also an integer, but neither true nor a text."""
Flag = bool
Texts = Annotated[tuple[str, ...], Before(one_or_many)]
Label = Annotated[str, Rule(pattern=rf"^{LABEL}$")]


class Key:
    """A key of a section: its annotation, as text, and its default."""

    def __init__(self, home: type, text: str, default: Any) -> None:
        self._home, self._text, self.default = home, text, default

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    @cached_property
    def annotation(self) -> Any:
        return eval(self._text, vars(sys.modules[self._home.__module__]))

    @cached_property
    def check(self) -> Check:
        return check_of(self.annotation)


REQUIRED = object()
"""In the place of a default."""


def whole(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Marks a method of a section that checks all of it, when its keys are good. Raises
    ValueError."""
    check.__dict__["is_of_whole"] = True
    return check


class Section:
    """Base of all sections: frozen, and unknown keys are errors. An object has the keys that were
    given; the class has the defaults."""

    known_keys: ClassVar[dict[str, Key]] = {}
    numbers_as_texts: ClassVar[tuple[str, ...]] = ()
    """Keys whose infinite numbers are texts in JSON."""
    _of_whole: ClassVar[tuple[Callable[[Any], None], ...]] = ()

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        cls.known_keys = cls.known_keys | {
            name: Key(cls, text, own.get(name, REQUIRED))
            for name, text in own.get("__annotations__", {}).items()
            if not text.startswith("ClassVar")
        }
        marked = [each for each in own.values() if getattr(each, "is_of_whole", False)]
        cls._of_whole = (*cls._of_whole, *marked)

    def __init__(self, **given: Any) -> None:
        """Raises Refused with every problem."""
        self._fill(given)

    @classmethod
    def checked(cls, given: Any) -> Self:
        """The section of a table. Raises Refused with every problem."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            text = f"should be a valid dictionary or instance of {cls.__name__}"
            raise Refused(Problem((), text, given))
        made = object.__new__(cls)
        made._fill(given)
        return made

    def _fill(self, given: Mapping[str, Any]) -> None:
        try:
            vars(self).update(self._checked(self.completed(given)))
            for check in self._of_whole:
                check(self)
        except Refused:
            raise
        except ValueError as error:
            raise Refused(Problem((), str(error), given)) from None

    @classmethod
    def completed(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The table with what follows from it, before it is checked. Raises ValueError."""
        return given

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        problems: list[Problem] = []
        for name, key in self.known_keys.items():
            if name not in given:
                if key.is_required:
                    problems.append(Problem((name,), "this key is required", given, "missing"))
                continue
            try:
                values[name] = key.check(given[name])
            except Refused as error:
                problems += [problem.within(name) for problem in error.problems]
        problems += [
            Problem((name,), "unknown key", given[name], "unknown")
            for name in given
            if name not in self.known_keys
        ]
        if problems:
            raise Refused(*problems)
        return values

    @property
    def given_keys(self) -> set[str]:
        """Names of the keys that were given."""
        return {*vars(self)}

    def replaced(self, changes: Mapping[str, Any]) -> Self:
        """The same with other values, which are not checked."""
        made = object.__new__(type(self))
        vars(made).update({**vars(self), **changes})
        return made

    def as_json(self, without: Collection[str] = ()) -> dict[str, Any]:
        """JSON-ready values of all keys, `without` some: also of sections, and of each entry of a
        list of tables ("modules.place")."""
        dumped = {}
        for name in self.known_keys:
            if name not in without:
                begin = f"{name}."
                inner = {key[len(begin) :] for key in without if key.startswith(begin)}
                value = _plain(getattr(self, name), inner)
                dumped[name] = _finite(value) if name in self.numbers_as_texts else value
        return dumped

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self.known_keys)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self)})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError(f"{type(self).__name__}.{name}: a configuration is frozen")


def _plain(value: Any, without: Collection[str]) -> Any:
    """JSON-ready; numbers stay as they are."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    match value:
        case Section():
            return value.as_json(without)
        case Enum():
            return value.value
        case list() | tuple() | set() | frozenset():
            return [_plain(each, without) for each in value]
        case dict():
            return {str(key): _plain(each, without) for key, each in value.items()}
        case PathLike():
            return str(value)
        case date() | time():
            return value.isoformat()
    return value


def _finite(value: Any) -> Any:
    match value:
        case list():
            return [_finite(each) for each in value]
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case float() if not isfinite(value):
            return str(value)
    return value
