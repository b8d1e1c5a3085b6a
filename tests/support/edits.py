"""Random programs, each a set of values at places where programs have values, and random edits."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.files import write_events
from tests.support.places import CODE

NOTHING = ("comment", "blank", "unused", "docstring", "title", "children")
"""Edits that change nothing of any result."""
SETTINGS = ("filter", "mask", "max_events", "weights", "condition", "input")
"""Edits of what all, or most, results depend on."""
OF_JOB = ("params", "weight", "axis", "fine", "varied", "columns")
"""Places of a job beside its functions."""
OF_ALL = frozenset(name for name in CODE if name.startswith("patched_") or name == "behavior")
"""Places that all code may use without naming them."""
SEES_HELPERS = frozenset((
    "module_by_argument", "module_in_container", "module_in_object", "attribute_by_name",
    "module_by_another_name", "attrgetter", "import_when_called", "from_when_called",
    "dotted_import_when_called", "relative_import", "relative_module_when_called",
    "relative_import_when_called",
))  # fmt: skip
"""Places that are handed a module as a whole: another value in it may be theirs."""
HERE_ALONE = frozenset((
    "thread", "context_variable", "weak_reference", "opened_file", "module_subclass", "map",
    "property_subclass", "python_ufunc", "made_by_reduce", "slots", "struct", "globals_by_name",
    "globals_of_function", "precision", "subclasses",
))  # fmt: skip
"""Places that cannot be handed to another process: without children alone."""

_IMPORTS = """
import builtins, codecs, collections, configparser, contextlib, contextvars, copy, dataclasses
import decimal, enum, fractions, functools, heapq, importlib, io, itertools, json, math, operator
import os, pathlib, sys, threading, types, typing, weakref
import msgspec, numpy as np, awkward as ak
"""
_BEGIN = {
    "analysis": _IMPORTS
    + """
sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent / "site-packages"))
import helpers, deeper, kit.parts, kit.deeper, physlib, editedlib, spread.inner
""",
    "helpers": _IMPORTS
    + """
import deeper, physlib
HERE = pathlib.Path(__file__).parent
""",
    "kit/__init__": "",
    "kit/parts": "",
    "kit/deeper": "",
    "deeper": "",
    "spread/inner": "",
    "site-packages/physlib": "def _inner(x): return x\ndef twice(x): return _inner(x)\n",
    "site-packages/editedlib": "",
}
_NAMES = {"kit": "kit/__init__", "physlib": "site-packages/physlib"} | {
    "editedlib": "site-packages/editedlib"
}
_JOB = '''
import forkrun
def few(e): return ak.num(e.Jet_pt) >= {filter}
def odd(e): return e.event % 7 != 3
def lead(e):
    """{docstring}"""
    return {{"lead": ak.sum(e.Jet_pt, axis=1) * {columns}}}
def unused(): return {unused}
def shifted(e, k): return e.Jet_pt + k
def weight(e): return ak.ones_like(e.event) * {weight}
def up(e): return e.Jet_pt * (1 + {varied} / 100)
AXIS = (60, 0, 300)
OF_JOB = {{
    "params": lambda j, n: j.define("shifted", shifted, k={params}).hist("shifted", AXIS, name=n),
    "weight": lambda j, n: j.hist("Jet_pt", AXIS, name=n, weight=weight),
    "axis": lambda j, n: j.hist("Jet_pt", (60, 0, {axis} * 100), name=n),
    "fine": lambda j, n: j.hist("Jet_pt", {{"bins": 60, "low": 0, "high": {fine} * 50,
                                           "keep_fine": True}}, name=n, weight=weight),
    "columns": lambda j, n: j.hist("lead", AXIS, name=n),
    "varied": lambda j, n: j.vary("Jet_pt", "jes", up=up, down="0.9 * Jet_pt").hist(
        "Jet_pt", AXIS, name=n),
}}
if __name__ == "__main__":
    scale = {{"label": "scale", "type": "json", "file": "scale.json"}}
    job = forkrun.Job({{"a": "a.root", "b": {{"files": "b.root", "is_data": True}}}},
                      conditions=[scale])
    job.configure(source={{"max_events": {max_events} * 40, "lumi_mask": "mask.json"}})
    for name in {filters}:
        job.filter({{"few": few, "odd": odd}}[name])
    job.define("lead", lead)
    job.hist(lambda e: e.Jet_pt * e.conditions["scale"], AXIS, name="of_condition")
    for key, name in {fills}:
        if key in OF_JOB:
            OF_JOB[key](job, name)
        else:
            job.hist(globals()["f_" + key], AXIS, name=name)
    for label in {outputs}:
        job.output(label, keep=["event", "Jet_pt", "lead"][:{weights}])
    job.run(children={children}, output=sys.argv[1], quiet=True)
'''


def write_program(
    folder: Path, values: Mapping[str, int], comment: str = "", job: str = "", **more: str
) -> None:
    """Writes the places that have values, with all files that they need; `more`: texts after."""
    texts = {name: begin.replace("#", comment) + f"{comment}\n" for name, begin in _BEGIN.items()}
    others: dict[str, str] = {}
    for name, value in values.items():
        for file, text in {"analysis": CODE[name].main, **CODE[name].files}.items():
            content, file = text.replace("@v@", str(value)), _NAMES.get(file, file)
            if file in texts:
                texts[file] += f"{content}\n"
            else:
                others[f"{file}.json"] = content
    texts["analysis"] += job
    others |= {f"{name}.py": text for name, text in texts.items()}
    for name, text in {**others, **more}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@dataclass
class Program:
    """One program. `values`: at each place; `fills`: place and name of each histogram."""

    rng: random.Random
    children: bool
    values: dict[str, int] = field(default_factory=dict)
    fills: list[tuple[str, str]] = field(default_factory=list)
    filters: list[str] = field(default_factory=lambda: ["few", "odd"])
    outputs: list[str] = field(default_factory=lambda: ["skim"])

    @classmethod
    def drawn(cls, rng: random.Random, n_histograms: int = 14) -> Program:
        """A program with some of the places."""
        program = cls(rng, rng.random() < 0.3)
        program.values = {name: rng.randint(2, 9) for name in (*CODE, *OF_JOB, *NOTHING)}
        program.values |= {"filter": 1, "max_events": 4, "mask": 3, "weights": 3, "condition": 2}
        program.values |= {"input": 1}
        chosen = rng.sample(program.places, n_histograms)
        program.fills = sorted(((n, n) for n in chosen), key=lambda each: each[0] == "varied")
        return program

    @property
    def places(self) -> list[str]:
        """Those that it may have."""
        without = HERE_ALONE if self.children else frozenset()
        return [name for name in (*CODE, *OF_JOB) if name not in without]

    def write(self, folder: Path) -> None:
        """Writes its files."""
        comment = f"# {self.values['comment']}" + "\n" * self.values["blank"]
        children = (0, 1, 2)[self.values["children"] % 3] if self.children else 0
        lists = {"fills": self.fills, "filters": self.filters, "outputs": self.outputs}
        job = _JOB.format(**{**self.values, **lists, "children": children})
        code = {name: self.values[name] for name, _ in self.fills if name in CODE}
        mask = f'{{"1": [[1, {self.values["mask"]}]]}}'
        read = {"mask.json": mask, "scale.json": str(self.values["condition"])}
        write_program(folder, code, comment, job, **read)
        for number, name in enumerate("ab"):
            first = 1 + 1000 * number + 100 * (self.values["input"] if number else 1)
            write_once(folder / f"{name}.root", first)

    def edit(self) -> tuple[list[str], frozenset[str] | None]:
        """Edits it at some places. Gives the kinds of edits, and names of histograms that may be
        others; None: any."""
        kinds, touched = [], frozenset[str]()
        for _ in range(self.rng.choice((1, 1, 3, 6))):
            kind = self.rng.choice(("value",) * 6 + ("nothing",) * 3 + ("shape",))
            name, new = self._edited(kind)
            kinds.append(name)
            if new is None:
                return kinds, None
            touched |= new
        return kinds, touched

    def _edited(self, kind: str) -> tuple[str, frozenset[str] | None]:
        if kind == "nothing":
            name = self.rng.choice(NOTHING)
            self.values[name] += self.rng.randint(1, 3)
            return name, frozenset()
        if kind == "value":
            place, name = self.rng.choice(self.fills)
            self.values[place] = self._other(self.values[place], range(2, 10))
            if place in OF_ALL or place in ("precision", "package", "package_edited"):
                return place, None
            touched = {n for p, n in self.fills if p in SEES_HELPERS}
            return place, frozenset({name, "skim", *touched})
        return self._reshaped(
            self.rng.choice((*SETTINGS, "order", "output", "label", "add", "remove"))
        )

    def _reshaped(self, kind: str) -> tuple[str, frozenset[str] | None]:
        if kind in SETTINGS:
            self.values[kind] = self._other(self.values[kind], range(1, 4))
        elif kind == "order":
            self.filters = self.filters[::-1]
        elif kind == "output":
            self.outputs = [] if self.outputs else ["skim"]
        else:
            self._refilled(kind)
        return kind, None

    def _refilled(self, kind: str) -> None:
        number = self.rng.randrange(len(self.fills))
        place, name = self.fills[number]
        if kind == "label":
            self.fills[number] = (place, f"{place}_{self.rng.randint(1, 99)}")
        elif kind == "add":
            have = {place for place, _ in self.fills}
            other = self.rng.choice([p for p in self.places if p not in have and p != "varied"])
            self.fills.insert(0, (other, other))
        elif len(self.fills) > 4:
            self.fills.remove((place, name))

    def _other(self, value: int, among: Iterable[int]) -> int:
        return self.rng.choice([each for each in among if each != value])


def write_once(path: Path, first: int) -> None:
    """Four lumis of events from this number on, if the file has others."""
    note = path.with_suffix(".first")
    if not note.exists() or note.read_text() != str(first):
        if path.exists():
            os.unlink(path)
        write_events(path, [(1, lumi, 20) for lumi in range(1, 5)], first)
        note.write_text(str(first))
