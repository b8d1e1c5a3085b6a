"""Random programs, each a set of values at places where programs have values, and random edits."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

PLACES = (
    "constant", "deep", "closure", "default", "global", "attribute", "decorator", "module", "table",
    "params", "object", "partial", "condition", "package", "shared", "weight", "axis", "property",
    "filter", "late",
)  # fmt: skip
"""Each is what one histogram depends on; "filter": all; "package": of one that is installed."""
NOTHING = ("comment", "blank", "unused", "docstring", "title")
"""Edits that change nothing of any result."""
SHAPE = ("order", "label", "remove", "add", "output")
"""Edits of what is asked for, and how it is called."""

DEEPER = """{comment}
def twice(x): return x * {deep}
unused = {unused}
"""
HELPERS = '''import functools, json, pathlib
import deeper
{comment}
HERE = pathlib.Path(__file__).parent
SCALE = {module}
TABLE = json.loads((HERE / "table.json").read_text())
UNUSED = {unused}
def scaled(x):
    """{docstring}"""
    return deeper.twice(x)
class Cuts:
    low = {attribute}
class Tool:
    def __init__(self, k): self.k = k
    @property
    def power(self): return {property}
    def apply(self, x): return x + self.k
def decorated(f):
    @functools.wraps(f)
    def inner(events): return f(events) * {decorator}
    return inner
def make(k):
    def closed(events): return events.Jet_pt + k
    return closed
'''
ANALYSIS = """import functools, pathlib, sys
sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent / "site-packages"))
import awkward as ak, numpy as np
import forkrun, helpers, physlib
from helpers import Cuts, Tool, decorated, make
{comment}
GLOBAL = {global}
tool = Tool({object})
cache = {{}}
def constant(events): return events.Jet_pt * {constant}
def deep(events): return helpers.scaled(events.Jet_pt)
def default(events, k={default}): return events.Jet_pt + k
def of_global(events): return events.Jet_pt * GLOBAL
def attribute(events): return events.Jet_pt[events.Jet_pt > Cuts.low]
@decorated
def decorator(events): return events.Jet_pt
def module(events): return events.Jet_pt * helpers.SCALE
def table(events): return events.Jet_pt * helpers.TABLE["k"]
def params(events, k): return events.Jet_pt + k
def of_object(events): return tool.apply(events.Jet_pt)
def of_partial(events, k): return events.Jet_pt * k
def condition(events): return events.Jet_pt * events.conditions["scale"]
def package(events): return physlib.scale(events.Jet_pt)
def weight(events): return ak.ones_like(events.event) * {weight}
def power(events): return events.Jet_pt + Tool(1).power
def late(events):
    import deeper
    return deeper.twice(events.Jet_pt) + {late}
def puts(events):
    cache["k"] = {shared}
    return events.Jet_pt * {shared}
def gets(events): return events.Jet_pt + cache.get("k", 0)
def few(events): return ak.num(events.Jet_pt) >= {filter}
def odd(events): return events.event % 7 != 3
def made(events): return {{"lead": ak.sum(events.Jet_pt, axis=1) * {constant}}}
AXIS = (60, 0, 300)
FILLS = {{
    "constant": lambda j, n: j.hist(constant, AXIS, name=n),
    "deep": lambda j, n: j.hist(deep, AXIS, name=n),
    "closure": lambda j, n: j.hist(make({closure}), AXIS, name=n),
    "default": lambda j, n: j.hist(default, AXIS, name=n),
    "global": lambda j, n: j.hist(of_global, AXIS, name=n),
    "attribute": lambda j, n: j.hist(attribute, AXIS, name=n),
    "decorator": lambda j, n: j.hist(decorator, AXIS, name=n),
    "module": lambda j, n: j.hist(module, AXIS, name=n),
    "table": lambda j, n: j.hist(table, AXIS, name=n),
    "params": lambda j, n: j.define("shifted", params, k={params}).hist("shifted", AXIS, name=n),
    "object": lambda j, n: j.hist(of_object, AXIS, name=n),
    "partial": lambda j, n: j.hist(functools.partial(of_partial, k={partial}), AXIS, name=n),
    "condition": lambda j, n: j.hist(condition, AXIS, name=n),
    "package": lambda j, n: j.hist(package, AXIS, name=n),
    "weight": lambda j, n: j.hist("Jet_pt", AXIS, name=n, weight=weight),
    "axis": lambda j, n: j.hist("Jet_pt", (60, 0, {axis} * 100), name=n),
    "property": lambda j, n: j.hist(power, AXIS, name=n),
    "late": lambda j, n: j.hist(late, AXIS, name=n),
    "shared": lambda j, n: j.hist(puts, AXIS, name=n),
}}
if __name__ == "__main__":
    scale = {{"label": "scale", "type": "json", "file": "scale.json"}}
    job = forkrun.Job("a.root", conditions=[scale] if {has_condition} else [])
    for name in {filters}:
        job.filter({{"few": few, "odd": odd}}[name])
    job.define("made", made)
    for key, name in {fills}:
        FILLS[key](job, name)
    for label in {outputs}:
        job.output(label, keep=["event", "Jet_pt", "lead"])
    job.run(children=0, output=sys.argv[1], quiet=True)
"""


@dataclass
class Program:
    """One program. `values`: at each place; `fills`: place and name of each histogram."""

    rng: random.Random
    values: dict[str, int] = field(default_factory=dict)
    fills: list[tuple[str, str]] = field(default_factory=list)
    filters: list[str] = field(default_factory=lambda: ["few", "odd"])
    outputs: list[str] = field(default_factory=lambda: ["skim"])

    @classmethod
    def drawn(cls, rng: random.Random, n_histograms: int = 6) -> Program:
        """A program with some of the places."""
        program = cls(rng, {place: rng.randint(2, 9) for place in (*PLACES, *NOTHING)})
        program.values["filter"] = 1
        places = [place for place in PLACES if place != "filter"]
        program.fills = [(place, place) for place in rng.sample(places, n_histograms)]
        return program

    def write(self, folder: Path) -> None:
        """Writes its files."""
        values = {**self.values, "fills": self.fills, "filters": self.filters}
        values |= {"comment": f"# {self.values['comment']}" + "\n" * self.values["blank"]}
        values |= {
            "outputs": self.outputs,
            "has_condition": any(k == "condition" for k, _ in self.fills),
        }
        (folder / "analysis.py").write_text(ANALYSIS.format(**values))
        (folder / "helpers.py").write_text(HELPERS.format(**values))
        (folder / "deeper.py").write_text(DEEPER.format(**values))
        (folder / "table.json").write_text(json.dumps({"k": self.values["table"]}))
        (folder / "scale.json").write_text(json.dumps(self.values["condition"]))
        package = folder / "site-packages"
        package.mkdir(exist_ok=True)
        version = self.values["package"]
        text = f'__version__ = "{version}.0"\ndef scale(x): return x * {version}\n'
        (package / "physlib.py").write_text(text)

    def edit(self) -> set[str] | None:
        """Edits it at one place. Gives the places whose results may be others; None: any."""
        kind = self.rng.choice(("value",) * 5 + ("nothing",) * 3 + SHAPE)
        if kind == "value":
            place = self.rng.choice([k for k, _ in self.fills] * 3 + ["filter", "constant"])
            low, high = (1, 3) if place == "filter" else (2, 9)
            others = [v for v in range(low, high + 1) if v != self.values[place]]
            self.values[place] = self.rng.choice(others)
            return None if place in ("filter", "package", "condition") else self._touched(place)
        if kind == "nothing":
            self.values[self.rng.choice(NOTHING)] += self.rng.randint(1, 3)
            return set()
        return self._reshape(kind)

    def _touched(self, place: str) -> set[str]:
        return {
            place,
            *({"skim"} if place == "constant" else ()),
            *({"late"} if place == "deep" else ()),
        }

    def _reshape(self, kind: str) -> set[str] | None:
        if kind == "order":
            self.filters = self.filters[::-1]
            return None
        if kind == "output":
            self.outputs = [] if self.outputs else ["skim"]
            return {"skim"}
        number = self.rng.randrange(len(self.fills))
        if kind == "label":
            place, name = self.fills[number]
            self.fills[number] = (place, name.partition("_")[0] + f"_{self.rng.randint(1, 99)}")
            return {place}
        missing = [p for p in PLACES if p != "filter" and p not in [k for k, _ in self.fills]]
        if kind == "add" and missing:
            place = self.rng.choice(missing)
            self.fills.insert(number, (place, place))
            return None if place == "condition" else {place}
        if len(self.fills) > 2:
            place, _ = self.fills.pop(number)
            return None if place == "condition" else {place}
        return set()
