"""Random expressions have the values of a plain interpreter, event by event."""

from __future__ import annotations

import math
import os
import random
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.modules.expressions import Expression
from tests.analysis.plain_expressions import Drawer, Node, Undrawn, draw_event

N_EVENTS = 24
TYPES = {"i": "int32", "c": "uint8", "x": "float64", "y": "float32", "z": "float32", "b": "bool",
         "Jet_pt": "float32", "Jet_n": "uint8", "Jet_tag": "bool", "Jet_eta": "float64",
         "Mu_pt": "float32", "Mu_jet": "int16", "Mu_tight": "bool", "v_a": "float64",
         "v_k": "int64", "v_on": "bool"}  # fmt: skip


class Block:
    """What an expression asks of an event block."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._events = events
        self.column_types = dict.fromkeys(TYPES, "")
        self._columns = {name: self._column(name) for name in TYPES}

    def _column(self, name: str) -> Any:
        values = [event[name] for event in self._events]
        if name.startswith(("Jet_", "Mu_")):
            counts = [len(each) for each in values]
            flat = np.array([v for each in values for v in each], TYPES[name])
            return ak.unflatten(flat, counts)
        return np.array(values, TYPES[name])

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._events)


def drawn(random_: random.Random, events: list[dict[str, Any]]) -> tuple[Node, list[Any]]:
    """An expression with its value for each event."""
    while True:
        node = Drawer(random_).expression()
        try:
            return node, [node.value(event) for event in events]
        except (Undrawn, OverflowError):  # passed over: another one is drawn
            continue


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
        )
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(found, float) and math.isnan(found)
    return found is None if wanted is None else found is not None and bool(found == wanted)


def values_of(text: str, block: Block) -> Any:
    with np.errstate(all="ignore"):
        return ak.to_list(Expression(text)(block))


def compared(seed: int, n_expressions: int) -> None:
    random_ = random.Random(seed)
    events = [draw_event(random_) for _ in range(N_EVENTS)]
    alone = random_.randrange(N_EVENTS)
    whole, one = Block(events), Block(events[alone : alone + 1])
    wrong: list[str] = []
    for _ in range(n_expressions):
        node, wanted = drawn(random_, events)
        try:
            found, of_one = values_of(node.text, whole), values_of(node.text, one)
        except Exception as error:
            wrong.append(f"{node.text}: {type(error).__name__}: {str(error)[:200]}")
            continue
        differ = [n for n in range(N_EVENTS) if not same(found[n], wanted[n])]
        if differ:
            n = differ[0]
            wrong.append(f"{node.text}: {found[n]}, not {wanted[n]}, with {events[n]}")
        elif not same(of_one[0], wanted[alone]):
            wrong.append(f"{node.text}: {of_one[0]}, not {wanted[alone]}, of an event alone")
    assert not wrong, f"seed {seed}: {len(wrong)} of {n_expressions}\n" + "\n".join(wrong[:20])


@pytest.mark.slow
def test_300_random_expressions_have_the_values_of_a_plain_interpreter() -> None:
    compared(int(os.environ.get("FORKRUN_EXPRESSION_SEED", "60")), 300)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_500_more_with_other_events(seed: int) -> None:
    compared(seed, 500)
