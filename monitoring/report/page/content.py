"""Page of a job, its values, and its picture without scripts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from forkrun.base.regular_file import read_regular
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.page.series import (
    activity_rows,
    course_rows,
    dataset_names,
    memory_series,
    parent_bars,
)
from forkrun.monitoring.report.page.write import page_of
from forkrun.monitoring.report.sections import outcome_of, problem_of
from forkrun.monitoring.report.summary import Summary
from forkrun.monitoring.tables import Section
from forkrun.monitoring.timing.record import read_courses
from forkrun.rundir.build import build_identity
from forkrun.rundir.directory import RunDirectory

_WIDTH, _LEFT = 1000.0, 60.0
_ROW, _MEMORY = 12.0, 140.0
_MOST_ROWS = 64
_MOST_POINTS = 400
_LEAST = 0.4
"""Smallest visible width of a bar."""


def draw_picture(content: Mapping[str, Any]) -> str:
    """SVG; "" if the job has not got so far. `content`: of the page."""
    rows, memory = content["activity"][:_MOST_ROWS], content["memory"]
    scale = (_WIDTH - _LEFT) / max(content["end_s"], 1e-3)
    parts = [
        _path("#4b5d78", [(bar["start_s"], bar["end_s"]) for bar in content["parent"]], 0, scale)
    ]
    names = [_name("parent", 0)] if rows else []
    for n, row in enumerate(rows, start=1):
        names.append(_name(f"child {row['child']}", n))
        parts.append(_path("#2f6db3", ((bar[0], bar[1]) for bar in row["bars"]), n, scale))
    top = (len(rows) + 2) * _ROW
    if memory:
        parts += _memory(memory, top, scale)
    elif not rows:
        return ""
    height = top + (_MEMORY + 2 * _ROW if memory else 0.0)
    drawn = "".join([*names, *parts])
    words = "What parent and children did against time, and the memory of all"
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" font-size="10" fill="currentColor"'
        f' role="img" aria-label="{words}">{drawn}</svg>'
    )


def _name(text: str, row: int) -> str:
    return f'<text x="0" y="{(row + 0.8) * _ROW:.0f}">{text}</text>'


def _path(colour: str, bars: Iterable[Sequence[float]], row: int, scale: float) -> str:
    """Bars of a row; bars that would touch are joined."""
    y, height = row * _ROW + 1, _ROW - 2
    shapes = "".join(
        f"M{_LEFT + begin:.1f},{y:.0f}h{end - begin:.1f}v{height:.0f}h{begin - end:.1f}Z"
        for begin, end in _joined((a * scale, b * scale) for a, b in bars)
    )
    return f'<path fill="{colour}" d="{shapes}"/>'


def _joined(bars: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    now: tuple[float, float] | None = None
    for begin, end in bars:
        if now is not None and begin - now[1] < _LEAST:
            now = now[0], max(end, now[1])
            continue
        if now is not None:
            yield now
        now = begin, max(end, begin + _LEAST)
    if now is not None:
        yield now


def _memory(memory: Mapping[str, Any], top: float, scale: float) -> Iterator[str]:
    """Layers of shared and private memory; and a line: without sharing [kB]."""
    every = max(len(memory["time_s"]) // _MOST_POINTS, 1)
    layers = [each["values"] for each in memory["layers"]]
    whole = [sum(values) for values in zip(*layers, strict=True)]
    alone = max(memory["unshared"], default=0)
    most = max(whole, default=0)
    highest = max(1.4 * most if alone > 3 * most else alone, 1)
    times = [_LEFT + time_s * scale for time_s in memory["time_s"]][::every]

    def line(values: Sequence[float]) -> str:
        heights = [top + _MEMORY * (1 - min(value / highest, 1)) for value in values[::every]]
        return "L".join(f"{x:.1f},{y:.1f}" for x, y in zip(times, heights, strict=True))

    floor = f"L{times[-1]:.1f},{top + _MEMORY:.0f}L{times[0]:.1f},{top + _MEMORY:.0f}Z"
    yield f'<path fill="#e8a33d" d="M{line(whole)}{floor}"/>'
    yield f'<path fill="#8fb0d6" d="M{line(layers[0])}{floor}"/>'
    dashed = 'fill="none" stroke="currentColor" stroke-dasharray="6 4"'
    yield f'<path {dashed} d="M{line(memory["unshared"])}"/>'
    words = (
        f"memory until {memory['time_s'][-1]:.1f} s: blue, shared; orange, private; dashed, if"
        f" nothing were shared: up to {alone / 1000:,.0f} MB"
    )
    yield f'<text x="0" y="{top + _MEMORY + 1.5 * _ROW:.0f}">{words}</text>'


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
