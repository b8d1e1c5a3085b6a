"""Page of a job, and its values."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from forkrun.base.regular_file import read_regular
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.page.picture import draw_picture
from forkrun.monitoring.report.page.series import (
    activity_rows,
    course_rows,
    dataset_names,
    memory_series,
    parent_bars,
)
from forkrun.monitoring.report.page.write import page_of
from forkrun.monitoring.report.parts import Section
from forkrun.monitoring.report.sections import outcome_of, problem_of
from forkrun.monitoring.report.summary import Summary
from forkrun.monitoring.timing.record import read_courses
from forkrun.rundir.build import build_identity
from forkrun.rundir.directory import RunDirectory

_SCRIPTS = ("dom.js", "tables.js", "charts.js", "activity.js", "pictures.js", "sections.js")


def report_page(
    folder: RunDirectory,
    records: RunRecords,
    summary: Summary,
    sections: Sequence[Section],
    text: str,
) -> str:
    """Page of a job with all its sessions. `text`: the report for browsers without scripts."""
    content = page_content(folder, records, summary, sections)
    return page_of(f"{summary.job.name} · forkrun", _SCRIPTS, content, text, draw_picture(content))


def start_of(records: RunRecords, summary: Summary) -> float:
    """Start of the job's first session [s since the epoch]."""
    start_s = summary.phases.start_s
    return records.start_s if start_s is None else min(start_s, records.start_s)


def page_content(
    folder: RunDirectory, records: RunRecords, summary: Summary, sections: Sequence[Section]
) -> dict[str, Any]:
    """Content with all sessions of the job: times count from the start of the first one. Charts of
    jobs on nodes begin with the first submission, at most as long before as the job took."""
    start_s = start_of(records, summary)
    end_s = max([records.end_s, *(s.end_s for s in summary.sessions)]) - start_s
    submitted = [at_s for node in summary.nodes for at_s in node.submitted_s]
    report = summary.to_json()
    return {
        "head": _head(report, start_s),
        "sections": [section.to_page() for section in sections],
        "report": report,
        "sessions_s": [round(at - start_s, 3) for at in records.times("job_start")],
        "begin_s": max(min([start_s, *submitted]) - start_s, -end_s),
        "end_s": round(end_s, 4),
        "memory": memory_series(records, summary.memory, start_s),
        "parent": parent_bars(records, start_s),
        "activity": to_builtins(activity_rows(records, start_s)),
        "courses": course_rows(read_courses(folder), start_s),
        "datasets": dataset_names(records),
        "histograms": _histograms(folder),
    }


def _head(report: Mapping[str, Any], start_s: float) -> dict[str, Any]:
    job, host = report["job"], report["job"]["host"]
    began = time.strftime("began %Y-%m-%d %H:%M:%S UTC", time.gmtime(start_s))
    where = [host["name"], f"{host['n_cpus']} × {host['cpu']}"] if host else []
    return {
        "title": f"forkrun · {job['name']}",
        "outcome": job["outcome"],
        "words": outcome_of(report).lower(),
        "lines": " · ".join([began, *where, f"written by forkrun {build_identity()}"]),
        "problem": "\n".join(problem_of(report)),
    }


def _histograms(folder: RunDirectory) -> list[dict[str, Any]]:
    """Pictures made by the merge. Empty if nothing was merged or the file is damaged."""
    if not (folder.pictures.exists() and folder.histograms.exists()):
        return []
    try:
        pictures = json.loads(read_regular(folder.pictures))
    except (OSError, ValueError):
        return []
    return pictures if isinstance(pictures, list) else []
