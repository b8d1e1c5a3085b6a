"""Advice, the figures on which it rests, and what it saves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from forkrun.monitoring.records import read_records
from forkrun.monitoring.report.advice import advise
from forkrun.monitoring.report.summary import Advice, summarize
from forkrun.monitoring.report.write import write_report
from forkrun.monitoring.timing.model import InputCosts, ModuleTiming, Timing
from forkrun.monitoring.timing.record import SpentTime

from .conftest import MIB, T0, ledgers, timeline_lines, unit_line

WriteRun = Callable[..., Path]

EVEN = {c: [unit_line(c, c, 2, 15, cpu_s=25.0), unit_line(c + 3, c, 15, 15)] for c in range(3)}


def module(label: str, total_s: float, queued_s: float = 0.0, kind: str = "filter") -> ModuleTiming:
    times: dict[str, Any] = dict.fromkeys(
        ("mean_s", "p50_s", "p95_s", "max_s", "wait_inputs_s"), 0.0
    )
    return ModuleTiming(
        label, kind, "unsafe", (), 10, total_s, wait_queue_s=queued_s, cpu_s=total_s, **times
    )


def timing(*modules: ModuleTiming, spent: SpentTime | None = None, n_events: int = 600) -> Timing:
    of_threads = spent or SpentTime()
    return Timing(n_events, 1.0, 1.0, 0.0, modules, (), {}, 0, InputCosts(), of_threads)


def advice_on(run: Path, times: Timing | None = None) -> tuple[Advice, ...]:
    return advise(summarize(read_records(run), times), times)


def sections(found: Sequence[Advice]) -> list[str]:
    return [each.section for each in found]


def test_what_saves_most_comes_first_with_its_figure(write_run: WriteRun) -> None:
    late, startup, merge = advice_on(write_run())
    assert "Child 0 ended last, 7.00 s after the first: its last 100 events" in late.text
    assert 'forking.distribution = "guided"' in late.text
    assert late.figure == "utilization 75.0 %"
    assert late.saves_s == 0.25 * 13  # of the event loops
    assert startup.figure == "start-up 2.00 of 20.00 s, most for modules and conditions"
    assert (startup.saves_s, merge.saves_s) == (2.0, 1.5)


def test_a_late_child_is_found_where_numbers_of_children_have_holes(write_run: WriteRun) -> None:
    found = ledgers()
    found[7] = [line | {"child": 7, "pid": 107} for line in found.pop(0)]
    late, *_ = advice_on(write_run(found))
    assert late.text.startswith("Child 7 ended last, 7.00 s after the first")


def test_the_answer_is_in_the_first_ten_lines_of_the_text(write_run: WriteRun) -> None:
    run = write_run()
    report = write_report(run)
    lines = (run / "report.txt").read_text().splitlines()[:10]
    assert "done and verified" in lines[0]
    (cost,) = (line for line in lines if line.startswith("  Cost      "))
    assert cost.startswith(
        "  Cost      20.00 s by the clock · 6 threads for 20.00 s · 13.50 s on CPUs in event loops"
    )
    assert report["cost"].startswith("20.00 s by the clock · 6 threads")
    assert any(line.startswith("  Cheaper   Child 0 ended last, ") for line in lines)
    assert "(saves up to 3.25 s of 20.00 s)" in " ".join(line.strip() for line in lines)


def test_why_a_job_failed_is_at_the_top_in_its_own_words(write_run: WriteRun) -> None:
    timeline = timeline_lines()
    more = ['    job.py, line 11, in ht: raise ValueError("no")', "the traceback: child-001.log",
            "repeat this event in one process: forkrun run config.json --only 1:2:3"]  # fmt: skip
    timeline[-1] |= {"outcome": 'module "ht" failed at 1:2:3: ValueError: no', "help": more}
    run = write_run(timeline=timeline)
    report = write_report(run)
    assert report["job"]["help"] == tuple(more)
    assert report["advice"] == ()
    lines = (run / "report.txt").read_text().splitlines()
    assert lines[2:6] == [
        '  module "ht" failed at 1:2:3: ValueError: no', *(f"  {line}" for line in more),
    ]  # fmt: skip


@pytest.mark.parametrize("factor", [0.005, 1, 1000])
def test_a_job_of_any_length_has_the_same_advice(write_run: WriteRun, factor: float) -> None:
    timeline = [
        {**line, "time_s": T0 + factor * (line["time_s"] - T0)} for line in timeline_lines()
    ]
    ledger = {
        child: [
            {**line, **{key: T0 + factor * (line[key] - T0) for key in ("start_s", "end_s")}}
            for line in lines
        ]
        for child, lines in ledgers().items()
    }
    run = write_run(ledger=ledger, timeline=timeline)
    spent = SpentTime(4 * factor, 0, 10 * factor, 4 * factor, 0, 54 * factor, 600)
    found = advice_on(run, timing(spent=spent))
    assert sections(found) == ["activity", "activity", "phases", "phases"]
    assert found[0].figure == "66.7 % of their threads' time"  # waiting
    assert found[0].saves_s == pytest.approx(36 * factor / 6)


def test_threads_are_not_blamed_where_children_died(write_run: WriteRun) -> None:
    died = {"time_s": T0 + 11, "event": "child_exit", "child": 1, "pid": 101, "exit_code": -9}
    again = {"time_s": T0 + 11, "event": "recovery", "child": 1, "unit": 4, "text": "child 1 died"}
    ledger = {**EVEN, 1: [unit_line(1, 1, 2, 5), unit_line(4, 1, 11, 15, pid=300)]}
    spent = SpentTime(4, 0, 10, 4, 0, 54, 600)
    ((text, figure, saves_s),) = [
        (each.text, each.figure, each.saves_s)
        for each in advice_on(
            write_run(ledger=ledger, timeline=[*timeline_lines(), died, again]), timing(spent=spent)
        )
        if each.section != "phases" and "ended last" not in each.text
    ]
    assert text.startswith("What children that died had not committed was done again (1 death)")
    assert figure == "6.00 s of work lost"  # from its last commit at 5 s on
    assert saves_s == 6 / 3


def test_a_late_child_that_is_faster_than_others_is_not_called_slow(write_run: WriteRun) -> None:
    ledger = {0: [unit_line(0, 0, 2, 8)], 1: [unit_line(1, 1, 9, 12)], 2: [unit_line(2, 2, 2, 8)]}
    late = summarize(read_records(write_run(ledger=ledger))).balance.late
    assert late is not None
    assert (late.child, late.after_s) == (1, 4)
    assert late.reasons[0] == "it began 7.00 s after the first to begin"
    assert not [reason for reason in late.reasons if "took longer" in reason]


@pytest.mark.parametrize(
    ("modules", "figure", "saves_s"),
    [
        ((module("slow", 54.0), module("b", 6.0)), "90.0 % of the time of all modules", 4.5),
        ((module("a", 5.0, queued_s=12.0), module("b", 5.0)), "12 s of waiting", 2.0),
    ],
)
def test_the_module_that_takes_the_time_is_named(
    write_run: WriteRun, modules: Any, figure: str, saves_s: float
) -> None:
    (found,) = (
        each
        for each in advice_on(write_run(ledger=EVEN), timing(*modules))
        if each.section == "modules"
    )
    assert found.text.startswith(f"{modules[0].label} is ")
    assert (found.figure, found.saves_s) == (figure, saves_s)
    # Half of the events were measured: the other half has taken as long.
    half = timing(
        *(replace(each, total_s=each.total_s / 2, cpu_s=each.cpu_s / 2) for each in modules),
        n_events=300,
    )
    halved = [each for each in advice_on(write_run(ledger=EVEN), half) if "where" in each.text]
    assert [each.saves_s for each in halved] == [saves_s] * len(halved)


@pytest.mark.parametrize(
    ("n_cpus", "text"),
    [(24, "18 of 24 CPUs had nothing to do"), (4, "6 threads share the 4 CPUs of this machine")],
)
def test_more_cpus_than_threads_or_fewer_are_named(
    write_run: WriteRun, n_cpus: int, text: str
) -> None:
    run = write_run(ledger=EVEN)
    host = {"name": "a", "cpu": "b", "n_cpus": n_cpus, "memory_bytes": 1 << 40, "kernel": "",
            "command": [], "versions": {}}  # fmt: skip
    (run / "monitoring" / "host.json").write_text(json.dumps(host))
    (found,) = (each for each in advice_on(run) if each.section == "children")
    assert found.text.startswith(text)
    assert found.saves_s == (13 * 0.75 if n_cpus == 24 else None)


def test_how_many_children_fit_is_said_where_it_is_few(write_run: WriteRun) -> None:
    run = write_run(ledger=EVEN)
    host = {"name": "a", "cpu": "b", "n_cpus": 6, "memory_bytes": 180 * MIB, "kernel": "",
            "command": [], "versions": {}}  # fmt: skip
    (run / "monitoring" / "host.json").write_text(json.dumps(host))
    (found,) = (each for each in advice_on(run) if each.section == "memory")
    # 80 MiB are shared, and each of four processes has 20 of its own.
    assert found.text.startswith("About 4 children fit into the memory of this machine: each")
    assert found.figure == "168 MB of 189 MB"
    assert found.saves_s is None


def test_no_child_is_blamed_where_children_died(write_run: WriteRun) -> None:
    """It ended last since it did again what the others had lost."""
    died = {"time_s": T0 + 9, "event": "recovery", "child": 1, "pid": 99, "unit": 3, "text": "died"}
    records = read_records(write_run(timeline=[*timeline_lines(), died]))
    late = summarize(records).balance.late
    assert late is not None
    assert late.reasons == ("after 1 death of children",)
    assert not [each for each in advise(summarize(records), None) if "ended last" in each.text]
