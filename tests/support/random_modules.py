"""Modules with random numbers that tests run."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np

import forkrun


class Draws(forkrun.Producer):
    """A uniform number `column` per event; `stream`: the name of the random numbers."""

    consumes = ()

    def __init__(self, column: str, stream: str = "") -> None:
        self.column = column
        self.produces = {column: "float64"}
        self.random_name = stream

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {self.column: block.random.random()}


class Toss(forkrun.Filter):
    """Half of the events."""

    consumes = ()

    def filter(self, block):  # type: ignore[no-untyped-def]
        return block.random.random() < 0.5


class Refuses(forkrun.Filter):
    """Asks for a number of each selected event, of a block that is not selected."""

    consumes = ("Jet_pt",)

    def filter(self, block):  # type: ignore[no-untyped-def]
        return block.random.random(like=block["Jet_pt"][:-1]) > 0


class Dies(forkrun.Filter):
    """Kills its process at one event while the file `until` does not exist; `once`: makes it."""

    consumes = ()

    def __init__(self, event: int, until: str, once: bool) -> None:
        self.event = event
        self.until = Path(until)
        self.once = once

    def filter(self, block):  # type: ignore[no-untyped-def]
        if self.event in block.events and not self.until.exists():
            if self.once:
                self.until.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.ones(len(block), dtype=bool)
