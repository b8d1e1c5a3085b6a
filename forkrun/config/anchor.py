"""Relative paths: those named in a file are relative to that file's folder, those of the command
line to the current directory. After this step all are absolute."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forkrun.base.input_files.urls import register_url

_URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_DOTTED = re.compile(r"^python:(\w+(?:\.\w+)*):(\w+)$")
_PYTHON_FILE = re.compile(r"^python:([^:]+\.py):(\w+)$")


def is_url(path: str) -> bool:
    """Whether a path is to be opened remotely (root://, https://)."""
    return bool(_URL.match(path))


def user_folder(variable: str, name: str) -> Path | None:
    """Value of the environment variable, else ~/`name`. None where the user has no home: in a
    container, an identifier without an entry in /etc/passwd."""
    if named := os.environ.get(variable):
        return Path(named)
    home = os.path.expanduser("~")
    return None if home == "~" else Path(home) / name


def cache_folder(kind: str) -> Path | None:
    """Folder of what forkrun keeps between jobs: FORKRUN_CACHE (None for "" and "0": nothing is
    kept), else $XDG_CACHE_HOME/forkrun or ~/.cache/forkrun. `kind`: a folder in it."""
    named = os.environ.get("FORKRUN_CACHE")
    if named is not None:
        return Path(named) / kind if named not in ("", "0") else None
    home = user_folder("XDG_CACHE_HOME", ".cache")
    return home and home / "forkrun" / kind


def anchored(path: str, folder: Path) -> str:
    """`path` made absolute; ~ is the home folder, ~USER that of a user; other names
    that begin with ~ are names, as in a shell. URLs stay, without their secrets."""
    return register_url(path) if is_url(path) else str(folder / os.path.expanduser(path))


def anchored_type(kind: str, folder: Path) -> str:
    """`python:modules.py:Class` with an absolute file; so is `python:package.module:Class` that is
    in the folder, or the current directory, and not installed; other forms stay."""
    if match := _PYTHON_FILE.match(kind):
        return f"python:{anchored(match[1], folder)}:{match[2]}"
    match = _DOTTED.match(kind)
    file = _beside(match[1], folder) if match else None
    return f"python:{file}:{match[2]}" if match and file else kind


def _beside(module: str, folder: Path) -> Path | None:
    """The file of a module that cannot be imported from anywhere else."""
    first, path = module.partition(".")[0], module.replace(".", "/")
    if first in sys.modules or importlib.util.find_spec(first) is not None:
        return None
    places = [at / f for at in (folder, Path.cwd()) for f in (f"{path}.py", f"{path}/__init__.py")]
    return next((place for place in places if place.is_file()), None)


def anchored_plugin(plugin: str, folder: Path) -> str:
    """A path with an absolute folder; a bare name ("forkrun_modules") is a library of forkrun."""
    return anchored(plugin, folder) if "/" in plugin or "." in plugin else plugin


def anchored_cache(cache: str, folder: Path) -> str:
    """A folder made absolute; a word of source.cache stays."""
    return anchored(cache, folder) if "/" in cache else cache


_ANCHORS: dict[tuple[str, str], Callable[[str, Path], str]] = {
    ("job", "plugins"): anchored_plugin,
    ("source", "files"): anchored,
    ("source", "list"): anchored,
    ("source", "cache"): anchored_cache,
    ("source", "lumi_mask"): anchored,
    ("friends", "files"): anchored,
    ("datasets", "files"): anchored,
    ("conditions", "file"): anchored,
    ("conditions", "index"): anchored,
    ("conditions", "type"): anchored_type,
    ("modules", "type"): anchored_type,
}


def _anchored_item(make: Callable[[str, Path], str], value: Any, folder: Path) -> Any:
    """A list in a list names places of one file, which have | between them from here on."""
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        value = "|".join(value)
    return make(str(value), folder) if isinstance(value, str | Path) else value


_LISTS_OF = {"iovs": "conditions", "friends": "friends"}
"""Keys whose values are lists of sections."""


def anchor(section: str, key: str, value: Any, folder: Path) -> Any:
    """The value of one key with its paths absolute; anything but text (or a list of it) stays."""
    make = _ANCHORS.get((section, key))
    if make is None:
        return value
    if isinstance(value, list):
        return [_anchored_item(make, v, folder) for v in value]
    return make(str(value), folder) if isinstance(value, str | Path) else value


def anchor_all(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A copy of a whole configuration with its paths absolute."""
    return {section: _anchor_section(section, value, folder) for section, value in raw.items()}


def _anchor_section(section: str, value: Any, folder: Path) -> Any:
    if section == "datasets" and isinstance(value, str):
        return anchored(value, folder)
    if isinstance(value, list):
        return [_anchor_section(section, item, folder) for item in value]
    if isinstance(value, dict):
        return {
            key: _anchor_section(_LISTS_OF[key], v, folder)
            if key in _LISTS_OF and isinstance(v, list)
            else anchor(section, key, v, folder)
            for key, v in value.items()
        }
    return value


def anchor_iovs(iovs: Any, folder: Path) -> Any:
    """The intervals of one condition with the paths of their files absolute."""
    return _anchor_section("conditions", iovs, folder) if isinstance(iovs, list) else iovs
