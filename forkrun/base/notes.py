"""What users should know of a job that goes on, said once: collected in the process that notices
it, and told in the report."""

from __future__ import annotations

_notes: dict[str, None] = {}
_MOST = 50
"""Different notes of a process. More are noise."""


def note(text: str) -> None:
    """Notes something, once in this process. `text`: the same for the same thing, whichever child,
    unit or block noticed it."""
    if len(_notes) < _MOST:
        _notes.setdefault(text)


def take_notes() -> list[str]:
    """All notes of this process since this was last asked, in their order."""
    taken = list(_notes)
    _notes.clear()
    return taken
