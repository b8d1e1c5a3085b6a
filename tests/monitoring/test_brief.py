"""What a command prints of its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from forkrun.monitoring.report.notebook import MAX_LINES, format_brief
from forkrun.monitoring.report.write import write_report


def report_of(run: Path, **changes: Any) -> dict[str, Any]:
    return {**write_report(run, plots=False), **changes}


def test_it_says_whether_all_is_well_and_where_the_rest_is(
    write_run: Callable[..., Path],
) -> None:
    lines = format_brief(report_of(write_run()), "here/run").splitlines()
    assert lines[0].endswith(": done and verified in 20.00 s")
    assert lines[1].startswith("  Events    600 of 600 read, digests agree · 30 events/s, ")
    assert lines[2] == "  Output    events: 60 events (10.0 %), 5.00 kB, merged file agrees"
    assert lines[-1] == "  Report    here/run/report.html, in words report.txt"


def test_the_memory_of_a_job_is_said_and_what_nobody_knows_as_well(
    write_run: Callable[..., Path],
) -> None:
    report = report_of(write_run())
    last = format_brief(report, "run").splitlines()[-2]
    assert last == (
        "  Memory    peak at least 168 MB, 83.9 MB of it shared by all: sharing saves 252 MB"
    )
    report["memory"] |= {
        "is_at_least": True, "node": 3, "all_nodes_bytes": 10**9, "all_nodes_saving_bytes": 10**8,
    }  # fmt: skip
    first, second = format_brief(report, "run").splitlines()[-3:-1]
    assert first.startswith(
        "  Memory    peak at least 168 MB of node 3, 83.9 MB of it shared by all"
    )
    assert second.strip() == "all nodes 1.00 GB at their peaks: sharing saves 100 MB"


def test_children_that_read_ahead_are_said_to(write_run: Callable[..., Path]) -> None:
    report = report_of(write_run())
    assert "reading ahead" not in format_brief(report, "run")
    report["job"]["reads_ahead"] = True
    assert ", reading ahead, utilization " in format_brief(report, "run")


def test_what_is_wrong_comes_before_what_there_is_too_much_of(
    write_run: Callable[..., Path],
) -> None:
    report = report_of(write_run())
    (output,) = report["events"]["outputs"]
    left = {"event": "1:2:3", "file": "a.root", "entry": 4, "cause": "killed"}
    report["events"] |= {
        "outputs": [{**output, "label": f"out{n}"} for n in range(9)],
        "left_out": [left], "n_events_left_out": 1, "digests_agree": False,
        "not_finite": {"plots/pt": 7},
    }  # fmt: skip
    cut = {"after": "cut", "n_events": 5, "total": None}
    report["cutflow"] = [{"path": f"p{n}", "cuts": [cut]} for n in range(9)]
    report["warnings"] = [f"warning {n} " + 200 * "x " for n in range(9)]
    report["recovery"] = [{"text": "child 1 was forked again"}] * 2
    lines = format_brief(report, "run").splitlines()
    assert len(lines) == MAX_LINES
    assert max(map(len, lines)) <= 100
    kinds = [line.split()[0] for line in lines if line[2:3] != " "]
    assert kinds[1:] == [
        "Events", "LEFT", "Warning", "Warning", "Recovery", "Output", "Output", "Output",
        "Children", "Memory", "Report",
    ]  # fmt: skip
    text = "\n".join(lines)
    assert "DIGESTS DIFFER" in text
    assert "1:2:3 (entry 4 of a.root)" in text
    assert "histogram plots/pt: 7 of the values summed are infinite" in text
    assert "and 8 more" in text
