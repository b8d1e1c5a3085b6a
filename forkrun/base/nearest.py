"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(wrong: str, names: Iterable[str]) -> str:
    """`; did you mean "files"?`, or the names there are, or that there are none."""
    known = list(dict.fromkeys(names))
    close = difflib.get_close_matches(wrong, known, n=1, cutoff=0.5)
    if close:
        return f'; did you mean "{close[0]}"?'
    if not known:
        return "; there are none"
    shown = ", ".join(f'"{name}"' for name in known[:12])
    return f"; there are {shown}" + (" and others" if len(known) > 12 else "")
