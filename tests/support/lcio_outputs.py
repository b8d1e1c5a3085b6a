"""Outputs in LCIO of some events of a file, as children select them and a merge makes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from forkrun import _core
from forkrun.formats.events import EventSource, OutputToMake
from forkrun.formats.lcio import LCIO

SETTINGS = _core.ProcessorSettings(executor="serial", threads=1, concurrent_blocks=1, block_size=64)


def select_lcio(file: Path, output: Path, keep: Sequence[str], every: int = 1) -> OutputToMake:
    """Selects each so-manieth event; the fragments are beside the output. `keep`: columns."""
    index = _core.OpenLcio(str(file)).index()
    builder = _core.ScheduleBuilder([])
    builder.add_output("all", [], keep, [])
    schedule = builder.compile()
    schedule.begin_job()
    processor = _core.Processor(schedule, LCIO.source(source_of(file)), SETTINGS)
    fragments = []
    events = range(0, len(index["event"]), every)
    ids = list(zip(index["run"].tolist(), index["lumi"].tolist(), strict=True))
    for number, ((run, lumi), entries) in enumerate(groupby(events, ids.__getitem__)):
        fragments.append(f"{output}.{number}")
        ranges = [(0, entry, entry + 1) for entry in entries]
        processor.process(number, run, lumi, ranges, {"all": fragments[-1]})
    processor.finish()
    schedule.end_job()
    content = _core.OutputContent(branches=keep, compression="auto", tree="LCIO")
    return OutputToMake(
        fragments=[(number, [fragment]) for number, fragment in enumerate(fragments)],
        files=[(str(output), [])],
        content=content,
        n_events=len(events),
    )


def source_of(file: Path) -> EventSource:
    clusters = _core.OpenLcio(str(file)).index()["clusters"]
    return EventSource(files=[str(file)], clusters=[clusters])


def make_lcio(file: Path, output: Path, keep: Sequence[str]) -> None:
    """All events. Raises InputError, OutputError."""
    LCIO.make_outputs([select_lcio(file, output, keep)], source_of(file))
