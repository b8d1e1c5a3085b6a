"""Expressions of columns and objects, such as "nMuon >= 2 && max(Jet_pt) > 30".

They are Python's own, read by its `ast`, with the operators of C++ as well; names are columns,
collections and a list of functions. Comparisons and `and`, `or`, `not` are made of arrays, event by
event, as ROOT's are."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import awkward as ak
import numpy as np

from forkrun.base.nearest import suggestion
from forkrun.modules.objects.collections import NoSuchColumnError, NoSuchNameError

_OPERATORS = ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " ~ "), (r"::|;", None))
_AT_INPUT = "__at_input"
"""Instead of "@input", which is an operator of Python's with a precedence of its own."""
_NODES = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Attribute,
    ast.Subscript, ast.Slice, ast.Tuple, ast.IfExp, ast.Name, ast.Load, ast.Constant, ast.keyword,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def _per_event(function: Callable[..., Any]) -> Callable[..., Any]:
    """Over the list of each event; of plain numbers, one per event, they are themselves."""

    def apply(values: Any, **options: Any) -> Any:
        if (values if isinstance(values, np.ndarray) else ak.Array(values)).ndim == 1:
            raise TypeError("this function is of a list per event, and got one value per event")
        return function(values, axis=1, **options)

    return apply


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{
        name: _per_event(getattr(ak, name))
        for name in ("sum", "any", "all", "min", "max", "mean", "argmin", "argmax", "num", "firsts")
    },
    "len": _per_event(ak.num),
    "where": ak.where,
    "fill_none": ak.fill_none,
    "is_none": ak.is_none,
    "minimum": np.minimum, "maximum": np.maximum, "pow": np.power, "atan2": np.arctan2,
    **{
        name: getattr(np, name)
        for name in (
            "abs", "sqrt", "exp", "log", "log10", "log2", "sin", "cos", "tan", "sinh", "cosh",
            "tanh", "arcsin", "arccos", "arctan", "arctan2", "hypot", "floor", "ceil", "sign",
        )
    },
    **{short: getattr(np, f"arc{short[1:]}") for short in ("asin", "acos", "atan")},
    "fabs": np.abs,
}  # fmt: skip
"""By name; those of lists have a value per event."""
_CONSTANTS = {"pi": np.pi, "True": True, "False": False}


class Expression:
    """Called with an event block, gives its value. Raises ValueError if it cannot be read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._code = _compile(text)
        self.names = tuple(self._code.co_names)

    def __call__(self, block: Any) -> Any:
        return eval(self._code, {"__builtins__": {}, "_and": _and, "_or": _or}, _Names(block))

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


class _Names(Mapping[str, Any]):
    """What names stand for: columns and collections first, then functions."""

    def __init__(self, block: Any) -> None:
        self._block = block

    def __getitem__(self, name: str) -> Any:
        if name in ("_and", "_or"):
            raise KeyError(name)
        if name in FUNCTIONS or name in _CONSTANTS:
            return FUNCTIONS[name] if name in FUNCTIONS else _CONSTANTS[name]
        try:
            return self._block[name] if "@" in name else getattr(self._block, name)
        except NoSuchColumnError as error:  # a KeyError, of which Python makes a NameError here
            raise NoSuchNameError(str(error)) from None
        except NoSuchNameError as error:
            close = suggestion(name, FUNCTIONS)
            hint = close if "did you mean" in close and "did you mean" not in str(error) else ""
            raise NoSuchNameError(f"{error}{hint}") from None

    def __iter__(self) -> Any:
        return iter(FUNCTIONS)

    def __len__(self) -> int:
        return len(FUNCTIONS)


def _compile(text: str) -> CodeType:
    python = re.sub(r"(\w)@input\b", rf"\1{_AT_INPUT}", text)
    for pattern, instead in _OPERATORS:
        if instead is None and re.search(pattern, python):
            raise ValueError(f"{text!r}: `::` and `;` have no place in an expression")
        python = re.sub(pattern, instead or "", python)
    try:
        tree = ast.parse(python.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no expression: {error.msg}") from None
    for node in ast.walk(tree):
        _check(node, text)
    changed = ast.fix_missing_locations(_ByEvent().visit(tree))
    return compile(changed, f"<expression {text}>", "eval")


def _check(node: ast.AST, text: str) -> None:
    if not isinstance(node, _NODES):
        raise ValueError(f"{text!r}: {type(node).__name__} has no place in an expression")
    name = getattr(node, "id", getattr(node, "attr", ""))
    if name.startswith("_"):
        raise ValueError(f"{text!r}: {name!r} has no place in an expression")
    if isinstance(node, ast.MatMult):
        raise ValueError(f"{text!r}: `@` stands for a column before it was replaced: Jet_pt@input")
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float):
        raise ValueError(f"{text!r}: {node.value!r} is neither a number nor a column")


class _ByEvent(ast.NodeTransformer):
    """`a and b`, `not a` and `low < a < high` of arrays; `column@input`."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id.endswith(_AT_INPUT):
            return ast.Name(f"{node.id.removesuffix(_AT_INPUT)}@input", ast.Load())
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "_and" if isinstance(node.op, ast.And) else "_or"
        return _call(name, node.values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not | ast.Invert):
            return ast.Compare(node.operand, [ast.Eq()], [ast.Constant(0)])
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        values = [node.left, *node.comparators]
        parts = [
            ast.Compare(left, [operator], [right])
            for left, operator, right in zip(values, node.ops, values[1:], strict=False)
        ]
        return _call("_and", list(parts))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call("where", [node.test, node.body, node.orelse])


def _call(name: str, arguments: list[Any]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), arguments, [])


def _and(*values: Any) -> Any:
    return _combined(np.logical_and, values)


def _or(*values: Any) -> Any:
    return _combined(np.logical_or, values)


def _combined(operation: Any, values: tuple[Any, ...]) -> Any:
    first, *others = values
    for other in others:
        first = operation(first, other)
    return first
