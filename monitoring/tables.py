"""Tables, facts and notes for people: described once, shown as text, in notebooks and on pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any, Literal

from msgspec import Struct, to_builtins

from forkrun.base.quantities import DASH, bar, count, duration, megabytes, percent, size

WIDTH = 100
"""Maximum characters of a line of text."""
_BAR = 10


def efficiency(value: Mapping[str, float]) -> str:
    """`25.8 ± 0.6 %`: half of the interval from `low` to `high`."""
    half = (value["high"] - value["low"]) / 2
    digits = 1 if half >= 0.001 else 3
    return f"{100 * value['value']:.{digits}f} ± {100 * half:.{digits}f} %"


def ratio(value: float, whole: float | None) -> float | None:
    """A part of the whole; None without one."""
    return value / whole if whole else None


def rate(value: float | None) -> str:
    """`1,234`, `12.3`: at least three digits."""
    return DASH if value is None else count(value) if value >= 100 else f"{value:.3g}"


def measured(value: Mapping[str, Any]) -> str:
    """`1.2 s ± 3.0 %  0.95 × *`: `value` in its own `form`, `noise` of its repeats, and `ratio`,
    with a star if it `is_beyond_noise`."""
    noise = value.get("noise")
    said = f" ± {percent(noise / 2, value.get('digits', 1))}" if noise is not None else ""
    ratio = f"  {value['ratio']:.2f} ×" if value.get("ratio") is not None else ""
    star = " *" if ratio and value.get("is_beyond_noise") else ""
    return f"{FORMS[value['form']](value['value'])}{said}{ratio}{star}"


FORMS: dict[str, Callable[[Any], str]] = {
    "words": str,
    "word": lambda value: str(value[0]),
    "text": str,
    "count": count,
    "time": duration,
    "size": lambda value: f"{value:.2f} B" if 0 < value < 10 and value % 1 else size(value),
    "megabytes": megabytes,
    "share": percent,
    "rate": lambda value: f"{rate(value)} /s",
    "ratio": lambda value: f"{value:.2f}",
    "number": lambda value: f"{value:.6g}",
    "fraction": lambda value: f"{value:.3f}",
    "efficiency": efficiency,
    "measured": measured,
}
"""Forms of values; the page has the same names (`page/tables.js`). None is a dash in each. "words"
are left-aligned, and so is a "word", a text with its explanation; all others are right-aligned."""


class Column(Struct, frozen=True, omit_defaults=True):
    """`key`: of each row's value, "a.b" of a nested one. `form`: of FORMS. `detail`: columns with
    the highest are left out first for lack of room; 0: never. `word`: explanation of the title, if
    needed; `whole`, `bad`: keys of the total of a value (`3 of 4`), and of whether it is a failure.
    `bar`: draws a bar, for a share or relative to the largest value."""

    key: str
    title: str
    form: str = "words"
    detail: int = 0
    word: str = ""
    whole: str = ""
    bad: str = ""
    bar: bool = False


class Table(Struct, frozen=True):
    """Table; columns without any value are not shown. `most`: number of rows shown in texts,
    failures first; 0: all. `rest`: place of the others."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    most: int = 0
    rest: str = "in report.json"

    @classmethod
    def of(cls, title: str, heads: Iterable[str], rows: Iterable[Sequence[Any]]) -> Table:
        """Table from rows of values. `heads`: "title", or "title:form"."""
        parts = [head.rsplit(":", 1) if ":" in head else (head, "words") for head in heads]
        columns = [Column(str(n), name, form) for n, (name, form) in enumerate(parts)]
        return cls(title, columns, [{str(n): v for n, v in enumerate(row)} for row in rows])

    @property
    def shown(self) -> list[Column]:
        """Columns with a value."""
        return [c for c in self.columns if any(at(r, c.key) not in (None, "") for r in self.rows)]

    def text(self, width: int = WIDTH, indent: str = "  ") -> str:
        """Lines of the head and of rows, without the title."""
        shown, rows = self.shown, self._few()
        lines = self._cells(shown, rows)
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        kept = list(range(len(shown)))
        while len(indent) + sum(widths[n] + 2 for n in kept) - 2 > width and any(
            shown[n].detail for n in kept
        ):
            kept.remove(max(kept, key=lambda n: (shown[n].detail, n)))
        pads = [str.ljust if column.form in ("words", "word") else str.rjust for column in shown]
        texts = ["  ".join(pads[n](line[n], widths[n]) for n in kept).rstrip() for line in lines]
        left = len(self.rows) - len(rows)
        return "\n".join(
            f"{indent}{text}" for text in [*texts, *[f"… {left:,} more {self.rest}"] * (left > 0)]
        )

    def html(self) -> str:
        """HTML for notebooks."""
        head, *rows = self._cells(self.shown, self.rows)
        lines = [_html_row("th", head), *(_html_row("td", row) for row in rows)]
        return f"<table>{''.join(lines)}</table>"

    def to_page(self) -> dict[str, Any]:
        """Content for `page/tables.js`, which has the same forms: rows of values, or of pairs for
        columns with a `whole`; `bad`: numbers of row and column."""
        shown = self.shown
        return {
            "title": self.title,
            "columns": to_builtins(shown),
            "rows": [[_raw(row, column) for column in shown] for row in self.rows],
            "bad": [
                (n, m)
                for m, column in enumerate(shown)
                for n, row in enumerate(self.rows)
                if column.bad and at(row, column.bad)
            ],
        }

    def _cells(self, shown: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
        """Titles, then texts of the values."""
        most = [max(at(r, c.key) or 0 for r in self.rows) if c.bar else 0 for c in shown]
        cells = [[cell(r, c, m) for c, m in zip(shown, most, strict=True)] for r in rows]
        return [[column.title for column in shown], *cells]

    def _few(self) -> Sequence[Mapping[str, Any]]:
        """Rows shown in texts, in order."""
        if not 0 < self.most < len(self.rows):
            return self.rows
        bad = [column.bad for column in self.columns if column.bad]
        by_news = sorted(
            range(len(self.rows)), key=lambda n: not any(at(self.rows[n], key) for key in bad)
        )
        return [self.rows[n] for n in sorted(by_news[: self.most])]


def at(row: Mapping[str, Any], key: str) -> Any:
    """The value of a row; None if a part of its place is None. Raises KeyError."""
    if key in row:
        return row[key]
    value: Any = row
    for part in key.split("."):
        value = None if value is None else value[part]
    return value


def cell(row: Mapping[str, Any], column: Column, most: float = 0) -> str:
    """The text of a value; `most`: the largest value of the column, for bars."""
    value = at(row, column.key)
    if value in (None, ""):
        return DASH if value is None else ""
    text = FORMS[column.form](value)
    if column.whole and (whole := at(row, column.whole)) not in (None, value):
        text += f" of {FORMS[column.form](whole)}"
    if column.bar:
        part = value if column.form == "share" else value / (most or 1)
        text += f" {bar(part, _BAR)}"
    return text


def _raw(row: Mapping[str, Any], column: Column) -> Any:
    value = at(row, column.key)
    return [value, at(row, column.whole)] if column.whole else value


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


class Fact(Struct, frozen=True, omit_defaults=True):
    """`note`: in small letters; with a `section`: the evidence shown there."""

    name: str
    text: str
    note: str = ""
    section: str = ""

    @property
    def whole(self) -> str:
        """Text with the note."""
        if not self.note:
            return self.text
        return f"{self.text} ({self.note})" if self.section else f"{self.text} · {self.note}"


class Facts(Struct, frozen=True):
    """`look`: on the page, large figures, a list of names and values, or lines without names but
    with a title; `most`: number shown in texts, 0: all."""

    facts: Sequence[Fact]
    look: Literal["tiles", "names", "lines", "steps"] = "names"
    title: str = ""
    most: int = 0

    @classmethod
    def lines(cls, name: str, texts: Iterable[str], title: str = "", most: int = 0) -> Facts:
        """Facts from lines of text. `name`: before the first line in texts; `title`: on the page,
        if different."""
        named = [Fact("" if n else name, text) for n, text in enumerate(texts)]
        return cls(named, "lines", title or name, most)

    def some(self, most: int) -> list[tuple[str, str]]:
        """Names and texts of the first `most`, and the number of the others; 0: all."""
        left = len(self.facts) - most
        shown = [(fact.name, fact.whole) for fact in self.facts[: most or None]]
        return [*shown, *[("", f"… {left} more in report.json")] * (most > 0 and left > 0)]


Part = Table | Facts | str
"""A text is a note."""


class Section(Struct, frozen=True):
    """`name`: target of links, and name of the chart at the beginning of the section on the
    page."""

    name: str
    title: str
    parts: Sequence[Part | None]

    def to_page(self) -> dict[str, Any]:
        """For `page/sections.js`: each part under the name of its kind."""
        return {
            "name": self.name,
            "title": self.title,
            "parts": [*map(_for_page, _with_content(self.parts))],
        }


def _with_content(parts: Iterable[Part | None]) -> Iterator[Part]:
    """Parts with content."""
    for part in parts:
        match part:
            case Table(rows=said) | Facts(facts=said) | said if part and said:
                yield part


def _for_page(part: Part) -> dict[str, Any]:
    match part:
        case Table():
            return {"table": part.to_page()}
        case Facts():
            return {part.look: to_builtins(part)}
    return {"note": part}


def text_of(parts: Iterable[Part | None]) -> str:
    """Text of the parts, separated by empty lines; parts for pages only are left out."""
    return "\n\n".join(text for part in _with_content(parts) if (text := _text(part)))


def _text(part: Part) -> str:
    match part:
        case Table():
            return f"{part.title}\n{part.text()}"
        case Facts():
            return "\n".join(_labelled(part.some(part.most)))
    return "\n".join(wrap(part, WIDTH, initial_indent="  ", subsequent_indent="  "))


def _labelled(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines with names at the left; continuation lines are indented."""
    width = max(10, *(len(name) + 2 for name, _ in rows))
    for name, text in rows:
        lines = wrap(text, WIDTH - width - 4, break_long_words=False, break_on_hyphens=False)
        for n, line in enumerate(lines):
            yield f"  {'' if n else name:<{width}}{'  ' * (n > 0)}{line}"


_TILE = "display:inline-block;margin:0 1.2em .5em 0;vertical-align:top"


def html_of(parts: Iterable[Part | None], most: int = 0) -> str:
    """HTML for notebooks. `most`: lines of a kind."""
    return "".join(_html(part, most) for part in _with_content(parts))


def _html(part: Part, most: int) -> str:
    match part:
        case Table():
            return part.html()
        case Facts() if part.look == "tiles":
            tiles = [
                [f.name, f"<b>{escape(f.text)}</b>", f"<small>{f.note}</small>"] for f in part.facts
            ]
            return "".join(f'<div style="{_TILE}">{"<br>".join(tile)}</div>' for tile in tiles)
        case Facts():
            return f"<ul>{''.join(f'<li>{escape(text)}</li>' for _, text in part.some(most))}</ul>"
    return f"<p>{escape(part)}</p>"
