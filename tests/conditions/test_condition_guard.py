"""A condition that a module changes is an error that says which, where, and by whom."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun import _core
from forkrun.conditions.guard import WATCHED, ConditionGuard
from forkrun.config.choices import CheckConditions
from forkrun.errors import JobError
from forkrun.modules.python_module import MODULE_CALLBACKS
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, ledger_units, write_job


class Calibration:
    def __init__(self) -> None:
        self.gains = {"muon": [1.0, 2.0]}
        self.seen = {7}
        self.table = np.arange(4.0)
        self.table.flags.writeable = False
        self.counts = collections.Counter(a=1)
        self.raw = bytearray(b"abc")
        self.last = None

    @functools.cached_property
    def total(self) -> float:
        return sum(self.gains["muon"])

    @functools.cache  # noqa: B019
    def power(self, n: int) -> float:
        return 2.0**n


CHANGES: dict[str, tuple[Callable[[Calibration], Any], str]] = {
    "item of a list": (lambda c: c.gains["muon"].append(3.0), '["cal"].gains["muon"] (list)'),
    "key of a dict": (lambda c: c.gains.update(jet=[]), '["cal"].gains (dict)'),
    "set": (lambda c: c.seen.add(8), '["cal"].seen (set)'),
    "counter": (lambda c: c.counts.update(a=1), '["cal"].counts (Counter)'),
    "bytes": (lambda c: c.raw.append(1), '["cal"].raw (bytearray)'),
    "attribute": (lambda c: setattr(c, "last", 5), '["cal"] (Calibration)'),
    "cache in an attribute": (lambda c: c.total, '["cal"] (Calibration)'),
    "lock of an array": (lambda c: c.table.setflags(write=True), '["cal"].table (ndarray)'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_and_its_place_is_told(change: str) -> None:
    do, place = CHANGES[change]
    calibration = Calibration()
    guard = ConditionGuard([("other", [1]), ("cal", calibration)], CheckConditions.CHILD)
    guard.remember({})
    guard.check()
    do(calibration)
    with pytest.raises(JobError) as caught:
        guard.check()
    text = str(caught.value)
    assert text.startswith(f'condition "cal": a module changed conditions{place}; ')
    assert "change a copy (copy.deepcopy)" in text


def test_reading_in_any_way_is_no_change() -> None:
    calibration = Calibration()
    snapshot = _core.ContainerSnapshot([("cal", calibration)])
    assert vars(calibration)["last"] is None  # makes the dict of attributes
    assert calibration.power(3) == 8  # fills a cache of functools
    assert sorted(calibration.gains) == ["muon"]
    assert [*calibration.seen] == [7]
    assert calibration.table[1:].sum() == 6
    hash(calibration)
    assert snapshot.first_change() is None


@pytest.mark.parametrize(
    ("when", "unit"), [("never", None), ("child", 0), ("unit", 0), ("call", 0)]
)
def test_units_are_compared_as_often_as_asked_for(when: str, unit: int | None) -> None:
    values: list[int] = []
    guard = ConditionGuard([("v", values)], CheckConditions(when))
    guard.remember({})
    values.append(1)
    if unit is None:
        guard.after_unit()
        guard.check()
    else:
        with pytest.raises(JobError):
            guard.after_unit()


def test_later_units_are_compared_only_if_asked_for() -> None:
    values: list[int] = []
    guards = {when: ConditionGuard([("v", values)], when) for when in CheckConditions}
    for guard in guards.values():
        guard.remember({})
        guard.after_unit()
    values.append(1)
    guards[CheckConditions.CHILD].after_unit()
    with pytest.raises(JobError):
        guards[CheckConditions.UNIT].after_unit()
    with pytest.raises(JobError):
        guards[CheckConditions.CHILD].check()


MODULE = """
import numpy as np
import forkrun

class Calibration:
    def __init__(self):
        self.seen = set()

def make():
    return Calibration()

class Reads(forkrun.Filter):
    def filter(self, block):
        assert len(self.conditions["cal"].seen) < 1000
        return np.ones(len(block), dtype=bool)

class Writes(Reads):
    def filter(self, block):
        self.conditions["cal"].seen.add(int(block.events[0]))
        return super().filter(block)
"""


def changing_job(folder: Path, when: str, children: int = 2) -> Path:
    (folder / "mods.py").write_text(MODULE)
    events = write_events(folder / "a.root", [(1, lumi, 20) for lumi in range(1, 5)])
    job = jets_job([events], forking={"children": children}, memory={"check_conditions": when})
    job["conditions"] = [{"label": "cal", "type": f"python:{folder / 'mods.py'}:make"}]
    for label, name in (("reader", "Reads"), ("writer", "Writes")):
        job["modules"].append({"label": label, "type": f"python:{folder / 'mods.py'}:{name}"})
    job["paths"]["skim"][:0] = ["reader", "writer"]
    return write_job(folder, job)


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 2])
def test_a_job_whose_module_changes_a_condition_fails_and_writes_nothing(
    tmp_path: Path, children: int
) -> None:
    ended = forkrun("run", changing_job(tmp_path, "child", children), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert 'condition "cal": a module changed conditions["cal"].seen (set)' in ended.err
    assert "--set memory.check_conditions=call names the module" in ended.err
    assert ledger_units(tmp_path / "run") == []
    assert list((tmp_path / "run" / "output").iterdir()) == []


def test_comparing_after_every_call_names_the_module(tmp_path: Path) -> None:
    ended = forkrun("run", changing_job(tmp_path, "call"), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert (
        'condition "cal": module "writer" in filter() changed conditions["cal"].seen (set)'
        in ended.err
    )


def test_a_job_may_do_without(tmp_path: Path) -> None:
    ended = forkrun("run", changing_job(tmp_path, "never"), "-o", "run", cwd=tmp_path)
    assert ended.code == 0


CALLBACKS = """
import numpy as np
import forkrun

class Calibration:
    def __init__(self):
        self.seen = set()

def make():
    return Calibration()

class Quiet(forkrun.Analyzer):
    # Is called for everything, after the module before it, and does nothing.

    def analyze(self, block):
        pass

class Changes(forkrun.Analyzer):
    def analyze(self, block):
        pass

class ChangesAndFilters(forkrun.Filter):
    def filter(self, block):
        return np.ones(len(block), dtype=bool)

class ChangesAndProduces(forkrun.Producer):
    produces = {"One": "int32"}

    def produce(self, block):
        return {"One": np.ones(len(block), dtype=np.int32)}

def changing(name, before):
    def callback(self, *arguments):
        self.conditions["cal"].seen.add(name)
        return before(self, *arguments) if before else None
    return callback

for kind in (Changes, ChangesAndFilters, ChangesAndProduces):
    def init(self, callback: str, kind=kind):
        setattr(kind, callback, changing(callback, getattr(kind, callback, None)))
    kind.__init__ = init
for name in ("pre_fork", "post_fork", "begin_job", "end_job", "begin_iov", "end_iov", "begin_run",
             "end_run", "begin_lumi", "end_lumi", "begin_dataset", "end_dataset"):
    setattr(Quiet, name, lambda self, *arguments: None)
"""


def test_the_guard_watches_every_callback_of_modules() -> None:
    assert {*MODULE_CALLBACKS, "produce", "filter", "analyze"} == set(WATCHED)


@pytest.mark.slow
@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("callback", WATCHED)
@pytest.mark.parametrize("children", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_change_in_any_callback_is_found_before_the_next_module_is_called(
    tmp_path: Path, callback: str, children: int
) -> None:
    home = f"python:{tmp_path / 'mods.py'}"
    (tmp_path / "mods.py").write_text(CALLBACKS)
    events = write_events(tmp_path / "a.root", [(1, 1, 20), (2, 1, 20)])
    kind = {"filter": "ChangesAndFilters", "produce": "ChangesAndProduces"}.get(callback, "Changes")
    job = {
        "datasets": [{"name": "one", "files": [str(events)]}],
        "forking": {"children": children},
        "memory": {"check_conditions": "call"},
        "conditions": [{"label": "cal", "type": f"{home}:make"}],
        "modules": [
            {"label": "writer", "type": f"{home}:{kind}", "params": {"callback": callback}},
            {"label": "quiet", "type": f"{home}:Quiet"},
        ],
        "paths": {"all": ["quiet"] if callback == "produce" else ["writer", "quiet"]},
        "outputs": [{"label": "events"}],
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 5, ended.err
    what = f'condition "cal": module "writer" in {callback}() changed conditions["cal"].seen (set)'
    assert what in ended.err


@pytest.mark.parametrize("when", ["child", "unit"])
def test_a_change_before_the_fork_is_found_whenever_conditions_are_compared(
    tmp_path: Path, when: str
) -> None:
    job = changing_job(tmp_path, when)
    harmless = MODULE.replace('self.conditions["cal"].seen.add(int(block.events[0]))', "pass")
    change = "\n    def pre_fork(self):\n        self.conditions['cal'].seen.add(1)\n"
    (tmp_path / "mods.py").write_text(harmless + change)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 5, ended.err
    assert 'condition "cal": a module changed conditions["cal"].seen (set)' in ended.err
