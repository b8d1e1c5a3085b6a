"""Page in one file: shell, style and scripts of this folder around the content."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_READS_CONTENT = 'const CONTENT = JSON.parse(document.getElementById("content").textContent);'


def page_of(
    title: str, scripts: Sequence[str], content: Mapping[str, Any], text: str, picture: str = ""
) -> str:
    """Whole page, which loads nothing from elsewhere. `scripts`: files of this folder; `text`,
    `picture`: shown if scripts are disabled, the picture as SVG."""
    shell = _text("shell.html")
    parts = {
        "title": escape(title),
        "static": f"<h1>{escape(title)}</h1>{picture}<pre>{escape(text)}</pre>",
        "style": _text("page.css"),
        "content": _as_script(content),
        "script": "\n".join([_READS_CONTENT, *map(_text, scripts)]),
    }
    before, *rest = shell.split("{{")
    pieces = [before]
    for piece in rest:
        name, after = piece.split("}}", 1)
        pieces += [parts[name], after]
    return "".join(pieces)


def _as_script(content: Mapping[str, Any]) -> str:
    """JSON that never closes its script element, with any names in it; NaN and infinities become
    null."""
    try:
        text = _compact(content)
    except (TypeError, ValueError):
        text = _compact(_finite(content))
    return text.replace("<", "\\u003c")


def _compact(content: Any) -> str:
    """Compact JSON. Raises ValueError for NaN and infinities, TypeError for other invalid
    values."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


@cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
