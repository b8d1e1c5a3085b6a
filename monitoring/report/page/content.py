"""The page of a job, and the values that it shows."""

from __future__ import annotations

import json
import time
from typing import Any

from msgspec import to_builtins

from forkrun.base.regular_file import read_regular
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.glance import cheaper
from forkrun.monitoring.report.page.courses import course_rows
from forkrun.monitoring.report.page.picture import draw_picture
from forkrun.monitoring.report.page.series import (
    activity_rows,
    dataset_names,
    memory_series,
    parent_bars,
)
from forkrun.monitoring.report.page.words import WORDS
from forkrun.monitoring.report.page.write import page_of
from forkrun.monitoring.report.sessions import gaps_between
from forkrun.monitoring.report.summary import Summary
from forkrun.monitoring.report.timing_table import timing_remarks
from forkrun.monitoring.timing.course import read_courses
from forkrun.monitoring.timing.model import Timing
from forkrun.rundir.build import build_identity
from forkrun.rundir.directory import RunDirectory

_SCRIPTS = ("dom.js", "tables.js", "charts.js", "activity.js", "pictures.js", "page.js")


def report_page(
    folder: RunDirectory, records: RunRecords, summary: Summary, timing: Timing | None, text: str
) -> str:
    """The page of a job, of all its sessions. `text`: the report for those without scripts."""
    content = page_content(folder, records, summary, timing)
    return page_of(f"{summary.job.name} · forkrun", _SCRIPTS, content, text, draw_picture(content))


def page_content(
    folder: RunDirectory, records: RunRecords, summary: Summary, timing: Timing | None
) -> dict[str, Any]:
    """All sessions of the job: times count from the beginning of the first one."""
    start_s = summary.phases.start_s
    start_s = records.start_s if start_s is None else min(start_s, records.start_s)
    report = summary.to_json()
    shown = zip(report["advice"], cheaper(report), strict=False)
    return {
        "report": report,
        "cheaper": [{**advice, "saving": saved} for advice, (_, saved) in shown],
        "made_s": time.time(),
        "build": build_identity(),
        "start_s": start_s,
        "sessions_s": [round(at - start_s, 3) for at in records.times("job_start")],
        "gaps_s": [
            [round(at - start_s, 3) for at in gap] for gap in gaps_between(summary.sessions)
        ],
        "end_s": round(max([records.end_s, *(s.end_s for s in summary.sessions)]) - start_s, 4),
        "memory": memory_series(records, start_s),
        "parent": parent_bars(records, start_s),
        "activity": to_builtins(activity_rows(records, start_s)),
        "courses": course_rows(read_courses(folder), start_s),
        "datasets": dataset_names(records),
        "timing": None if timing is None else _timing(timing, summary.events.n_events_read),
        "histograms": _histograms(folder),
        "words": WORDS,
    }


def _timing(timing: Timing, n_events_read: int) -> dict[str, Any]:
    """Without what the report has, and the bins, which nothing draws; with remarks on it."""
    remarks = timing_remarks(timing, n_events_read)
    content = {**to_builtins(timing), "input": None, "spent": None, "remarks": remarks}
    for module in content["modules"]:
        del module["bins"]
    return content


def _histograms(folder: RunDirectory) -> list[dict[str, Any]]:
    """Pictures that the merge has left. None where nothing was merged, or the file is damaged: the
    page does without."""
    if not (folder.pictures.exists() and folder.histograms.exists()):
        return []
    try:
        pictures = json.loads(read_regular(folder.pictures))
    except (OSError, ValueError):
        return []
    return pictures if isinstance(pictures, list) else []
