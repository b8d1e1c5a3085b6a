"""Notes for users from running jobs: collected in the process that notices, and reported once."""

from __future__ import annotations

_notes: dict[str, None] = {}
_MOST = 50
"""Maximum different notes of a process; more are noise."""


def note(text: str) -> None:
    """Adds a note, once in this process. `text`: equal for equal causes in any child, unit or
    block."""
    if len(_notes) < _MOST:
        _notes.setdefault(text)


def take_notes() -> list[str]:
    """Returns all notes of this process since the last call, in order."""
    taken = list(_notes)
    _notes.clear()
    return taken
