"""Parts of a report for any presentation: tables, facts and notes, in sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import Any, Literal

from msgspec import Struct, to_builtins

from forkrun.monitoring.tables import WIDTH, Table


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
            return "" if part.folded else f"{part.title}\n{part.text()}"
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
            return "" if part.folded else part.html()
        case Facts() if part.look == "tiles":
            tiles = [
                [f.name, f"<b>{escape(f.text)}</b>", f"<small>{f.note}</small>"] for f in part.facts
            ]
            return "".join(f'<div style="{_TILE}">{"<br>".join(tile)}</div>' for tile in tiles)
        case Facts():
            return f"<ul>{''.join(f'<li>{escape(text)}</li>' for _, text in part.some(most))}</ul>"
    return f"<p>{escape(part)}</p>"
