"""Checks of values by their annotations: each annotation becomes a function that returns the value,
converted, or raises Refused with everything that is wrong with it."""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from numbers import Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal

from msgspec import Struct

from forkrun.base.quantities import plural

Place = tuple[int | str, ...]
Check = Callable[[Any], Any]


class Problem(Struct, frozen=True):
    """A problem of the value `given` at a place. `kind`: "unknown", "missing", "form" of a
    text, "choice" or ""; `choices`: permitted words."""

    place: Place
    text: str
    given: Any = None
    kind: str = ""
    choices: Sequence[str] = ()

    def within(self, part: int | str) -> Problem:
        """The problem of a value that contains this one."""
        return Problem((part, *self.place), self.text, self.given, self.kind, self.choices)


class Refused(ValueError):  # noqa: N818
    """A value with problems."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{'.'.join(map(str, p.place))}: {p.text}" for p in problems))


class Rule(Struct, frozen=True):
    """A part of an annotation: bounds of a number, the form of a text (`pattern`)."""

    ge: float | None = None
    gt: float | None = None
    lt: float | None = None
    le: float | None = None
    pattern: str = ""
    is_finite: bool = False
    is_strict: bool = False
    """Whether an integer may not be written as a float, or as a text."""
    min_length: int = 0


class Before(Struct, frozen=True):
    """A part of an annotation: converts a value before its other checks. Raises ValueError."""

    convert: Check


class After(Struct, frozen=True):
    """A part of an annotation: converts a value after its other checks. Raises ValueError."""

    convert: Check


def check_of(hint: Any) -> Check:
    """The check of an annotation. A class with `checked` checks its values itself."""
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return _check_of_class(hint)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _annotated(inner[0], inner[1:])
    if origin is Literal:
        return _choice({word: word for word in inner}, "literal")
    if origin in (typing.Union, UnionType):
        return _union(inner)
    if origin is tuple:
        return _tuple(inner)
    if origin is dict:
        return _table(*map(check_of, inner))
    return _unchecked


def _check_of_class(kind: type) -> Check:
    if hasattr(kind, "checked"):
        return typing.cast("Check", kind.checked)
    if issubclass(kind, Enum):
        return _choice({word.value: word for word in kind}, "enum")
    return {str: _text, bool: _flag, int: _loose_integer, float: _number}.get(kind, _unchecked)


def _unchecked(value: Any) -> Any:
    return value


def _refused(text: str, given: Any) -> Refused:
    return Refused(Problem((), text, given))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _refused("should be a valid string", value)
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refused("should be a valid boolean", value)
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused("should be a valid integer", value)
    return value


def _loose_integer(value: Any) -> int:
    """A float with an integral value counts."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _integer(value)


def _number(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise _refused("should be a valid number", value)
    return float(value)


def _choice(meant: Mapping[Any, Any], kind: str) -> Check:
    words = [str(word) for word in meant]
    *first, last = [repr(word) for word in words]
    text = f"should be {', '.join(first)} or {last}" if first else f"should be {last}"

    def check(value: Any) -> Any:
        if isinstance(value, str) and value in meant:
            return meant[value]
        raise Refused(Problem((), text, value, kind, words))

    return check


def _collected(checks: Iterator[tuple[int | str, Check, Any]]) -> tuple[list[Any], list[Problem]]:
    """Values after their checks, and all problems."""
    values, problems = [], []
    for part, check, value in checks:
        try:
            values.append(check(value))
        except Refused as error:
            problems += [problem.within(part) for problem in error.problems]
    return values, problems


def _tuple(inner: Sequence[Any]) -> Check:
    checks = [check_of(each) for each in inner if each is not Ellipsis]
    n_items = None if inner[-1] is Ellipsis else len(checks)

    def check(values: Any) -> tuple[Any, ...]:
        if not isinstance(values, list | tuple | set | frozenset):
            raise _refused("should be a valid tuple", values)
        if n_items is not None and len(values) != n_items:
            raise _refused(f"should have {plural(n_items, 'item')}", values)
        if checks[0] is _text and all(type(value) is str for value in values):
            return tuple(values)
        each = checks if n_items else checks * len(values)
        done, problems = _collected(
            (place, one, value) for place, (one, value) in enumerate(zip(each, values, strict=True))
        )
        if problems:
            raise Refused(*problems)
        return tuple(done)

    return check


def _table(of_key: Check, of_value: Check) -> Check:
    def check(table: Any) -> dict[Any, Any]:
        if not isinstance(table, Mapping):
            raise _refused("should be a valid dictionary", table)
        keys, wrong_keys = _collected(("[key]", of_key, key) for key in table)
        values, wrong = _collected((str(key), of_value, value) for key, value in table.items())
        if wrong_keys or wrong:
            raise Refused(*(each.within(str(each.given)) for each in wrong_keys), *wrong)
        return dict(zip(keys, values, strict=True))

    return check


def _union(inner: Sequence[Any]) -> Check:
    checks = [check_of(each) for each in inner if each is not NoneType]
    is_optional = NoneType in inner

    def check(value: Any) -> Any:
        if is_optional and value is None:
            return None
        errors = []
        for each in checks:
            try:
                return each(value)
            except Refused as error:
                errors.append(error)
        raise _of_union(errors)

    return check


def _of_union(errors: Sequence[Refused]) -> Refused:
    """The error of the one member that has the form of the value, else one with all that is
    permitted."""
    deeper = [error for error in errors if any(each.place for each in error.problems)]
    if len(errors) == 1 or deeper:
        return (deeper or errors)[0]
    first = errors[0].problems[0]
    texts = dict.fromkeys(problem.text for error in errors for problem in error.problems)
    begin, *rest = texts
    text = " or ".join((begin, *(text.removeprefix("should be ") for text in rest)))
    return Refused(Problem((), text, first.given, first.kind, first.choices))


def _annotated(hint: Any, parts: Sequence[Any]) -> Check:
    check = check_of(hint)
    if check is _loose_integer and any(isinstance(p, Rule) and p.is_strict for p in parts):
        check = _integer
    for part in parts:
        if isinstance(part, Rule):
            check = _ruled(check, part)
        elif isinstance(part, After):
            check = _after(check, part.convert)
        elif isinstance(part, Before):
            check = _before(check, part.convert)
    return check


def _before(check: Check, convert: Check) -> Check:
    return lambda value: check(_converted(convert, value, value))


def _after(check: Check, convert: Check) -> Check:
    return lambda value: _converted(convert, check(value), value)


def _converted(convert: Check, value: Any, given: Any) -> Any:
    try:
        return convert(value)
    except ValueError as error:
        raise _refused(str(error), given) from None


def _ruled(check: Check, rule: Rule) -> Check:
    # "$" of Python is also before a last end of a line.
    pattern = re.compile(rule.pattern.replace("$", r"\Z")) if rule.pattern else None

    def ruled(given: Any) -> Any:
        value = check(given)
        if value is None:
            return None
        if pattern is not None and not pattern.search(value):
            raise Refused(Problem((), "", given, "form"))
        if rule.is_finite and not math.isfinite(value):
            raise _refused("should be a finite number", given)
        if rule.ge is not None and not value >= rule.ge:
            raise _refused(f"should be greater than or equal to {rule.ge}", given)
        if rule.gt is not None and not value > rule.gt:
            raise _refused(f"should be greater than {rule.gt}", given)
        if rule.lt is not None and not value < rule.lt:
            raise _refused(f"should be less than {rule.lt}", given)
        if rule.le is not None and not value <= rule.le:
            raise _refused(f"should be less than or equal to {rule.le}", given)
        if rule.min_length and len(value) < rule.min_length:
            raise _refused(f"should have at least {rule.min_length} item", given)
        return value

    return ruled
