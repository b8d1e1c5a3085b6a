"""Modules that read conditions."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import forkrun


class Scale(forkrun.Producer):
    """scale: (n_events,) float64, the first element of the array `scale`."""

    consumes = ("event",)
    produces = {"scale": "float64"}
    conditions = ("scale",)

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"scale": np.full(len(block), self.conditions["scale"][0])}


class PythonScale(forkrun.Producer):
    """python_scale: the same, made where C++ makes the column `scale`."""

    consumes = ("event",)
    produces = {"python_scale": "float64"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"python_scale": np.full(len(block), self.conditions["scale"][0])}


class Told(forkrun.Analyzer):
    """Writes a line for each message, with what it sees, into `folder`."""

    consumes = ("event",)

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def note(self, text: str) -> None:
        with (self.folder / f"{os.getpid()}.txt").open("a") as file:
            file.write(f"{text} {self.conditions['scale'][0]}\n")

    def begin_iov(self, iov: int) -> None:
        self.note(f"begin_iov {iov}")

    def end_iov(self, iov: int) -> None:
        self.note(f"end_iov {iov}")

    def begin_run(self, run: int) -> None:
        self.note(f"begin_run {run}")

    def end_run(self, run: int) -> None:
        self.note(f"end_run {run}")

    def begin_lumi(self, run: int, lumi: int) -> None:
        self.note(f"begin_lumi {run}:{lumi}")

    def end_lumi(self, run: int, lumi: int) -> None:
        self.note(f"end_lumi {run}:{lumi}")

    def analyze(self, block):  # type: ignore[no-untyped-def]
        self.note(f"events of {block.run}:{block.lumi}")


class ReadsEarly(Scale):
    """Reads its condition where no event is processed."""

    def __init__(self) -> None:
        self.first = self.conditions["scale"][0]


class Misspells(forkrun.Filter):
    """Reads a condition that there is not."""

    consumes = ("event",)

    def filter(self, block):  # type: ignore[no-untyped-def]
        return block["event"] > self.conditions["scael"][0]


class Undeclared(Misspells):
    """Reads what it does not declare."""

    conditions = ("other",)

    def filter(self, block):  # type: ignore[no-untyped-def]
        return block["event"] > self.conditions["scale"][0]


class DeclaresWrong(Scale):
    conditions = ("scael",)


class ForgetsComma(Scale):
    conditions = "scale"


class Writes(forkrun.Filter):
    """Changes a condition, in one of many ways."""

    consumes = ("event",)

    def __init__(self, how: str) -> None:
        self.how = how
        self.kept = None

    def filter(self, block):  # type: ignore[no-untyped-def]
        getattr(self, self.how)()
        return np.ones(len(block), dtype=bool)

    def element(self) -> None:
        self.conditions["scale"][0] = 3

    def in_place(self) -> None:
        scale = self.conditions["scale"]
        scale += 1

    def view(self) -> None:
        part = self.conditions["scale"][:1]
        part.fill(0)

    def attribute(self) -> None:
        self.kept = self.conditions["scale"]
        np.multiply(self.kept, 2, out=self.kept)

    def table(self) -> None:
        self.conditions["cuts"]["pt"] = [1]

    def table_list(self) -> None:
        self.conditions["cuts"]["pt"].append(1)

    def column(self) -> None:
        raise ValueError("assignment destination is read-only")


class Weights(forkrun.Producer):
    """What Python makes of a table and of a correction; twin of weights.cpp."""

    consumes = ("Jet_pt", "event")
    produces = {"Jet_sf": "float64[]", "Jet_sf_error": "float64[]"}
    conditions = ("sf",)

    def produce(self, block):  # type: ignore[no-untyped-def]
        pt = block["Jet_pt"]
        eta = (block["event"] % 7) - 3.0
        sf = self.conditions["sf"]
        return {"Jet_sf": sf(pt, eta), "Jet_sf_error": sf.error(pt, eta)}


class Corrected(forkrun.Producer):
    """Jet_c: what correctionlib says of each jet."""

    consumes = ("Jet_pt",)
    produces = {"Jet_c": "float64[]"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"Jet_c": self.conditions["jec"]["jec"].evaluate(block["Jet_pt"])}


class Scored(forkrun.Producer):
    """score: (n_events,) float32, the sum that a model makes of (event, 1)."""

    consumes = ("event",)
    produces = {"score": "float32"}
    conditions = ("model",)

    def produce(self, block):  # type: ignore[no-untyped-def]
        features = np.stack([block["event"], np.ones(len(block))], axis=1).astype(np.float32)
        return {"score": self.conditions["model"](features)[:, 0]}
