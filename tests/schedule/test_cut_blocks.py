"""Modules that see one lumi at a time, in blocks of several: each gets a part for each lumi, and
what it makes is joined again."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkrun import _core
from forkrun.modules.base import Analyzer, Filter, Producer
from forkrun.modules.block import EventBlock
from forkrun.modules.python_module import PythonModule
from tests.schedule.test_core import Job
from tests.schedule.test_core import settings as settings_of
from tests.support.files import Lumi, write_events

ONE_LANE = [("serial", 1), ("tbb", 1)]
SEVERAL_LANES = [("tbb", 2), ("tbb", 3)]


class OfLumi(Producer):
    """Makes columns of the lumi of its events."""

    consumes = ("Jet_pt",)
    produces = {"of_lumi": "uint32", "scaled": "float32[]"}
    one_lumi = True

    def produce(self, block: EventBlock) -> Mapping[str, Any]:
        lumi = block.lumi
        of_lumi = np.full(len(block), lumi, np.uint32)
        return {"of_lumi": of_lumi, "scaled": block["Jet_pt"] * lumi}


class Numbered(OfLumi):
    """Makes the number of each event in its lumi instead."""

    def begin_lumi(self, run: int, lumi: int) -> None:
        self.lumi, self.n = (run, lumi), 0

    def produce(self, block: EventBlock) -> Mapping[str, Any]:
        assert (block.run, block.lumi) == self.lumi
        self.n += len(block)
        numbers = np.arange(self.n - len(block), self.n)
        return {"of_lumi": numbers.astype("uint32"), "scaled": block["Jet_pt"] * block.lumi}

    def end_lumi(self, run: int, lumi: int) -> None:
        assert (run, lumi) == self.lumi
        self.lumi = (0, 0)


class OddLumis(Filter):
    """Accepts those of odd numbers."""

    consumes = ()
    one_lumi = True

    def filter(self, block: EventBlock) -> Any:
        return np.full(len(block), block.lumi % 2 == 1)


class Notes(Analyzer):
    """Notes callbacks, selected events and their random numbers."""

    consumes = ("scaled",)

    def __init__(self) -> None:
        self.notes: list[Any] = []

    def begin_run(self, run: int) -> None:
        self.notes.append(f"run {run}")

    def begin_lumi(self, run: int, lumi: int) -> None:
        self.notes.append(f"begin {run}:{lumi}")

    def end_lumi(self, run: int, lumi: int) -> None:
        self.notes.append(f"end {run}:{lumi}")

    def analyze(self, block: EventBlock) -> None:
        events = block.selected
        numbers = events.random.normal(0, 1)
        rows = zip(events.events.tolist(), numbers.tolist(), events["scaled"].tolist(), strict=True)
        self.notes += [(block.lumi, *row) for row in rows]


class Everything(Analyzer):
    """Sees whole blocks."""

    consumes = ("of_lumi", "scaled", "event")

    def __init__(self) -> None:
        self.n_calls = 0
        self.rows: list[tuple[Any, ...]] = []

    def analyze(self, block: EventBlock) -> None:
        self.n_calls += 1
        columns = (block["event"].tolist(), block["of_lumi"].tolist(), block["scaled"].tolist())
        self.rows += zip(*columns, strict=True)


def processed(
    lumis: Sequence[Lumi], units: Sequence[int], executor: Any, threads: int, block_size: int
) -> tuple[Everything, Notes]:
    """What analyzers saw of these lumis. `units`: numbers of lumis that are one unit."""
    with tempfile.TemporaryDirectory() as folder:
        job = Job(write_events(Path(folder) / "events.root", lumis))
        seen, notes = Everything(), Notes()
        job.builder.add_python_module(
            "p", "producer", m := PythonModule(Numbered() if threads == 1 else OfLumi()),
            m.consumes, m.produces, "", True,
        )  # fmt: skip
        odd = PythonModule(OddLumis())
        job.builder.add_python_module("odd", "filter", odd, odd.consumes, {}, "", True)
        job.add("notes", PythonModule(notes))
        job.add("seen", PythonModule(seen))
        job.builder.add_path("path", ["odd", "notes"])
        schedule = job.builder.compile()
        assert schedule.wants_whole_lumis
        assert not schedule.wants_one_lumi(threads)
        source = job.source()
        setting = settings_of(executor, threads, block_size, 3)
        processor = _core.Processor(schedule, source, setting)
        to_do = iter(units_of(job.ranges, units))
        processor.run(lambda: next(to_do, None), lambda *_: None)
        return seen, notes


def units_of(ranges: Any, units: Sequence[int]) -> list[Any]:
    """Units of so many lumis each, as long as there are some, then of one each."""
    made: list[Any] = []
    left = np.array([row[:4] for row in ranges], np.int64)
    for n in [*units, *[1] * len(ranges)]:
        (run, lumi, begin, end), left = left[:n].T, left[n:]
        if not len(run):
            break
        lumis = (run, lumi, end - begin[0]) if len(run) > 1 else None
        entries = [(0, begin[0], end[-1])]
        number, alone = len(made), False
        made.append(_core.UnitToDo(number, run[0], lumi[0], entries, {}, 0, alone, lumis, 0))
    return made


def jets(event: int) -> list[float]:
    return [float(10 * (jet + 1) + event % 7) for jet in range(event % 5)]


def expected(lumis: Sequence[Lumi], counts: bool) -> list[tuple[Any, ...]]:
    """What a module sees of all events. `counts`: they are numbered in their lumi."""
    rows, event = [], 0
    for _, lumi, n in lumis:
        for number in range(n):
            event += 1
            scaled = [pt * lumi for pt in jets(event)]
            rows.append((event, number if counts else lumi, scaled))
    return rows


drawn_lumis = st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=1, max_size=12)


def numbered(drawn: Sequence[tuple[bool, int]]) -> list[Lumi]:
    """Lumis of these numbers of events. A true value begins a run."""
    lumis: list[Lumi] = []
    run, lumi = 1, 0
    for begins_run, n in drawn:
        run, lumi = (run + 1, 1) if begins_run and lumis else (run, lumi + 1)
        lumis.append((run, lumi, n))
    return lumis


@settings(max_examples=20, deadline=None)
@given(
    drawn=drawn_lumis,
    units=st.lists(st.integers(1, 6), max_size=6),
    block_size=st.integers(1, 60),
    how=st.sampled_from(ONE_LANE + SEVERAL_LANES),
)
def test_parts_of_blocks_are_what_blocks_of_one_lumi_are(
    drawn: list[tuple[bool, int]], units: list[int], block_size: int, how: tuple[str, int]
) -> None:
    lumis = numbered(drawn)
    seen, notes = processed(lumis, units, *how, block_size)
    assert seen.rows == expected(lumis, how[1] == 1)
    _, one_by_one = processed(lumis, [], "serial", 1, 16)
    assert without_runs(notes.notes) == without_runs(one_by_one.notes)
    begun = [note for note in notes.notes if str(note).startswith("begin")]
    assert begun == [f"begin {run}:{lumi}" for run, lumi, _ in lumis]


def without_runs(notes: list[Any]) -> list[Any]:
    """These begin and end with each unit."""
    return [note for note in notes if not str(note).startswith(("run", "end run"))]


@pytest.mark.parametrize("how", ONE_LANE + SEVERAL_LANES)
def test_other_modules_are_called_with_the_whole_block(how: tuple[str, int]) -> None:
    lumis = [(1, lumi, 5) for lumi in range(1, 21)]
    seen, notes = processed(lumis, [20], *how, 100)
    assert seen.n_calls == 1
    assert len(ak.Array([note for note in notes.notes if isinstance(note, tuple)])) == 50
