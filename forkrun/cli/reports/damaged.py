"""Records of a run directory that are damaged: the reason of an error that has no other one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from forkrun.base.json_lines import complete_lines
from forkrun.base.regular_file import read_regular, recently_read
from forkrun.errors import OutputError

Check = Callable[[Any], Any]
"""Takes what is in a record; raises what is wrong with it."""


def damaged_record() -> OutputError | None:
    """The error that names the record that was read last and is damaged; None if none is."""
    for path in recently_read():
        if why := _damage(Path(path)):
            return OutputError(f"{path}: is damaged: {why}; {_remedy(Path(path).name)}")
    return None


def _damage(path: Path) -> str:
    """Fault of a record; "" if it has none, or if its contents are not known."""
    if path.suffix not in (".json", ".jsonl"):
        return ""
    try:
        data = read_regular(path)
        if path.suffix == ".jsonl":
            return next(filter(None, map(_damage_of_line, complete_lines(data))), "")
        value = json.loads(data)
    except (OSError, ValueError) as error:
        return str(error)
    name = "part" if path.parent.name == "parts" else path.name
    check: Check = _FORMS.get(name, _table)
    try:
        check(value)
    except Exception as error:
        return f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return ""


def _damage_of_line(line: bytes) -> str:
    try:
        is_table = not line.strip() or isinstance(json.loads(line), dict)
    except ValueError as error:
        return str(error)
    return "" if is_table else f"a line is not a table: {line[:40]!r}"


def _remedy(name: str) -> str:
    if name in _MADE_AGAIN:
        return f"remove it: {_MADE_AGAIN[name]} makes it again"
    return "put it back from a copy, or begin in another run directory"


_MADE_AGAIN: Mapping[str, str] = {
    "report.json": "forkrun report", "timing.json": "forkrun report",
    "merge.json": "the same command", "sums.json": "forkrun collect",
    "progress.json": "forkrun status",
}  # fmt: skip


def _table(value: Any) -> None:
    msgspec.convert(value, dict[str, Any] | list[Any])


def _as(form: Any) -> Check:
    def check(value: Any) -> None:
        msgspec.convert(value, form)

    return check


def _config(value: Any) -> None:
    from forkrun.config.read import validate

    validate(value, "it")


def _plan(value: Any) -> None:
    from forkrun.plan.model import Plan

    Plan.from_json(value)


def _part(value: Any) -> None:
    from forkrun.plan.part import Part

    Part.from_json(value)


def _lumis(value: Any) -> None:
    from forkrun.base.lumis import LumiCounts

    LumiCounts.of(value)


def _report(value: Any) -> None:
    from forkrun.monitoring.report.summary import Summary

    msgspec.convert(value, Summary)


def _timing(value: Any) -> None:
    from forkrun.monitoring.timing.model import Timing

    Timing.from_json(value)


def _outputs(value: Any) -> None:
    from forkrun.rundir.output_content import OutputContents

    msgspec.convert(value, OutputContents)


class _Datasets(msgspec.Struct):
    sums_of_weights: dict[str, float]
    weights_are_normalised: bool


_FORMS: Mapping[str, Check] = {
    "config.json": _config, "plan.json": _plan, "part": _part, "lumis.json": _lumis,
    "report.json": _report, "timing.json": _timing, "outputs.json": _outputs,
    "datasets.json": _as(_Datasets),
}  # fmt: skip
