"""Records of a run directory that are damaged: the reason of an error that has no other one."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from forkrun.base.json_lines import complete_lines
from forkrun.base.regular_file import read_regular, recently_read
from forkrun.errors import OutputError


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
    try:
        _check(name, value)
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


class _Datasets(msgspec.Struct):
    sums_of_weights: dict[str, float]
    weights_are_normalised: bool


def _config(value: Any) -> None:
    from forkrun.config.read import validate

    validate(value, "it")


_FORMS: Mapping[str, str] = {
    "config.json": f"{__name__}:_config",
    "plan.json": "forkrun.plan.model:Plan.from_json",
    "part": "forkrun.plan.part:Part.from_json",
    "lumis.json": "forkrun.base.lumis:LumiCounts.of",
    "report.json": "forkrun.monitoring.report.summary:Summary",
    "timing.json": "forkrun.monitoring.timing.model:Timing.from_json",
    "outputs.json": "forkrun.rundir.output_content:OutputContents",
    "datasets.json": f"{__name__}:_Datasets",
}
"""Module and name of the type of a record, or of the function that makes it."""


def _check(name: str, value: Any) -> None:
    """Raises what is wrong with the content of a record."""
    if name not in _FORMS:
        msgspec.convert(value, dict[str, Any] | list[Any])
        return
    module, _, names = _FORMS[name].partition(":")
    form = attrgetter(names)(importlib.import_module(module))
    if isinstance(form, type):
        msgspec.convert(value, form)
    else:
        form(value)
