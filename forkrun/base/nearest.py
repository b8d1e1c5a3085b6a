"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(wrong: str, names: Iterable[str]) -> str:
    """`; did you mean "files"?`, or the names there are, or that there are none."""
    known = list(dict.fromkeys(names))
    if close := close_to(wrong, known):
        return f'; did you mean "{close}"?'
    if not known:
        return "; none are defined"
    shown = ", ".join(f'"{name}"' for name in known[:12])
    return f"; there are {shown}" + (" and others" if len(known) > 12 else "")


def close_to(wrong: str, names: Iterable[str]) -> str | None:
    """The name that is most like a misspelt one; None if none is."""
    import difflib  # few commands have to suggest anything

    close = difflib.get_close_matches(wrong, list(names), n=1, cutoff=0.5)
    return close[0] if close else None
