"""Format of a job's input."""

from __future__ import annotations

from collections.abc import Sequence

from forkrun.errors import InputError
from forkrun.formats import Format, format_named
from forkrun.index.model import FileIndex


def format_of_input(index: Sequence[FileIndex]) -> Format:
    """The one format of all files. Raises InputError if there are several."""
    first = {file.format: file.path for file in reversed(index) if file.path and not file.absent}
    if len(first) > 1:
        (one, path), (other, its), *_ = first.items()
        raise InputError(f"{path} is of format {one}, {its} of format {other}: a job reads one")
    return format_named(next(iter(first), "ttree"))
