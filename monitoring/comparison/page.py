"""The comparison as a page."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import to_builtins

from forkrun.monitoring.comparison.compare import Column
from forkrun.monitoring.comparison.runs import FIGURES
from forkrun.monitoring.comparison.text import format_comparison
from forkrun.monitoring.report.page.words import WORDS
from forkrun.monitoring.report.page.write import page_of


def comparison_page(columns: Sequence[Column]) -> str:
    """One file that needs no network."""
    figures = [
        {"name": name, "text": figure.text, "form": figure.form, "word": figure.word}
        for name, figure in FIGURES.items()
    ]
    content = {"columns": to_builtins(columns), "figures": figures, "words": WORDS}
    names = ", ".join(column.runs[0].name for column in columns)
    scripts, text = ("dom.js", "tables.js", "compare.js"), format_comparison(columns)
    return page_of(f"{names} · forkrun", scripts, content, text)
