"""A module without a label has the name of its class or function, if no other has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


def with_labels(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration whose modules have labels where these follow from their types. What is of
    another form stays for others to refuse."""
    modules = raw.get("modules")
    if not isinstance(modules, list | tuple):
        return dict(raw)
    names = [None if _label_of(module) else _name_of(module) for module in modules]
    taken = Counter([*names, *map(_label_of, modules)])
    labelled = [
        {"label": name, **module} if name and taken[name] == 1 else module
        for name, module in zip(names, modules, strict=True)
    ]
    return {**raw, "modules": labelled}


def _label_of(module: Any) -> Any:
    label = module.get("label") if isinstance(module, Mapping) else None
    return label if isinstance(label, str) else None


def _name_of(module: Any) -> str | None:
    """The class or function; None of an expression, which has no name."""
    kind = module.get("type") if isinstance(module, Mapping) else None
    if not isinstance(kind, str) or ":" not in kind or kind.startswith("expression:"):
        return None
    return kind.rpartition(":")[2] or None
