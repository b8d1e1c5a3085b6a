"""Writes `report.json`, `.txt` and `.html`, `timing.json` and `plots/` of a run directory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from forkrun.base.durable import write_text
from forkrun.errors import InputError
from forkrun.monitoring.records import RunRecords, read_records
from forkrun.monitoring.report.advice import advise
from forkrun.monitoring.report.memory_detail import read_memory_detail
from forkrun.monitoring.report.nodes import NodeReports, read_node_reports
from forkrun.monitoring.report.page.content import report_page, start_of
from forkrun.monitoring.report.sections import cost_in_words, outcome_of, problem_of, sections_of
from forkrun.monitoring.report.summary import Summary, summarize
from forkrun.monitoring.tables import WIDTH, Section, text_of
from forkrun.monitoring.timing.model import Timing, write_run_timing
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.opening import check_no_link, remove_abandoned_reports


def format_text(report: Mapping[str, Any], sections: Sequence[Section]) -> str:
    """Text of the whole report, with lines of at most WIDTH characters except for longer names."""
    title = f"forkrun · {report['job']['name']}"
    head = [title + outcome_of(report).rjust(WIDTH - len(title)), "━" * WIDTH]
    lines = "\n".join([*head, *(f"  {line}" for line in problem_of(report))])
    return (
        "\n\n".join([lines, *filter(None, (text_of(section.parts) for section in sections))]) + "\n"
    )


def write_report(
    run_dir: Path,
    *,
    plots: bool = False,
    commits: Sequence[Commit] | None = None,
    plan: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Reads `run_dir` (finished, failed or partial) and writes the report's files next to its data,
    also `timing.json` and `trace.json` if there are records for them; `commits`, `plan`: if known.
    Call it under the lock.

    Returns the content of `report.json` (schema: docs/monitoring.md). The whole text is then in
    `RUNDIR/report.txt`, ready for printing. Raises InputError if `run_dir` is not a run directory
    and OutputError if it cannot be written. `plots`: draws them with matplotlib, so call it in a
    process that will not fork afterwards."""
    folder = RunDirectory(run_dir)
    check_no_link(folder.plots)
    remove_abandoned_reports(folder)
    records = read_records(run_dir, commits, plan)
    nodes = read_node_reports(folder)
    timing, problem = _write_timing(run_dir, records, nodes)
    summary, sections = _compose(run_dir, records, timing, nodes, problem)
    report = summary.to_json()
    text = format_text(report, sections)
    write_text(folder.report_text, text)
    write_text(folder.report_page, report_page(folder, records, summary, sections, text))
    write_text(folder.report_json, _as_text(report))  # last: marks the report as complete
    if plots:
        from forkrun.monitoring.report.plots import write_plots

        write_plots(folder.plots, records, summary)
    return report


def report_of_now(run_dir: Path) -> tuple[dict[str, Any], str]:
    """Content of `report.json` and `report.txt` for a run in which another process works; writes
    nothing. Raises InputError."""
    nodes = read_node_reports(RunDirectory(run_dir))
    summary, sections = _compose(run_dir, read_records(run_dir), None, nodes)
    report = summary.to_json()
    return report, format_text(report, sections)


def _compose(
    run_dir: Path,
    records: RunRecords,
    timing: Timing | None,
    nodes: NodeReports | None,
    problem: str = "",
) -> tuple[Summary, list[Section]]:
    """Composes summary and sections. `problem`: reason for missing timing."""
    try:
        summary = summarize(records, timing, nodes)
        summary = replace(summary, advice=advise(summary, timing))
        summary = replace(summary, cost=cost_in_words(summary.to_json()))
        summary = _with_memory_detail(summary, RunDirectory(run_dir))
        times = None if timing is None else to_builtins(timing)
        return summary, sections_of(summary.to_json(), times, start_of(records, summary), problem)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{run_dir}: its records have an unexpected form: {error!r}") from error


def _with_memory_detail(summary: Summary, folder: RunDirectory) -> Summary:
    try:
        return replace(summary, memory_detail=read_memory_detail(folder))
    except InputError as error:
        return replace(summary, damaged=(*summary.damaged, str(error)))


def _write_timing(
    run_dir: Path, records: RunRecords, nodes: NodeReports | None
) -> tuple[Timing | None, str]:
    """Writes the times of modules; returns them, and an explanation if they are damaged."""
    timings = nodes.timings if nodes else ()
    try:
        return write_run_timing(run_dir, records.config.get("paths", {}), timings), ""
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        return None, f"Times of modules are left out: their records cannot be read ({error})"


def _as_text(report: Mapping[str, Any]) -> str:
    """JSON with a line for each list entry: a job on many nodes has thousands of children."""
    entries = (f" {json.dumps(name)}: {_indented(value)}" for name, value in report.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _indented(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
    return json.dumps(value, indent=1).replace("\n", "\n ")
