"""Random expressions, and a plain interpreter of them: of one event, in Python's numbers, lists and
None, with nothing of forkrun, NumPy or Awkward."""

from __future__ import annotations

import math
import operator
import random
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Event = Mapping[str, Any]
Draw = Callable[[int, "Shape | None"], "Node"]
Value = Any  # bool, int, float or None; a list of such


class Undrawn(Exception):  # noqa: N818 - no error: the expression is not one to compare
    """A number goes beyond what all types of numbers hold exactly, or an integer is divided by
    zero."""


@dataclass(frozen=True)
class Shape:
    """Lists of the same lengths: columns of a prefix, and what stands in brackets after them.
    `may_lack`: whether an event may have None instead of a list."""

    prefix: str
    brackets: str = ""
    choose: Callable[[Event, Value], Value] = lambda _, values: values
    may_lack: bool = False


@dataclass(frozen=True)
class Node:
    """An expression. `rank`: how tightly its operator binds; `kind`: b, i or f; `shape`: of lists,
    None of one value per event."""

    text: str
    rank: int
    kind: str
    shape: Shape | None
    value: Callable[[Event], Value]

    def within(self, rank: int) -> str:
        return self.text if self.rank > rank else f"({self.text})"


COLUMNS = {
    "": {"i": "i", "c": "i", "x": "f", "y": "f", "b": "b", "z": "f"},
    "Jet_": {"pt": "f", "n": "i", "tag": "b", "eta": "f"},
    "Mu_": {"pt": "f", "jet": "i", "tight": "b"},
    "v_": {"a": "f", "k": "i", "on": "b"},
}
"""Kinds of columns by prefix; those of v_ are arrays of three."""
ATOM, POWER, SIGN, TIMES, PLUS, SHIFT, BITS, COMPARED, NOT, AND, OR, IF = range(12, 0, -1)


def draw_event(random_: random.Random) -> dict[str, Any]:
    """Numbers of few bits, of which sums and products are exact in all types."""
    event: dict[str, Any] = {}
    for prefix, columns in COLUMNS.items():
        n = 3 if prefix == "v_" else random_.choice((0, 0, 1, 1, 2, 2, 4))
        for name, kind in columns.items():
            make = _MAKERS.get(prefix + name, _MAKERS[kind])
            event[prefix + name] = [make(random_) for _ in range(n)] if prefix else make(random_)
    return event


_MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "b": lambda r: r.random() < 0.5, "i": lambda r: r.randint(-3, 5),
    "f": lambda r: r.randint(-6, 12) / 2, "c": lambda r: r.randint(0, 5),
    "Jet_n": lambda r: r.randint(0, 5), "Mu_jet": lambda r: r.randint(-1, 3),
    "z": lambda r: r.choice((math.nan, -1.0, 0.0, 1.5, 3.0)),
}  # fmt: skip
"""Values of a kind, or of one column: without sign, as places have, or with NaN."""


# --- values ---------------------------------------------------------------------------------------
def _exact(value: Value) -> Value:
    if isinstance(value, float) and math.isfinite(value):
        try:
            is_exact = struct.unpack("f", struct.pack("f", value))[0] == value
        except OverflowError:
            is_exact = False
        if not is_exact:
            raise Undrawn
    if isinstance(value, int) and abs(value) >= 2**31:
        raise Undrawn
    return value


def _each(operation: Callable[..., Value], *given: tuple[Value, bool]) -> Value:
    """Value by value. `given`: with whether they are lists, of one length, or missing."""
    if not any(is_list for _, is_list in given):
        return operation(*(value for value, _ in given))
    lists = [value for value, is_list in given if is_list]
    if any(values is None for values in lists):
        return None
    (n,) = {len(values) for values in lists}
    return [operation(*(v[k] if is_list else v for v, is_list in given)) for k in range(n)]


def _strict(operation: Callable[..., Value]) -> Callable[..., Value]:
    """Of a missing value a missing one."""

    def apply(*values: Value) -> Value:
        return None if any(v is None for v in values) else _exact(operation(*values))

    return apply


def _and(one: Value, other: Value) -> Value:
    if (one is not None and not one) or (other is not None and not other):
        return False
    return None if one is None or other is None else True


def _or(one: Value, other: Value) -> Value:
    if one or other:
        return True
    return None if one is None or other is None else False


def _truncated(one: Value, other: Value) -> Value:
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _where(condition: Value, one: Value, other: Value) -> Value:
    return None if condition is None else one if condition else other


def _chosen(values: Value, mask: Value) -> Value:
    if values is None:
        return None
    return [] if mask is None else [v for v, m in zip(values, mask, strict=True) if m]


def _at(values: Value, place: Value) -> Value:
    if values is None or place is None or not 0 <= place < len(values):
        return None
    return values[place]


def _last_but(values: Value, place: int) -> Value:
    """An index that is written as a number counts from the end if it is negative."""
    if values is not None and not -len(values) <= place < len(values):
        return None
    return _at(values, place if place >= 0 or values is None else len(values) + place)


def _extreme(best: Callable[[Any], Value]) -> Callable[[list[Value]], Value]:
    def of(values: list[Value]) -> Value:
        known = [v for v in values if v is not None]
        numbers = [v for v in known if v == v]
        return best(numbers) if numbers else known[0] if known else None

    return of


def _place(best: Callable[[Any], Value]) -> Callable[[list[Value]], Value]:
    def of(values: list[Value]) -> Value:
        known = [v for v in values if v is not None]
        return values.index(best(known)) if known else None

    return of


def _mean(values: list[Value]) -> Value:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def _any(values: list[Value]) -> Value:
    return True if any(values) else None if None in values else False


def _all(values: list[Value]) -> Value:
    return (
        False if any(v is not None and not v for v in values) else None if None in values else True
    )


def _known(of: Callable[[list[Value]], Value]) -> Callable[[list[Value]], Value]:
    return lambda values: of([v for v in values if v is not None])


_REDUCED: dict[str, tuple[str, Callable[[list[Value]], Value]]] = {
    "sum": ("", _known(sum)), "prod": ("", _known(math.prod)), "max": ("", _extreme(max)),
    "min": ("", _extreme(min)), "mean": ("f", _mean), "any": ("b", _any), "all": ("b", _all),
    "num": ("i", len), "argmax": ("i", _place(max)), "argmin": ("i", _place(min)),
    "count_nonzero": ("i", _known(lambda values: sum(map(bool, values)))),
    "firsts": ("", lambda values: values[0] if values else None),
}  # fmt: skip
"""Kind of the result, "" as of the list, and what it is."""
_ARITHMETIC: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "+": (PLUS, lambda a, b: a + b), "-": (PLUS, lambda a, b: a - b),
    "*": (TIMES, lambda a, b: a * b),
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


# --- expressions ----------------------------------------------------------------------------------
def _call(text: str, rank: int, kind: str, operation: Callable[..., Value], *of: Node) -> Node:
    """An operation, value by value."""

    def value(event: Event) -> Value:
        return _each(operation, *((node.value(event), node.shape is not None) for node in of))

    return Node(text, rank, kind, next((node.shape for node in of if node.shape), None), value)


def _infix(
    sign: str, rank: int, kind: str, operation: Callable[..., Value], one: Node, other: Node
) -> Node:
    """Of operators of one rank the left one is first; comparisons take no operator on bits."""
    left = max(rank - 1, BITS) if rank == COMPARED else rank - 1
    text = f"{one.within(left)} {sign} {other.within(max(left, rank))}"
    return _call(text, rank, kind, operation, one, other)


def _joint(one: Node, other: Node) -> str:
    """Kind of what is computed from both."""
    return "f" if "f" in (one.kind, other.kind) else "i"


class Drawer:
    """Draws expressions. `random_`: of which they are a function."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_

    def expression(self) -> Node:
        """One of any kind, of a value or a list per event."""
        depth = self._random.choice((2, 3, 3, 4))
        shape = self._shape(2) if self._random.random() < 0.3 else None
        return self._any(depth, shape)

    def _one_of(self, *ways: Callable[[], Node]) -> Node:
        return self._random.choice(ways)()

    def _any(self, depth: int, shape: Shape | None) -> Node:
        return self._one_of(lambda: self.number(depth, shape), lambda: self.truth(depth, shape))

    def _operand(self, depth: int, shape: Shape | None, draw: Draw) -> Node:
        """Beside a list there may be a value per event."""
        return draw(depth, shape if self._random.random() < 0.6 else None)

    def _pair(self, depth: int, shape: Shape | None, draw: Draw) -> tuple[Node, Node]:
        pair = [draw(depth, shape), self._operand(depth, shape, draw)]
        self._random.shuffle(pair)
        return pair[0], pair[1]

    # --- lists --------------------------------------------------------------------------------
    def _shape(self, depth: int) -> Shape:
        whole = Shape(self._random.choice([prefix for prefix in COLUMNS if prefix]))
        return whole if depth < 2 or self._random.random() < 0.5 else self._part(whole, depth - 1)

    def _part(self, whole: Shape, depth: int) -> Shape:
        way = self._random.choice(("mask", "event mask", "slice"))
        if way == "slice":
            first, last = self._random.choice(((0, 1), (0, 2), (1, 9)))
            brackets = f"[{first or ''}:{last if last < 9 else ''}]"
            return Shape(whole.prefix, brackets, lambda _, values: values[first:last])
        mask = self.truth(depth, whole if way == "mask" else None)

        def choose(event: Event, values: Value) -> Value:
            decided = mask.value(event)
            return _chosen(values, decided if way == "mask" else [decided] * len(values))

        return Shape(whole.prefix, f"[{mask.text}]", choose)

    def _column(self, kinds: str, shape: Shape | None) -> Node:
        prefix = shape.prefix if shape else ""
        name = prefix + self._random.choice([n for n, k in COLUMNS[prefix].items() if k in kinds])
        kind = COLUMNS[prefix][name.removeprefix(prefix)]
        if shape is None:
            return Node(name, ATOM, kind, None, lambda event: event[name])
        return Node(
            name + shape.brackets, ATOM, kind, shape, lambda event: shape.choose(event, event[name])
        )

    # --- numbers ------------------------------------------------------------------------------
    def number(self, depth: int, shape: Shape | None) -> Node:
        if depth == 0:
            is_constant = shape is None and self._random.random() < 0.3
            return self._constant() if is_constant else self._column("if", shape)
        ways = [
            lambda: self._arithmetic(depth - 1, shape), lambda: self._sign(depth - 1, shape),
            lambda: self._function(depth - 1, shape), lambda: self._division(depth - 1, shape),
            lambda: self._bits(depth - 1, shape),
            lambda: self._choice(depth - 1, shape, self.number), lambda: self.number(0, shape),
        ]  # fmt: skip
        if shape is None:
            ways += [lambda: self._reduced(depth - 1, "if")] * 2
            ways += [lambda: self._element(depth - 1, "if")] * 3
            ways += [lambda: self._filled(depth - 1, self.number)]
            ways += [lambda: self._masked(depth - 1, self.number)]
        elif not shape.brackets and shape.prefix == "Mu_":
            ways += [lambda: self._indexed(depth - 1, "if")] * 2
        return self._one_of(*ways)

    def _constant(self) -> Node:
        value = self._random.choice((0, 1, 2, 3, -1, 0.5, 1.5, -2.5))
        rank = SIGN if value < 0 else ATOM
        return Node(
            str(value), rank, "f" if isinstance(value, float) else "i", None, lambda _: value
        )

    def _arithmetic(self, depth: int, shape: Shape | None) -> Node:
        draw = self.number if self._random.random() < 0.8 else self._any
        one, other = self._pair(depth, shape, draw)
        sign, (rank, operation) = self._random.choice(list(_ARITHMETIC.items()))
        number = _strict(lambda a, b: operation(a + 0, b + 0))
        return _infix(sign, rank, _joint(one, other), number, one, other)

    def _sign(self, depth: int, shape: Shape | None) -> Node:
        of, sign = self._any(depth, shape), self._random.choice("-+")
        operation = _strict(lambda a: -a if sign == "-" else a + 0)
        kind = "f" if of.kind == "f" else "i"
        return _call(f"{sign}{of.within(SIGN - 1)}", SIGN, kind, operation, of)

    def _function(self, depth: int, shape: Shape | None) -> Node:
        name = self._random.choice(("abs", "fabs", "maximum", "min", "** 2", "floor"))
        if name == "** 2":
            of = self.number(depth, shape)
            text = f"{of.within(POWER)} ** 2"
            return _call(text, POWER, of.kind, _strict(lambda a: a * a), of)
        if name in ("abs", "fabs", "floor"):
            of = self.number(depth, shape)
            operation = abs if name != "floor" else lambda a: math.floor(a) if a == a else a
            return _call(f"{name}({of.text})", ATOM, of.kind, _strict(operation), of)
        one, other = self._pair(depth, shape, self.number)
        better: Any = max if name == "maximum" else min
        operation = _strict(lambda a, b: math.nan if a != a or b != b else better(a, b))
        text = f"{name}({one.text}, {other.text})"
        return _call(text, ATOM, _joint(one, other), operation, one, other)

    def _division(self, depth: int, shape: Shape | None) -> Node:
        one, sign = self.number(depth, shape), self._random.choice(("/", "//", "%"))
        if one.kind == "f":
            other = self._constant_of(self._random.choice((1.0, 2.0, -2.0, 0.5)))
            operations: dict[str, Any] = {
                "/": lambda a, b: a / b, "//": lambda a, b: math.floor(a / b) if a == a else a,
                "%": lambda a, b: a - b * math.floor(a / b) if a == a else a,
            }  # fmt: skip
        else:
            one = (
                one
                if one.kind == "i"
                else _call(f"+{one.within(SIGN - 1)}", SIGN, "i", _strict(lambda a: a + 0), one)
            )
            other = self._constant_of(self._random.choice((1, 2, 3, -2)))
            operations = {
                "/": _truncated, "//": lambda a, b: a // b,
                "%": lambda a, b: a - b * _truncated(a, b),
            }  # fmt: skip
        return _infix(sign, TIMES, one.kind, _strict(operations[sign]), one, other)

    def _constant_of(self, value: float) -> Node:
        kind = "f" if isinstance(value, float) else "i"
        return Node(str(value), SIGN if value < 0 else ATOM, kind, None, lambda _: value)

    def _whole(self, depth: int, shape: Shape | None) -> Node:
        """An integer, not a truth value."""
        for _ in range(20):
            node = self.number(depth, shape)
            if node.kind == "i":
                return node
        return self._column("i", shape)

    def _bits(self, depth: int, shape: Shape | None) -> Node:
        one, sign = self._whole(depth, shape), self._random.choice(("&", "|", "<<", ">>", "~"))
        if sign == "~":
            return _call(f"~{one.within(SIGN - 1)}", SIGN, "i", _strict(lambda a: ~a), one)
        if sign in ("<<", ">>"):
            other = self._constant_of(self._random.choice((0, 1, 3)))
            operation = _strict((lambda a, b: a << b) if sign == "<<" else (lambda a, b: a >> b))
            return _infix(sign, SHIFT, "i", operation, one, other)
        other = self._operand(depth, shape, self._whole)
        operation = _strict((lambda a, b: a & b) if sign == "&" else (lambda a, b: a | b))
        text = f"{one.within(BITS)} {sign} {other.within(BITS)}"
        return _call(text, BITS, "i", operation, one, other)

    # --- truth values -------------------------------------------------------------------------
    def truth(self, depth: int, shape: Shape | None) -> Node:
        if depth == 0:
            return self._column("b", shape)
        ways = [
            lambda: self._comparison(depth - 1, shape), lambda: self._comparison(depth - 1, shape),
            lambda: self._logic(depth - 1, shape), lambda: self._logic(depth - 1, shape),
            lambda: self._not(depth - 1, shape), lambda: self._isnan(depth - 1, shape),
            lambda: self._choice(depth - 1, shape, self.truth), lambda: self.truth(0, shape),
        ]  # fmt: skip
        if shape is None:
            ways += [lambda: self._reduced(depth - 1, "b")] * 3
            ways += [lambda: self._element(depth - 1, "b")]
            ways += [lambda: self._filled(depth - 1, self.truth)]
            ways += [lambda: self._masked(depth - 1, self.truth)]
            ways += [lambda: self._is_none(depth - 1)]
        elif not shape.brackets and shape.prefix == "Mu_":
            ways += [lambda: self._indexed(depth - 1, "b")]
        return self._one_of(*ways)

    def _comparison(self, depth: int, shape: Shape | None) -> Node:
        one, other = self._pair(depth, shape, self.number)
        if self._random.random() < 0.15:
            return self._chain(one, other, self._operand(depth, shape, self.number))
        sign, operation = self._random.choice(list(_COMPARED.items()))
        return _infix(sign, COMPARED, "b", _strict(operation), one, other)

    def _chain(self, *of: Node) -> Node:
        signs = self._random.choice((("<", "<="), (">", ">"), ("<=", "<"), (">=", ">")))
        first, second = (_strict(_COMPARED[sign]) for sign in signs)
        low, middle, high = (node.within(BITS) for node in of)
        text = f"{low} {signs[0]} {middle} {signs[1]} {high}"
        pairs = _call("", ATOM, "b", first, *of[:2]), _call("", ATOM, "b", second, *of[1:])
        joint = _call("", ATOM, "b", _and, *pairs)
        return Node(text, COMPARED, "b", joint.shape, joint.value)

    def _logic(self, depth: int, shape: Shape | None) -> Node:
        draw = self.truth if self._random.random() < 0.8 else self._any
        one, other = self._pair(depth, shape, draw)
        sign = self._random.choice(("&&", "||", "and", "or", "&", "|"))
        operation, rank = (_and, AND) if sign in ("&&", "and", "&") else (_or, OR)
        if sign not in ("&", "|"):
            return _infix(sign, rank, "b", operation, one, other)
        if one.kind != "b" or other.kind != "b":
            return self._logic(depth, shape)
        text = f"{one.within(BITS)} {sign} {other.within(BITS)}"
        return _call(text, BITS, "b", operation, one, other)

    def _not(self, depth: int, shape: Shape | None) -> Node:
        of = self._any(depth, shape)
        sign = self._random.choice(("!", "not ", "~") if of.kind == "b" else ("!", "not "))
        if sign == "not ":
            return _call(f"not {of.within(NOT - 1)}", NOT, "b", operator.not_, of)
        rank = BITS if sign == "!" else SIGN  # `!a > b` is refused
        return _call(f"{sign}{of.within(SIGN)}", rank, "b", operator.not_, of)

    def _isnan(self, depth: int, shape: Shape | None) -> Node:
        of = self.number(depth, shape)
        return _call(f"isnan({of.text})", ATOM, "b", _strict(lambda a: a != a), of)

    # --- of either kind -----------------------------------------------------------------------
    def _choice(self, depth: int, shape: Shape | None, draw: Draw) -> Node:
        """where(), with a condition per event or per value. What is chosen per event may be the
        list of an event, or a number for each of its values."""
        condition = self._operand(
            depth, shape, self._any if self._random.random() < 0.1 else self.truth
        )
        one, other = self._pair(depth, shape, draw)
        kind = one.kind if one.kind == other.kind else _joint(one, other)
        if self._random.random() < 0.5:
            text, rank = f"where({condition.text}, {one.text}, {other.text})", ATOM
        else:
            parts = (node.within(IF) for node in (one, condition, other))
            text, rank = "{} if {} else {}".format(*parts), IF
        value = _by_value if condition.shape else _by_event
        return Node(text, rank, kind, shape, value(kind, condition, one, other))

    def _list(self, depth: int, kinds: str) -> Node:
        shape = self._shape(depth)
        for _ in range(20):
            node = self._any(depth, shape)
            if node.kind in kinds:
                return node
        return self._column(kinds, shape)

    def _reduced(self, depth: int, kinds: str) -> Node:
        names = ["any", "all"] if kinds == "b" else [n for n in _REDUCED if n not in ("any", "all")]
        name = self._random.choice(names)
        of = self._list(depth, "bif")
        kind, operation = _REDUCED[name]
        if name in ("argmax", "argmin", "max", "min", "firsts", "mean", "prod") and of.kind == "b":
            return self._reduced(depth, kinds)
        kind = kind or ("i" if of.kind == "b" else of.kind)

        def value(event: Event) -> Value:
            values = of.value(event)
            if name.startswith("arg") and any(v != v for v in values or ()):
                raise Undrawn
            return None if values is None else _exact(operation(values))

        spelled = {"num": "len", "any": "Any", "all": "All", "sum": "Sum", "max": "Max"}
        shown = spelled.get(name, name) if self._random.random() < 0.2 else name
        return Node(f"{shown}({of.text})", ATOM, kind, None, value)

    def _element(self, depth: int, kinds: str) -> Node:
        of = self._list(depth, kinds)
        if of.kind not in kinds:
            return self._column(kinds, None)
        if self._random.random() < 0.6:
            place = self._random.choice(
                (0, 0, 1, 2) if of.shape and of.shape.prefix == "v_" else (0, 0, 1, 2, -1, -2)
            )
            text = f"{of.within(POWER)}[{place}]"

            def value(event: Event) -> Value:
                values = of.value(event)
                if of.shape and of.shape.prefix == "v_" and values and place >= len(values):
                    raise Undrawn  # an error: no event has this place
                return _last_but(values, place)

            return Node(text, ATOM, of.kind, None, value)
        index = self._whole(depth, None)
        if _is_constant(index):  # which counts from the end, if it is negative
            return self._element(depth, kinds)
        text = f"{of.within(POWER)}[{index.text}]"
        return Node(
            text, ATOM, of.kind, None, lambda event: _at(of.value(event), index.value(event))
        )

    def _indexed(self, depth: int, kinds: str) -> Node:
        """Values of jets, by the places that muons have."""
        of = self._column(kinds, Shape("Jet_"))
        index = self._column("i", Shape("Mu_"))
        if self._random.random() < 0.3:
            index = _infix("+", PLUS, "i", _strict(lambda a, b: a + b), index, self._constant_of(1))

        def value(event: Event) -> Value:
            return [_at(of.value(event), place) for place in index.value(event)]

        return Node(f"{of.text}[{index.text}]", ATOM, of.kind, Shape("Mu_"), value)

    def _masked(self, depth: int, draw: Draw) -> Node:
        of, mask = draw(depth, None), self.truth(depth, None)
        if mask.kind != "b" or _is_constant(of):
            return of
        text = f"{of.within(POWER)}[{mask.text}]"
        return Node(
            text, ATOM, of.kind, None,
            lambda event: of.value(event) if mask.value(event) else None,
        )  # fmt: skip

    def _filled(self, depth: int, draw: Draw) -> Node:
        of = draw(depth, None)
        if _is_constant(of):
            return of
        instead = self.truth(0, None) if of.kind == "b" else self._constant()
        if of.kind != "b" and self._random.random() < 0.3:
            instead = draw(depth, None)
        kind = "b" if of.kind == instead.kind == "b" else _joint(of, instead)

        def value(event: Event) -> Value:
            found = of.value(event)
            return _alike(kind, instead.value(event) if found is None else found)[0]

        return Node(f"fill_none({of.text}, {instead.text})", ATOM, kind, None, value)

    def _is_none(self, depth: int) -> Node:
        of = self._any(depth, None)
        if _is_constant(of):
            return self._column("b", None)
        return Node(f"is_none({of.text})", ATOM, "b", None, lambda event: of.value(event) is None)


def _is_constant(node: Node) -> bool:
    """Whether it may have no column: what is no array has no element and is not missing."""
    names = [prefix + name for prefix, columns in COLUMNS.items() for name in columns]
    return not any(re.search(rf"\b{name}\b", node.text) for name in names)


def _alike(kind: str, *values: Value) -> list[Value]:
    """Truth values as numbers, where numbers are wanted."""
    return [v + 0 if kind != "b" and isinstance(v, bool) else v for v in values]


def _by_value(kind: str, *of: Node) -> Callable[[Event], Value]:
    """Each value of a list is chosen, by a list of conditions."""

    def value(event: Event) -> Value:
        conditions, *values = (node.value(event) for node in of)
        if conditions is None:
            return None
        n = len(conditions)
        lists = [v if isinstance(v, list) else [v] * n for v in values]
        return [_where(c, *_alike(kind, a, b)) for c, a, b in zip(conditions, *lists, strict=True)]

    return value


def _by_event(kind: str, condition: Node, one: Node, other: Node) -> Callable[[Event], Value]:
    """The value or the list of an event is chosen; a value for each one of the other list."""

    def value(event: Event) -> Value:
        decided = condition.value(event)
        if decided is None:
            return None
        pair = one, other
        chosen, not_chosen = pair if decided else pair[::-1]
        found, lists = chosen.value(event), not_chosen.value(event)
        if chosen.shape or not not_chosen.shape:
            is_list = isinstance(found, list)
            return _alike(kind, *found) if is_list else _alike(kind, found)[0]
        return None if lists is None else _alike(kind, found) * len(lists)

    return value
