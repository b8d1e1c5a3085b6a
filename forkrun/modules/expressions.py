"""Expressions of columns and objects, such as "nMuon >= 2 && max(Jet_pt) > 30".

They are parsed by Python's `ast`, with C++ operators added, which compute as in C++; names are
columns and collections; only listed functions and methods can be called. Comparisons and `and`,
`or`, `not` work on arrays, event by event, as in ROOT, and so do indices: `Jet_pt[0]` is the first
jet of each event."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np

from forkrun.base.nearest import suggestion
from forkrun.base.user_code import AT_EXPRESSION
from forkrun.modules.cpp_arithmetic import OPERATORS
from forkrun.modules.expression_functions import (
    CONSTANTS,
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    element,
    field_of,
    method_of,
)
from forkrun.modules.missing_values import both, either, negated
from forkrun.modules.objects.collections import NoSuchColumnError, NoSuchNameError

_OPERATORS = ((r"~", " ~-~ "), (r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " ~+~ "))
"""`!` binds like `~`, not like `not`. The sign in the middle tells them apart, with any signs
around."""
_NAMES_OF_ROOT = (
    (r"\bTMath::Pi\(\)", "pi"),
    (r"\bLength\$(?=\()", "num"),
    (r"\b(?:Sum|Min|Max)\$(?=\()", lambda found: found[0][:-1]),
    (r"\bstd::(?=\w)|\b(?:ROOT::)?VecOps::(?=\w)", ""),
    (r"\bTMath::(\w+)", lambda found: found[1].lower()),
)  # fmt: skip
_REFUSED = (
    (r"::|;", "{!r}: `::` and `;` cannot be used in an expression"),
    (r"\?", "{!r} is not an expression: `c ? a : b` is written where(c, a, b), or a if c else b"),
    (r"\^", "{!r}: `^` is not a power; write x ** 2"),
    (r"\$", "{!r} is not an expression: functions have no $; there are sum, min, max and num"),
)
_AT_INPUT = "__at_input"
"""Replaces "@input": `@` is an operator in Python, with its own precedence."""
_NODES = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Attribute,
    ast.Subscript, ast.Slice, ast.Tuple, ast.IfExp, ast.Name, ast.Load, ast.Constant, ast.keyword,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_OF_EVENTS = {"run": "runs", "luminosityBlock": "lumis", "event": "events"}
"""Ids of events, available even if their branches have other names or do not exist."""
_CALLED = "()"
"""Suffix for names of called functions: a column may have the same name."""
_OWN = {
    **{f"_{name}": operation for name, operation in OPERATORS.items()},
    "_and": both,
    "_or": either,
    "_not": negated,
    "_element": element,
    "_slice": slice,
    "_field": field_of,
    "_method": method_of,
}


class Expression:
    """An expression. Called with an event block, it returns its value, one per event even for
    constants. `place`: file and line in the program. Raises ValueError if the text is invalid."""

    def __init__(self, text: str, place: tuple[str, int] | None = None) -> None:
        self.text = text
        self.code = _compile(text, place)
        whole = {n.removesuffix(_CALLED) for n in self.code.co_names if n not in _OWN}
        self.names = tuple(sorted(whole.union(*(name.split(".") for name in whole))))

    def __call__(self, block: Any) -> Any:
        value = eval(self.code, {"__builtins__": {}, **_OWN}, _Names(block))
        if fields := getattr(value, "fields", None):
            raise NoSuchNameError(
                f"{self.text!r} gives objects, with {', '.join(fields[:3])}, …: name one of their"
                " members"
            )
        return np.full(len(block), value) if isinstance(value, int | float | np.generic) else value

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


class _Names(Mapping[str, Any]):
    """Meaning of names: columns first, then collections and constants; functions in calls."""

    def __init__(self, block: Any) -> None:
        self._block = block

    def __getitem__(self, name: str) -> Any:
        if name in _OWN:
            raise KeyError(name)
        if name.endswith(_CALLED):
            return FUNCTIONS[name.removesuffix(_CALLED)]
        try:
            return self._block[name] if "@" in name else self._column(name)
        except NoSuchColumnError as error:  # a KeyError, which Python turns into a NameError
            raise NoSuchNameError(str(error)) from None
        except NoSuchNameError as error:
            close = suggestion(name, FUNCTIONS)
            said = ("exists", "may be within", "did you mean")
            is_open = not any(words in str(error) for words in said)
            hint = close if is_open and "did you mean" in close else ""
            raise NoSuchNameError(f"{error}{hint}") from None

    def _column(self, name: str) -> Any:
        """`Muon.pt` is a field of objects; `AnalysisMuonsAuxDyn.pt` may be a column."""
        if name in self._block.column_types:
            return self._block[name]
        first, *fields = name.split(".")
        if len(fields) > 1 and self._lacks_member(name, f"{first}.{fields[0]}."):
            value, fields = self._block.objects(name), []  # the message names what exists
        elif fields and first in self._block.column_types:
            value = self._block[first]
        elif name in CONSTANTS:
            return CONSTANTS[name]
        elif name in _OF_EVENTS:
            return getattr(self._block, _OF_EVENTS[name])
        else:
            try:
                value = self._block.objects(first)
            except NoSuchNameError:
                value, fields = self._block.objects(name), []  # the message names what exists
        for field in fields:
            value = field_of(value, field)
        return value

    def _lacks_member(self, name: str, within: str) -> bool:
        """Whether objects have members `within`, but none to which `name` leads."""
        known = [column for column in self._block.column_types if column.startswith(within)]
        return bool(known) and not any(column.startswith(f"{name}.") for column in known)

    def __iter__(self) -> Any:
        return iter(FUNCTIONS)

    def __len__(self) -> int:
        return len(FUNCTIONS)


def _compile(text: str, place: tuple[str, int] | None) -> CodeType:
    try:
        python = _in_python(text).strip()
        tree = ast.parse(python, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not an expression: {error.msg}") from None
    for node in ast.walk(tree):
        _check(node, text)
        _check_precedence(node, python, text)
    file, line = place or (f"{AT_EXPRESSION}{text}>", 1)
    changed = ast.fix_missing_locations(_ByEvent(text).visit(tree))
    for node in ast.walk(changed):
        if isinstance(node, ast.expr):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    code = compile(changed, file, "eval")
    return code.replace(co_name="expression", co_firstlineno=line)  # the first and only line


def _in_python(text: str) -> str:
    """The text with Python's operators and names."""
    python = re.sub(r"(\w)@input\b", rf"\1{_AT_INPUT}", text)
    for pattern, instead in _NAMES_OF_ROOT:
        python = re.sub(pattern, instead, python)
    for pattern, message in _REFUSED:
        if re.search(pattern, python):
            raise ValueError(message.format(text))
    for pattern, operator in _OPERATORS:
        python = re.sub(pattern, operator, python)
    return python


def _check(node: ast.AST, text: str) -> None:
    if not isinstance(node, _NODES):
        raise ValueError(f"{text!r}: {type(node).__name__} cannot be used in an expression")
    name = getattr(node, "id", getattr(node, "attr", ""))
    if name.startswith("_"):
        raise ValueError(f"{text!r}: {name!r} cannot be used in an expression")
    if isinstance(node, ast.In | ast.NotIn | ast.Is | ast.IsNot):
        raise ValueError(f"{text!r}: write a == 1 || a == 2 for `in`, is_none(a) for `is None`")
    if isinstance(node, ast.MatMult):
        raise ValueError(f"{text!r}: `@` stands for a column before it was replaced: Jet_pt@input")
    if isinstance(node, ast.Call):
        _check_call(node, text)
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float):
        raise ValueError(f"{text!r}: {node.value!r} is neither a number nor a column")


_LIBRARIES = ("ak", "awkward", "np", "numpy", "math", "events")


def _check_call(node: ast.Call, text: str) -> None:
    """Checks that a call is of a known function or method, with its keywords."""
    known: tuple[str, ...] = tuple(FUNCTIONS)
    name, what = getattr(node.func, "id", ""), "function of expressions"
    if isinstance(node.func, ast.Attribute):
        name, what, known = node.func.attr, "method of objects", (*METHODS, "size")
    if name not in known and not name.startswith("_"):
        shown = name or ast.unparse(node.func)
        of_library = getattr(getattr(node.func, "value", None), "id", "") in _LIBRARIES
        if of_library and name in FUNCTIONS:
            raise ValueError(f"{text!r}: an expression has functions of its own: write {name}(…)")
        raise ValueError(f"{text!r}: {shown} is not a {what}{suggestion(shown, known)}")
    for keyword in node.keywords:
        if keyword.arg not in KEYWORDS.get(name, ()):
            raise ValueError(f"{text!r}: {name}() has no keyword {keyword.arg or '**'}")


_ONE_WAY = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE))
"""Comparisons that can form a chain: a < b <= c."""


def _check_precedence(node: ast.AST, python: str, text: str) -> None:
    """Refuses `a > 2 & b > 3`, `a > b == c` and `!a > 3`, which mean different things in Python and
    C++, or not what they seem to mean."""
    if not isinstance(node, ast.Compare):
        return
    if len(node.ops) > 1 and not any(all(isinstance(o, way) for o in node.ops) for way in _ONE_WAY):
        raise ValueError(f"{text!r}: put one of the comparisons in ( ), or combine them with &&")
    bare = [each for each in (node.left, *node.comparators) if not _in_parentheses(each, python)]
    for operand in bare:
        if isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.BitAnd | ast.BitOr):
            raise ValueError(f"{text!r}: write && and ||, or put the operands of & and | in ( )")
        is_not = _inverted(operand) is ast.UAdd
        if is_not and not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            raise ValueError(f"{text!r}: `!` applies to the next name alone: write !(a > b)")


def _in_parentheses(node: ast.expr, python: str) -> bool:
    text = python.encode()
    before, after = text[: node.col_offset], text[node.end_col_offset :]
    return before.rstrip().endswith(b"(") and after.lstrip().startswith(b")")


class _ByEvent(ast.NodeTransformer):
    """Translates `a and b`, `not a` and `low < a < high` for arrays, `column@input`, column names
    with dots, and indices. `text`: the expression, for messages."""

    def __init__(self, text: str) -> None:
        self._text = text

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _name(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if dotted := _dotted(node):
            return _name(dotted)
        return _call("_field", [self.visit(node.value), ast.Constant(node.attr)])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Also `Jet_pt.size()`, as in C++; function names get their suffix."""
        given = [self.visit(argument) for argument in node.args]
        if isinstance(node.func, ast.Name):
            function: ast.expr = ast.Name(f"{node.func.id}{_CALLED}", ast.Load())
        else:
            assert isinstance(node.func, ast.Attribute)
            of, name = self.visit(node.func.value), node.func.attr
            if name == "size":
                return _call(f"num{_CALLED}", [of, *given])
            function = _call("_method", [of, ast.Constant(name)])
        return ast.Call(function, given, [self.visit(keyword) for keyword in node.keywords])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        where = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _call("_element", [node.value, *where])

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        ends = (node.lower, node.upper, node.step)
        return _call("_slice", [end or ast.Constant(None) for end in ends])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "_and" if isinstance(node.op, ast.And) else "_or"
        return _call(name, node.values)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._operator(node.op, self.visit(node.left), self.visit(node.right))

    def _operator(self, operator: ast.AST, *values: Any) -> ast.Call:
        return _call(f"_{type(operator).__name__}", [*values, ast.Constant(self._text)])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if sign := _inverted(node):
            value = self.visit(node.operand.operand.operand)  # type: ignore[attr-defined]
            return _call("_Bits", [value]) if sign is ast.USub else _call("_not", [value])
        is_number = isinstance(node.operand, ast.Constant) and type(node.operand.value) is not bool
        if is_number and isinstance(node.op, ast.USub):
            return ast.Constant(-node.operand.value)  # type: ignore[attr-defined]
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return _call("_not", [value])
        return self._operator(node.op, value)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        values = [node.left, *node.comparators]
        parts = [
            self._operator(operator, left, right)
            for left, operator, right in zip(values, node.ops, values[1:], strict=False)
        ]
        return parts[0] if len(parts) == 1 else _call("_and", list(parts))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call(f"where{_CALLED}", [node.test, node.body, node.orelse])


def _inverted(node: ast.AST) -> type[ast.unaryop] | None:
    """The sign that marks `~` and `!`, if the node stands for one of them: see _OPERATORS."""
    match node:
        case ast.UnaryOp(ast.Invert(), ast.UnaryOp(sign, ast.UnaryOp(ast.Invert()))):
            return type(sign)
    return None


def _dotted(node: ast.AST) -> str:
    """The dotted name "a.b.c"; "" for other nodes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def _name(name: str) -> ast.Name:
    if name.endswith(_AT_INPUT):
        name = f"{name.removesuffix(_AT_INPUT)}@input"
    return ast.Name(name, ast.Load())


def _call(name: str, arguments: list[Any]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), arguments, [])
