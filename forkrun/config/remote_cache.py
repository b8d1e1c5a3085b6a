"""Where bytes of remote files are kept on this machine. What is done there is C++
(`remote_cache.cpp`), in processes that read; they are told by a variable of the environment."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from forkrun.config.anchor import cache_folder, is_url

_TOLD = "FORKRUN_REMOTE_CACHE"
"""Variable with the form of the cache, its limit, the job's begin [s] and the folder."""
FORMS = {"auto": "own", "on": "asked", "off": ""}
"""Settings of source.cache that are no folder."""


def remote_cache_folder(cache: str = "auto") -> Path | None:
    """Folder of a setting; None: nothing is kept."""
    return cache_folder("remote") if cache in FORMS else Path(cache)


def use_remote_cache(files: Iterable[str], cache: str = "auto", limit: str | int = "5%") -> None:
    """Tells this process and those that it starts where to keep what they read of remote files.
    `cache`, `limit`: as in [source]."""
    folder, form = remote_cache_folder(cache), FORMS.get(cache, "shared")
    if folder is None or not form or not any(map(is_url, files)):
        os.environ.pop(_TOLD, None)
        return
    os.environ[_TOLD] = f"{form} {limit} {int(time.time())} {folder.absolute()}"
