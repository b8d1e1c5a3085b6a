"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(wrong: str, names: Iterable[str]) -> str:
    """Hint for a message: `; did you mean "files"?`, or the known names, or that there are none."""
    known = list(dict.fromkeys(names))
    if close := close_to(wrong, known):
        return f'; did you mean "{close}"?'
    if not known:
        return "; none are defined"
    shown = ", ".join(f'"{name}"' for name in known[:12])
    return f"; there are {shown}" + (" and others" if len(known) > 12 else "")


def close_to(wrong: str, names: Iterable[str]) -> str | None:
    """The name closest to a misspelt one; None if all differ too much."""
    import difflib  # few commands need it

    close = difflib.get_close_matches(wrong, list(names), n=1, cutoff=0.5)
    return close[0] if close else None
