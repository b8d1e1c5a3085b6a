"""A result as notebooks show it: how the job went, its files, its cutflows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any


def result_html(summary: str, files: Iterable[Path], cutflow: Mapping[str, Any]) -> str:
    """`summary`: one line; `cutflow`: by path, as in report.json."""
    listed = "".join(f"<li><code>{escape(str(file))}</code></li>" for file in files)
    tables = "".join(_table(path, cuts) for path, cuts in cutflow.items())
    return f"<p><b>{escape(summary)}</b></p><ul>{listed}</ul>{tables}"


def _table(path: str, cuts: Sequence[Mapping[str, Any]]) -> str:
    has_weights = any(cut.get("sum_weights") is not None for cut in cuts)
    head = ["after", "events", "of the last", "of all"] + ["sum of weights"] * has_weights
    rows = [_row("th", head), *(_row("td", _cells(cut, has_weights)) for cut in cuts)]
    return f"<table><caption>{escape(path)}</caption>{''.join(rows)}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _cells(cut: Mapping[str, Any], has_weights: bool) -> list[str]:
    weights = cut.get("sum_weights")
    return [
        cut["after"] or "(all)",
        f"{cut['n_events']:,}",
        _percent(cut["step"]) if cut["after"] else "",
        _percent(cut["total"]) if cut["after"] else "",
        *([f"{weights:.6g}" if weights is not None else ""] * has_weights),
    ]


def _percent(efficiency: Mapping[str, float] | None) -> str:
    if efficiency is None:
        return "-"
    half = (efficiency["high"] - efficiency["low"]) / 2
    return f"{100 * efficiency['value']:.1f} ± {100 * half:.1f} %"
