"""An analyzer that accumulates all kinds of values, for jobs of several datasets."""

from __future__ import annotations

from typing import Any, Self

import forkrun
from tests.support.selection import fail


class Ends:
    """The first and the last event, in the order of the input."""

    def __init__(self, ends: list[int]) -> None:
        self.ends = ends

    def merge(self, other: Self) -> None:
        self.ends = [self.ends[0], other.ends[1]]

    def to_json(self) -> list[int]:
        return self.ends

    @classmethod
    def from_json(cls, state: list[int]) -> Self:
        return cls(state)


class Accumulates(forkrun.Analyzer):
    consumes = ("x",)

    def __init__(self, with_objects: bool = True) -> None:
        self.with_objects = with_objects

    def analyze(self, block: Any) -> None:
        events = block.selected
        if not len(events):
            return
        numbers = [int(number) for number in events.events]
        self.accumulate("n", len(events))
        self.accumulate("x", events["x"])
        self.accumulate("runs", set(events.runs.tolist()))
        self.accumulate("events", numbers)
        if self.with_objects:
            self.accumulate("ends", Ends([numbers[0], numbers[-1]]))


class Crashes(forkrun.Filter):
    """Kills its process at one event."""

    consumes = ("x",)

    def __init__(self, event: int) -> None:
        self.event = event

    def filter(self, block: Any) -> Any:
        if self.event in block.events:
            fail("SIGSEGV")
        return block["x"] > -100
