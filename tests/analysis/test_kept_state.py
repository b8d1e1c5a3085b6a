"""What functions of a program keep: told where children lose it, and left as the job makes it by a
job without children, whose first events are looked at before."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.files import write_events
from tests.support.jobs import program

HELPERS = """
n_seen = 0
def count(n):
    global n_seen
    n_seen += n
"""
PROGRAM = """
import collections, functools, json, random, sys, threading
import hist, numpy as np
import forkrun, helpers
from helpers import count

number, not_yet_there, words = 0, None, "none"
listed, table, kinds, counter = [], {"n": {"all": 0}}, set(), collections.Counter()
queue, last = collections.deque(), [0] * 3
sums, filled = np.zeros(3), hist.Hist.new.Reg(2, 0, 1000).StrCat([], growth=True).Double()
python_random, numpy_random = random.Random(1), np.random.default_rng(1)
_cache = {}

class Tally:
    n_class = 0
    def __init__(self):
        self.n, self._n_own, self.parts = 0, 0, []
    def take(self, events):
        self.n += len(events)
        self._n_own += 1
        self.parts.append(len(events))
        Tally.n_class += len(events)
    def accept(self, events):
        self.take(events)
        return events["event"] > 0
    __call__ = accept

tally, called, bound = Tally(), Tally(), Tally()

def helper(n):
    global number, made_anew
    number += n
    made_anew = n

@functools.wraps(helper)
def wrapped(n):
    helper(n)

def closing_over():
    n_closed, list_closed = 0, []
    def closed(events, defaults=[]):
        nonlocal n_closed
        n_closed += len(events)
        list_closed.append(len(events))
        defaults.append(len(events))
        return events["event"] > 0
    return closed, lambda: [n_closed, list_closed, closed.__defaults__[0]]
closed, closed_values = closing_over()

def everything(events, most):
    global words, sums
    n = len(events)
    wrapped(n)
    count(n)
    helpers.n_seen += n
    words = "some"
    listed.append(n)
    table["n"]["all"] += n
    kinds.add("a")
    counter["a"] += n
    queue.append(n)
    last[1] = n
    sums[0] += n
    filled.fill(events["event"], "grown")
    tally.take(events)
    everything.n_calls = getattr(everything, "n_calls", 0) + 1
    _cache[n] = n
    python_random.random(); numpy_random.random(); random.random(); np.random.random()
    return events["event"] > 0

np.random.seed(5); random.seed(5)
threading.Thread(target=threading.Event().wait, daemon=True).start()
children = int(sys.argv[1])
job = forkrun.Job("a.root", name=f"job{children}")
job.filter(functools.partial(everything, most=3), label="everything")
for label, function in {"closed": closed, "called": called, "bound": bound.accept}.items():
    job.filter(function, label=label)
job.hist("event", (5, 0, 500))
job.run(children=children, quiet=True, plots=False)
print(json.dumps({
    "number": number, "made_anew": globals().get("made_anew"), "words": words, "listed": listed,
    "table": table, "kinds": sorted(kinds), "counter": counter, "queue": [*queue], "last": last,
    "sums": sums.tolist(), "filled": filled.values(flow=True).sum(), "sizes": filled.shape,
    "tally": vars(tally), "called": vars(called), "bound": vars(bound), "n_class": Tally.n_class,
    "closed": closed_values(), "n_calls": getattr(everything, "n_calls", 0), "cache": len(_cache),
    "helpers": helpers.n_seen, "random": [
        python_random.random(), numpy_random.random(), random.random(), np.random.random()],
}))
"""


LOST = {
    "everything": [
        "the global number", "the global listed", "the global table['n']['all']",
        "the global kinds", "the global counter", "the global queue", "the global last[1]",
        "the global sums", "the global filled", "the global tally.n", "the global tally.parts",
        "the global helpers.n_seen", "Tally.n_class",
    ],
    "closed": ["n_closed of closed()", "list_closed of closed()", "defaults of closed()"],
    "called": ["self.n", "self.parts"],
    "bound": ["self.n", "self.parts"],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_events(tmp_path / "a.root", [(1, 1, 100)])
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "analysis.py").write_text(PROGRAM)
    return tmp_path


def values(folder: Path, children: int) -> dict[str, Any]:
    ended = program(folder / "analysis.py", str(children), cwd=folder)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out.splitlines()[-1])
    return found


@pytest.mark.slow
def test_a_job_without_children_calls_functions_once_for_each_event(folder: Path) -> None:
    found = values(folder, 0)
    n_calls = found["n_calls"]
    assert n_calls == len(found["listed"])
    assert sum(found["listed"]) == 100
    drawn: list[Any] = [
        random.Random(1),
        np.random.default_rng(1),
        random.Random(5),
        np.random.RandomState(5),
    ]
    numbers = [[each.random() for _ in range(n_calls + 1)][-1] for each in drawn]
    kept = {"n": 100, "_n_own": n_calls, "parts": found["listed"]}
    assert found == {
        "number": 100, "made_anew": found["listed"][-1], "words": "some",
        "listed": found["listed"], "table": {"n": {"all": 100}}, "kinds": ["a"],
        "counter": {"a": 100}, "queue": found["listed"], "last": [0, found["listed"][-1], 0],
        "sums": [100, 0, 0], "filled": 100, "sizes": [2, 1], "tally": kept, "called": kept,
        "bound": kept, "n_class": 300, "closed": [100, found["listed"], found["listed"]],
        "n_calls": n_calls, "cache": len({*found["listed"]}), "helpers": 200, "random": numbers,
    }  # fmt: skip


@pytest.mark.slow
def test_what_children_lose_is_told_by_name(folder: Path) -> None:
    found = values(folder, 2)
    assert (found["number"], found["listed"], found["n_calls"]) == (0, [], 0)
    report = json.loads((folder / "job2-run/report.json").read_text())
    warnings = [text for text in report["warnings"] if "changed in children" in text]
    assert sorted(text.partition(" changed in children")[0] for text in warnings) == sorted(
        f'module "{label}": {name}' for label, names in LOST.items() for name in names
    )
    generators = [text.partition(" is a gen")[0] for text in report["warnings"]]
    assert 'module "everything": the global python_random' in generators
    assert 'module "everything": the global numpy_random' in generators
