"""Values of every kind that an argument could be given."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Any

import awkward as ak
import boost_histogram as bh
import hist
import numpy as np

import forkrun

FILE = "objects.root"


def two_muons(block: Any) -> Any:
    return block["MET_pt"] > 15


class Cut(forkrun.Filter):
    consumes = ("MET_pt",)

    def filter(self, block: Any) -> Any:
        return block["MET_pt"] > 15


class Twice(forkrun.Producer):
    consumes = ("MET_pt",)
    produces = {"twice": "float32"}

    def produce(self, block: Any) -> Any:
        return {"twice": 2 * block["MET_pt"]}


class Sums(forkrun.Analyzer):
    consumes = ("MET_pt",)

    def analyze(self, block: Any) -> None:
        self.accumulate("met", block["MET_pt"])


KINDS: dict[str, Any] = {
    "text": "MET_pt", "expression": "MET_pt > 15", "path": Path(FILE), "url": "root://host//x.root",
    "function": two_muons, "partial": functools.partial(two_muons),
    "lambda": lambda b: b["MET_pt"],
    "filter": Cut, "producer": Twice, "analyzer": Sums, "module": Cut(), "class": dict,
    "none": None, "true": True, "integer": 3, "negative": -1, "float": 2.5,
    "numpy": np.float32(2.5),
    "complex": 1j, "nan": float("nan"), "bytes": b"MET_pt", "texts": ["MET_pt", "MET_phi"],
    "numbers": [1.0, 2.0], "triple": (5, 0, 100), "set": {"MET_pt"}, "dict": {"bins": 5},
    "files": [Path(FILE)], "glob": "obj*.root", "open": io.StringIO(FILE),
    "array": np.ones(3), "awkward": ak.Array([1.0]), "axis": hist.axis.Regular(5, 0, 100),
    "histogram": hist.Hist.new.Reg(5, 0, 100).Weight(),
    "boost": bh.Histogram(bh.axis.Integer(0, 3)),
    "object": object(),
}  # fmt: skip
TEXTS = ("text", "expression", "url", "glob")
CODE = ("text", "expression", "url", "glob", "function", "partial", "lambda")
"""Texts are expressions, if not good ones: that is said when the job is checked."""
NAMES = (*TEXTS, "texts")
FILES = (*NAMES, "path", "files")
PATHS = (*TEXTS, "path")
FUNCTIONS = ("function", "partial", "lambda")
