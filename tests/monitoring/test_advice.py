"""Advice, and the figures on which it rests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forkrun.monitoring.records import read_records
from forkrun.monitoring.report.advice import advise
from forkrun.monitoring.report.summary import summarize
from forkrun.monitoring.timing.model import ModuleTiming, Timing

from .conftest import MIB, ledgers, unit_line

WriteRun = Callable[..., Path]


def module(label: str, total_s: float, queued_s: float = 0.0, kind: str = "filter") -> ModuleTiming:
    times: dict[str, Any] = dict.fromkeys(
        ("mean_s", "p50_s", "p95_s", "max_s", "cpu_s", "wait_inputs_s"), 0.0
    )
    return ModuleTiming(label, kind, "unsafe", (), 10, total_s, wait_queue_s=queued_s, **times)


def timing(*modules: ModuleTiming) -> Timing:
    return Timing(600, 1.0, 1.0, 0.0, modules, (), {}, 0)


def texts(run: Path, times: Timing | None = None) -> list[tuple[str, str]]:
    return [(each.text, each.figure) for each in advise(summarize(read_records(run)), times)]


def test_a_late_child_and_idle_threads_are_named_with_their_figures(write_run: WriteRun) -> None:
    (late, waiting) = texts(write_run())
    assert "Child 0 ended last, 7.00 s after the first" in late[0]
    assert 'forking.distribution = "guided"' in late[0]
    assert late[1] == "utilization 75.0 %"
    assert waiting[1] == "CPU efficiency 25.0 %"


def test_a_job_in_which_nothing_stands_out_has_no_advice(write_run: WriteRun) -> None:
    even = {c: [unit_line(c, c, 2, 15, cpu_s=25.0)] for c in range(3)}
    assert texts(write_run(ledger=even), timing(*(module(c, 2.0) for c in "abc"))) == []


@pytest.mark.parametrize(
    ("modules", "figure"),
    [
        ((module("slow", 9.0), module("b", 1.0)), "90.0 % of the time of all modules"),
        ((module("a", 5.0, queued_s=4.0), module("b", 5.0)), "4 s of waiting"),
    ],
)
def test_the_module_that_takes_the_time_is_named(
    write_run: WriteRun, modules: Any, figure: str
) -> None:
    even = {c: [unit_line(c, c, 2, 15, cpu_s=25.0)] for c in range(3)}
    ((text, told),) = texts(write_run(ledger=even), timing(*modules))
    assert text.startswith(f"{modules[0].label} is ")
    assert told == figure


def test_how_many_children_fit_is_said_where_it_is_few(write_run: WriteRun) -> None:
    even = {c: [unit_line(c, c, 2, 15, cpu_s=25.0)] for c in range(3)}
    run = write_run(ledger=even)
    host = {"name": "a", "cpu": "b", "n_cpus": 4, "memory_bytes": 180 * MIB, "kernel": "",
            "command": [], "versions": {}}  # fmt: skip
    (run / "monitoring" / "host.json").write_text(json.dumps(host))
    ((text, figure),) = texts(run)
    assert text.startswith("About 4 children fit into the memory of this machine: each has 21.0 MB")
    assert figure == "168 MB of 189 MB"


def test_a_job_of_a_second_is_not_judged_by_its_balance(write_run: WriteRun) -> None:
    short = {c: [{**line, "cpu_s": 0.1} for line in lines][:1] for c, lines in ledgers().items()}
    for lines in short.values():
        lines[0]["end_s"] = lines[0]["start_s"] + 0.1 * (1 + lines[0]["child"])
    assert texts(write_run(ledger=short)) == []
