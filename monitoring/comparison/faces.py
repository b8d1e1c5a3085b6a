"""Comparison as text and as a page, with the same tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import asdict

from forkrun.base.quantities import DASH, duration
from forkrun.monitoring import tables
from forkrun.monitoring.comparison.compare import FIGURES, Column, Run, Spread
from forkrun.monitoring.report.page.write import page_of
from forkrun.monitoring.tables import Fact, Facts, Section, text_of

_MOST_ROWS = 12
_SAME = {True: "the same", False: "DIFFER", None: "not known"}
_SAID = (
    "Ratios are to the first. Repeats of one job are one column: median ± half of their range."
    " *: no repeat is among those of the first column."
)
_FIRST = ("rate", "memory", "read")
"""Figures shown first."""


def format_comparison(columns: Sequence[Column]) -> str:
    """Tables with a column for each job; ends with a newline."""
    texts = [text_of(section.parts) for section in _sections(columns)]
    return "\n\n".join(filter(None, texts)) + "\n"


def comparison_page(columns: Sequence[Column]) -> str:
    """Page in one file, without need of a network."""
    sections = [section.to_page() for section in _sections(columns)]
    names = ", ".join(column.runs[0].name for column in columns)
    head = {"title": "forkrun · comparison", "lines": names}
    content = {"head": head, "sections": sections}
    scripts = ("dom.js", "tables.js", "sections.js")
    return page_of(f"{names} · forkrun", scripts, content, format_comparison(columns))


def _sections(columns: Sequence[Column]) -> list[Section]:
    figures = {f.text: [c.figures.get(name) for c in columns] for name, f in FIGURES.items()}
    forms = {figure.text: (figure.form, figure.word) for figure in FIGURES.values()}
    modules, read = (_largest([getattr(c, of) for c in columns]) for of in ("modules", "columns"))
    return [
        Section("differences", "Differences", [_differences(columns)]),
        Section("runs", "Runs", [_runs(columns), _SAID]),
        Section("figures", "Figures", [_compared("Figures", "figure", figures, forms)]),
        Section(
            "modules",
            "Modules",
            [_compared("Time per event, summed over threads", "module or column", modules)],
        ),
        Section("input", "Input", [_compared("Bytes read per event", "column", read, form="size")]),
        Section("outputs", "Outputs", [_outputs(columns)]),
    ]


def _differences(columns: Sequence[Column]) -> Facts:
    """The most important differences of each later column from the first."""
    first = columns[0]
    facts = []
    for n, column in enumerate(columns[1:], start=2):
        said = [_outputs_in_words(column), *map(partial(_figure_in_words, column), _FIRST)]
        said += [_slower_module(first, column), _what_changed(first.runs[0], column.runs[0])]
        facts.append(Fact(f"[{n}] to [1]", " · ".join(filter(None, said))))
    return Facts(facts, title="Differences")


def _outputs_in_words(column: Column) -> str:
    other = [label for label, is_same in column.same_outputs.items() if is_same is False]
    if other:
        return f"outputs DIFFER: {', '.join(other)}"
    return "outputs the same" if all(column.same_outputs.values()) and column.same_outputs else ""


def _figure_in_words(column: Column, name: str) -> str:
    spread = column.figures.get(name)
    if spread is None or spread.ratio is None:
        return ""
    within = {False: ", within the noise", True: ", beyond the noise", None: ""}
    return f"{FIGURES[name].word} {spread.ratio:.2f} ×{within[spread.is_beyond_noise]}"


def _slower_module(first: Column, column: Column) -> str:
    """The module whose time per event changed most."""
    changes = {
        name: spread.value - first.modules[name].value
        for name, spread in column.modules.items()
        if name in first.modules and spread.is_beyond_noise is not False
    }
    name = max(changes, key=lambda name: abs(changes[name]), default=None)
    if name is None or not changes[name]:
        return ""
    change = f"{duration(abs(changes[name]))} {'more' if changes[name] > 0 else 'less'}"
    return f"module {name} {change} per event"


def _what_changed(first: Run, run: Run) -> str:
    names = ("configuration", "forkrun", "machine", "children", "threads")
    pairs = zip(
        names,
        (*first.kind, first.children, first.threads),
        (*run.kind, run.children, run.threads),
        strict=True,
    )
    changed = [name for name, before, after in pairs if before != after]
    return f"changed: {', '.join(changed)}" if changed else ""


def _runs(columns: Sequence[Column]) -> tables.Table:
    rows = [
        {
            **asdict(run),
            "column": f"[{n}]",
            "build": run.kind[1] or "unknown",
            "machine": run.kind[2],
            "configuration": run.kind[0][:12],
            "is_bad": run.outcome != "done",
        }
        for n, column in enumerate(columns, start=1)
        for run in column.runs
    ]
    described = (
        tables.Column("column", "column"),
        tables.Column("name", "run directory"),
        tables.Column("outcome", "outcome", bad="is_bad"),
        tables.Column("children", "children", "count"),
        tables.Column("threads", "threads per child", "count"),
        tables.Column("n_events", "events", "count"),
        tables.Column("build", "forkrun", detail=1),
        tables.Column("machine", "machine", detail=3),
        tables.Column("configuration", "configuration", detail=2),
    )
    return tables.Table("Runs", described, rows)


def _compared(
    title: str,
    what: str,
    spreads: Mapping[str, Sequence[Spread | None]],
    forms: Mapping[str, tuple[str, str]] | None = None,
    form: str = "time",
) -> tables.Table:
    """Table with a row for each name and a column for each job. `forms`: by name, the form of its
    values and the word that explains it."""
    rows = []
    for name, of_columns in spreads.items():
        own, word = (forms or {}).get(name, (form, ""))
        cells = {str(n): _cell(spread, own, n) for n, spread in enumerate(of_columns)}
        rows.append({"name": (name, word), **cells})
    n_columns = len(next(iter(spreads.values()), ()))
    jobs = [tables.Column(str(n), f"[{n + 1}]", "measured") for n in range(n_columns)]
    most = 0 if forms else _MOST_ROWS
    known = [row for row in rows if any(row[str(n)] for n in range(n_columns))]
    return tables.Table(
        title, (tables.Column("name", what, "word"), *jobs), known, most, "on the page"
    )


def _cell(spread: Spread | None, form: str, n: int) -> dict[str, Any] | None:
    if spread is None:
        return None
    ratio = spread.ratio if n else None
    return {
        "value": spread.value,
        "form": form,
        "noise": spread.noise,
        "ratio": ratio,
        "is_beyond_noise": bool(spread.is_beyond_noise),
    }


def _largest(found: Sequence[Mapping[str, Spread]]) -> dict[str, list[Spread | None]]:
    """Spreads by name, sorted by the largest value in any job."""
    names: Iterable[str] = dict.fromkeys(name for each in found for name in each)
    most = {name: max(each[name].value for each in found if name in each) for name in names}
    return {
        name: [each.get(name) for each in found]
        for name in sorted(most, key=most.__getitem__, reverse=True)
    }


def _outputs(columns: Sequence[Column]) -> tables.Table:
    """Table of outputs: whether their events equal those of the first column, whose own cells stay
    empty."""
    labels = dict.fromkeys(label for column in columns for label in column.same_outputs)
    rows = []
    for label in labels:
        cells = [_SAME[c.same_outputs[label]] if label in c.same_outputs else DASH for c in columns]
        cells[0] = cells[0] if cells[0] != _SAME[True] else ""
        bad = {f"bad{n}": cell == _SAME[False] for n, cell in enumerate(cells)}
        rows.append({"label": label, **{str(n): cell for n, cell in enumerate(cells)}, **bad})
    jobs = [tables.Column(str(n), f"[{n + 1}]", "text", bad=f"bad{n}") for n in range(len(columns))]
    return tables.Table("Events of outputs", (tables.Column("label", "output"), *jobs), rows)
