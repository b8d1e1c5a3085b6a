"""The way of a configuration through `forkrun run`, measured along the calls in the source.

A *carrier* is a configuration or one of its sections; the index of a file, conditions, versions of
columns and variations, which go with it; and whatever has one of these as a field. The walk begins
in the command, reads calls in the order in which they stand, arguments before the call that takes
them, and enters each function at its first call. Types come from annotations of parameters, fields
and results; a property is part of its value.

A *stop* is a call of a function in another file than its caller that gets a carrier: as an
argument, or as the object whose method it is, other than one that all sections have. A *return* is
a stop in a file where the walk has been before. `python -m tests.test_way_of_configuration` prints
the walk."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.test_layering import python_files

START = ("forkrun.cli.run", "run")
CARRIED = {
    ("forkrun.index.model", "FileIndex"),
    ("forkrun.conditions.snapshots", "Conditions"),
    ("forkrun.schedule.versions", "Versions"),
    ("forkrun.schedule.variations", "Variations"),
}
MOST_STOPS, MOST_RETURNS = 78, 35

Function = ast.FunctionDef
Known = tuple[str, str]
"""Module and name, of a class "Class", of a method "Class.method"."""


@cache
def _trees() -> dict[str, ast.Module]:
    return {name: ast.parse(file.read_text()) for name, file in python_files().items()}


@cache
def _names(module: str) -> dict[str, Known]:
    """What names in a module mean, of what is ours; imports within functions as well."""
    found: dict[str, Known] = {}
    for node in ast.walk(_trees()[module]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("forkrun"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner in _trees()
                found[alias.asname or alias.name] = (
                    (inner, "") if is_module else (node.module, alias.name)
                )
    for node in _trees()[module].body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = (module, node.name)
    return found


def _origin(known: Known) -> Known:
    """Where it is defined, if a package passes it on."""
    module, name = known
    while module in _trees() and name and _names(module).get(name, known) != (module, name):
        if name not in _names(module):
            return (module, name)
        module, name = _names(module)[name]
    return (module, name)


@cache
def _members(cls: Known) -> dict[str, ast.stmt]:
    """Fields and methods of a class of ours."""
    module, name = cls
    for node in _trees()[module].body if module in _trees() else ():
        if isinstance(node, ast.ClassDef) and node.name == name:
            bases = (_type(base, module) for base in node.bases)
            members = {n: m for base in bases if base for n, m in _members(base).items()}
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    members[each.name] = each
                    if each.name == "__init__":
                        members.update(_set_by(each))
                elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    members[each.target.id] = each
            return members
    return {}


def _set_by(init: Function) -> Iterator[tuple[str, ast.stmt]]:
    """Attributes that a constructor takes as they are."""
    annotations = {a.arg: a.annotation for a in (*init.args.args, *init.args.kwonlyargs)}
    for node in ast.walk(init):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Tuple):
            target = node.targets[0]
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for each, value in zip(targets, values, strict=False):
                kind = annotations.get(value.id) if isinstance(value, ast.Name) else None
                if isinstance(each, ast.Attribute) and kind:
                    yield each.attr, ast.AnnAssign(each, kind, None, 0)


def _type(annotation: ast.expr | None, module: str) -> Known | None:
    """The class of ours that an annotation names, alone or with None."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    if isinstance(annotation, ast.BinOp):
        return _type(annotation.left, module) or _type(annotation.right, module)
    if isinstance(annotation, ast.Subscript):  # Iterator[Work] of a context, Mapping[str, Job]
        return _type(annotation.slice, module)
    if isinstance(annotation, ast.Tuple):
        return next(filter(None, (_type(each, module) for each in annotation.elts)), None)
    if isinstance(annotation, ast.Name) and annotation.id in _names(module):
        return _origin(_names(module)[annotation.id])
    return None


@cache
def _carries(cls: Known | None) -> bool:
    if cls is None:
        return False
    fields = [m for m in _members(cls).values() if isinstance(m, ast.AnnAssign)]
    if cls in CARRIED or (fields and cls[0].startswith("forkrun.config.")):
        return True
    types = (_type(field.annotation, cls[0]) for field in fields)
    return any(_carries(each) for each in types if each != cls)


class Walk:
    """`stops`: module and function, with whether it is a return, and the depth of calls."""

    def __init__(self) -> None:
        self.stops: list[tuple[Known, bool, int]] = []
        self._files = {START[0]}
        self._entered: set[Known] = set()
        self._enter(START, None, 0)

    def _enter(self, function: Known, owner: Known | None, depth: int) -> None:
        node = _function(function)
        if node is None or function in self._entered:
            return
        self._entered.add(function)
        given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        types = {each.arg: _type(each.annotation, function[0]) for each in given}
        if owner and node.args.args:
            types[node.args.args[0].arg] = owner
        for call in self._calls(node, types, function[0]):
            self._go(call, types, function[0], depth)

    def _calls(
        self, node: ast.AST, types: dict[str, Known | None], module: str
    ) -> Iterator[ast.Call]:
        """In the order in which they are made; notes types of variables on the way."""
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            children.sort(key=lambda child: not isinstance(child, ast.comprehension))
        if isinstance(node, ast.For):
            yield from self._calls(node.iter, types, module)
            if isinstance(node.target, ast.Name):
                types[node.target.id] = _type_of(node.iter, types, module)
            children = [*node.body, *node.orelse]
        for child in children:
            yield from self._calls(child, types, module)
        if isinstance(node, ast.Call):
            yield node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            types[node.targets[0].id] = _type_of(node.value, types, module)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else ()
            for target, value in zip(node.targets[0].elts, values, strict=False):
                if isinstance(target, ast.Name):
                    types[target.id] = _type_of(value, types, module)
        elif isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name):
            types[node.target.id] = _type_of(node.iter, types, module)
        elif isinstance(node, ast.NamedExpr):
            types[node.target.id] = _type_of(node.value, types, module)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            types[node.optional_vars.id] = _type_of(node.context_expr, types, module)

    def _go(self, call: ast.Call, types: dict[str, Known | None], module: str, depth: int) -> None:
        callee, owner, of_object = _callee(call.func, types, module)
        if callee is None or callee[0] not in _trees() or _is_copying(callee):
            return
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        passes = of_object or any(_carries(_type_of(each, types, module)) for each in given)
        is_stop = passes and callee[0] != module
        if is_stop:
            self.stops.append((callee, callee[0] in self._files, depth))
            self._files.add(callee[0])
        if passes:
            self._enter(callee, owner, depth + is_stop)


def _is_copying(method: Known) -> bool:
    """Whether it is a method of all sections, which copy or write themselves."""
    _, dot, name = method[1].rpartition(".")
    return bool(dot) and name in _members(("forkrun.config.section", "Section"))


def _function(known: Known) -> Function | None:
    module, name = known
    cls, _, method = name.rpartition(".")
    if cls:
        found = _members((module, cls)).get(method)
        return found if isinstance(found, ast.FunctionDef) else None
    for node in _trees()[module].body if module in _trees() else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    return None


def _method(cls: Known, name: str) -> Known | None:
    if isinstance(_members(cls).get(name), ast.FunctionDef):
        return (cls[0], f"{cls[1]}.{name}")
    return None


def _callee(
    func: ast.expr, types: dict[str, Known | None], module: str
) -> tuple[Known | None, Known | None, bool]:
    """What is called, of which object's class, and whether that object is a carrier."""
    if isinstance(func, ast.Name) and func.id in _names(module):
        known = _origin(_names(module)[func.id])
        is_class = bool(_members(known))
        return (_method(known, "__init__"), known, False) if is_class else (known, None, False)
    if isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Name) and func.value.id in _names(module):
            known = _origin(_names(module)[func.value.id])
            if not known[1]:
                return (known[0], func.attr), None, False
            return _method(known, func.attr), known, False
        cls = _type_of(func.value, types, module)
        return (_method(cls, func.attr), cls, _carries(cls)) if cls else (None, None, False)
    return None, None, False


def _type_of(value: ast.expr, types: dict[str, Known | None], module: str) -> Known | None:
    if isinstance(value, ast.Name):
        return types.get(value.id)
    if isinstance(value, ast.Attribute):
        cls = _type_of(value.value, types, module)
        member = _members(cls).get(value.attr) if cls else None
        if cls and isinstance(member, ast.AnnAssign):
            return _type(member.annotation, cls[0])
        if cls and isinstance(member, ast.FunctionDef):
            return _type(member.returns, cls[0])
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr == "replaced":
            return _type_of(value.func.value, types, module)
        if isinstance(value.func, ast.Name) and value.func.id == "replace":
            return _type_of(value.args[0], types, module)
        callee, owner, _ = _callee(value.func, types, module)
        if callee is None or callee[1].endswith(".__init__"):
            is_class = isinstance(value.func, ast.Name) or callee is not None
            return owner if is_class else None
        function = _function(callee)
        kind = _type(function.returns, callee[0]) if function else None
        return owner if kind is None and function and _names_self(function) else kind
    if isinstance(value, ast.IfExp):
        return _type_of(value.body, types, module) or _type_of(value.orelse, types, module)
    return None


def _names_self(function: Function) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == "Self"


@pytest.mark.slow
def test_a_configuration_makes_few_stops_and_returns() -> None:
    stops = Walk().stops
    assert ("forkrun.schedule.build", "build_schedule") in [function for function, *_ in stops]
    assert len(stops) <= MOST_STOPS
    assert sum(is_return for _, is_return, _ in stops) <= MOST_RETURNS


def main() -> None:
    """Prints the walk."""
    walk = Walk()
    for (module, name), is_return, depth in walk.stops:
        print(f"{'  ' * depth}{'↩' if is_return else '→'} {module}: {name}")
    n_returns = sum(is_return for _, is_return, _ in walk.stops)
    print(f"{len(walk.stops)} stops, {n_returns} returns")


if __name__ == "__main__":
    main()
