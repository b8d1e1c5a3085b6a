"""Pictures of the job's histograms, as the merge has left them."""

from __future__ import annotations

import json
from typing import Any

from forkrun.base.regular_file import read_regular
from forkrun.rundir.directory import RunDirectory


def histograms_of(folder: RunDirectory) -> list[dict[str, Any]]:
    """None where nothing was merged, or the file is damaged: the page does without."""
    if not (folder.pictures.exists() and folder.histograms.exists()):
        return []
    try:
        pictures = json.loads(read_regular(folder.pictures))
    except (OSError, ValueError):
        return []
    return pictures if isinstance(pictures, list) else []
