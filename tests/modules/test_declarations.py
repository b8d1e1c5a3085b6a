"""What classes of modules declare, of every kind of value: it is used, or refused with its name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

import forkrun
from forkrun.conditions import Conditions
from forkrun.modules.base import Module
from forkrun.modules.loading import construct
from tests.support.kinds import KINDS, TEXTS, Twice

COLUMNS = ("texts", "set", "none")
DECLARED: dict[str, Collection[str]] = {
    "consumes": COLUMNS, "random_name": TEXTS, "one_lumi": ("true",), "conditions": ("none",),
    "produces": ("none",), "replaces": ("texts", "set"), "variations": (), "only_variation": TEXTS,
    "on_data": ("true",),
}  # fmt: skip
"""What a class declares of its modules, and the kinds that each takes."""


def declaring(name: str, value: Any) -> Any:
    kind = type("Given", (Twice,), {name: value})
    return construct(kind, {}, Conditions.of_values({}), "module").module


def test_the_table_has_every_declaration() -> None:
    attributes = {**vars(Module), **vars(forkrun.Producer)}
    assert {n for n, v in attributes.items() if n[0] != "_" and not callable(v)} == DECLARED.keys()


@pytest.mark.parametrize("name", DECLARED)
def test_a_declaration_of_another_kind_is_refused_by_name(name: str) -> None:
    for kind, value in KINDS.items():
        if kind in DECLARED[name]:
            declaring(name, value)
        else:
            with pytest.raises(
                forkrun.ConfigError, match=f"module: .*(`{name}`|unknown condition)"
            ):
                pytest.fail(f"{name} takes {kind}: {declaring(name, value)!r}")


@pytest.mark.parametrize(("name", "value"), [
    ("one_lumi", "job"), ("one_lumi", False), ("on_data", False), ("consumes", ("MET_pt",)),
    ("replaces", np.array(["MET_pt"])), ("variations", {"jes": ("up", "down")}), ("variations", {}),
    ("produces", {"twice": "float32"}), ("only_variation", "jes_up"), ("conditions", ()),
])  # fmt: skip
def test_a_declaration_of_its_kind_is_taken(name: str, value: Any) -> None:
    assert name == "conditions" or getattr(declaring(name, value), name) is value


@pytest.mark.parametrize(("name", "value"), [
    ("variations", {"jes": "up"}), ("variations", {"jes": 3}), ("variations", {"j s": ("up",)}),
    ("produces", {"twice": 3}), ("consumes", ["MET_pt", 3]), ("one_lumi", "lumi"),
    ("variations", {"jes": [3]}), ("replaces", {"MET_pt": 1}), ("conditions", ("unknown",)),
])  # fmt: skip
def test_what_a_declaration_holds_is_looked_at(name: str, value: Any) -> None:
    with pytest.raises(forkrun.ConfigError, match=rf"module: .*({name}|unknown condition)"):
        declaring(name, value)
