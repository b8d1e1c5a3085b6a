"""Keys of a configuration with types, defaults and texts, as its models have them: for the man page
and the reference."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, NamedTuple

from forkrun.config import section
from forkrun.config.checks import After, Rule
from forkrun.config.model import JobConfig
from forkrun.config.section import AtMost, Section

_NAMED = {
    section.Texts: "text or list of texts",
    section.Size: "size",
    section.ShareOrSize: "share or size",
    section.Duration: "time",
}
_PLAIN = {bool: "`true` or `false`", int: "integer", float: "number", str: "text"}
_BY_PROGRAMS = "Set by programs: "
"""Docstrings of keys that are not for people begin so."""
_AS_WRITTEN = {"forking.children": '"auto"', "outputs.compression": '"auto"'}
"""Defaults that are replaced when a configuration is validated."""


class Key(NamedTuple):
    """A key: `forking.children`; `default` is "" where there is none."""

    name: str
    type: str
    default: str
    text: str


class KeySection(NamedTuple):
    """A section: `[forking]`, or `[[outputs]]` of several; its text, and its keys."""

    name: str
    text: str
    keys: list[Key]


def sections() -> Iterator[KeySection]:
    """All sections, in the order of the model, each followed by the tables within it."""
    for name, hint in _hints(JobConfig).items():
        if model := _section_in(hint):
            yield from _described(name, model, typing.get_origin(hint) is tuple)


def _described(name: str, model: type[Section], several: bool) -> Iterator[KeySection]:
    hints = _hints(model)
    texts = _texts(model)
    keys = [
        Key(f"{name}.{key}", _words(hint), _default(f"{name}.{key}", model, key), texts[key])
        for key, hint in hints.items()
        if key in texts
    ]
    text = " ".join((inspect.getdoc(model) or "").split())
    text = re.sub(r"^\[+[\w.]+\]+(: | of |$)", "", text)
    yield KeySection(f"[[{name}]]" if several else f"[{name}]", text[:1].upper() + text[1:], keys)
    for key in texts:
        if typing.get_origin(hints[key]) is tuple and (inner := _section_in(hints[key])):
            yield from _described(f"{name}.{key}", inner, several=True)


def _hints(model: type[Section]) -> dict[str, Any]:
    return {name: key.annotation for name, key in model.known_keys.items()}


def _texts(model: type[Section]) -> dict[str, str]:
    """Docstrings of fields, those of base classes included; without keys that programs set."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__[: model.__mro__.index(Section)]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, after in pairwise(statements):
            match field, after:
                case ast.AnnAssign(target=ast.Name(key)), ast.Expr(ast.Constant(str(text))):
                    found[key] = " ".join(text.split())
    return {key: text for key, text in found.items() if not text.startswith(_BY_PROGRAMS)}


def _section_in(hint: Any) -> type[Section] | None:
    """The model of a table, or of a list of tables."""
    if isinstance(hint, type):
        return hint if issubclass(hint, Section) else None
    inner = [arg for arg in typing.get_args(hint) if arg is not Ellipsis]
    found = [model for arg in inner if isinstance(arg, type) and (model := _section_in(arg))]
    return found[0] if found else None


def _words(hint: Any) -> str:
    """`integer from 1 to 4,096`, `"stop" or "skip"`, `list of tables`."""
    if hint in _NAMED:
        return _NAMED[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _words(inner[0]) + _bounds(hint.__metadata__)
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(_words(arg) for arg in inner if arg is not NoneType))
    if origin is typing.Literal:
        return " or ".join(f'`"{word}"`' for word in inner)
    if origin is tuple:
        of, *bounds = _words(inner[0]).partition(" ")
        return f"list of {of}s{''.join(bounds)}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " or ".join(f'`"{word.value}"`' for word in hint)
    return _PLAIN.get(hint, "table") if hint is not Any else "any value"


def _bounds(metadata: tuple[Any, ...]) -> str:
    """` from 0 to 10,000`; the largest number that a file can have goes without saying."""
    rules = [each for each in metadata if isinstance(each, Rule)]
    least = next((rule.ge for rule in rules if rule.ge is not None), None)
    above = next((rule.gt for rule in rules if rule.gt is not None), None)
    most = [rule.le for rule in rules if rule.le is not None]
    most += [
        each.convert.most
        for each in metadata
        if isinstance(each, After) and isinstance(each.convert, AtMost)
    ]
    text = f" from {least}" if least is not None else f" above {above}" if above is not None else ""
    return text + (f" up to {min(most):,}" if most and min(most) < 2**63 - 1 else "")


def _default(name: str, model: type[Section], key: str) -> str:
    """The default in TOML's syntax, "required", or "" where the text says what happens."""
    known = model.known_keys[key]
    if name in _AS_WRITTEN or known.is_required:
        return _AS_WRITTEN.get(name, "required")
    return _in_toml(known.default)


def _in_toml(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_in_toml, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
