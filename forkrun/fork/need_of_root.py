"""Whether a command will need ROOT's interpreter, guessed before anything large is imported: a
wrong guess costs time and nothing else."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from forkrun.base.regular_file import read_regular

_WITH_ROOT = ("run", "resume", "node", "check")
"""Commands that use it in this process, if the job has outputs of input that is not plain."""


def need_of_root(arguments: Sequence[str]) -> Callable[[], bool] | None:
    """What looks at the job's first file, in a thread; None if the command needs no ROOT."""
    if not any(word in _WITH_ROOT for word in arguments[:1]):
        return None
    with_outputs = [file for file in map(_configuration, arguments[1:]) if file]
    return partial(_is_root_needed, with_outputs[0]) if with_outputs else None


def _configuration(argument: str) -> Path | None:
    """The configuration of a job, or of a run directory, if it has outputs."""
    path = Path(argument)
    try:
        if path.suffix in (".toml", ".json"):
            path = path.resolve()
        else:
            path /= "config.json"
        text = read_regular(path).decode(errors="replace")
    except (OSError, ValueError):
        return None
    return path if "outputs" in text and '"outputs": []' not in text else None


def _is_root_needed(configuration: Path) -> bool:
    from forkrun import _core
    from forkrun.errors import ForkrunError

    try:
        first = _first_file(configuration)
        if first is None:
            return False
        return "://" in first or not _core.has_plain_trees_alone(first)
    except (ForkrunError, OSError, ValueError, TypeError, LookupError, AttributeError):
        return False  # the command will say what is wrong


def _first_file(configuration: Path) -> str | None:
    settings = _read(configuration)
    datasets = settings.get("datasets") or [settings.get("source", {})]
    files = datasets[0].get("files") or []
    pattern = files if isinstance(files, str) else files[0] if files else ""
    if "://" in pattern:
        return str(pattern)
    return min(glob.glob(str(configuration.parent / pattern)), default=None) if pattern else None


def _read(configuration: Path) -> dict[str, Any]:
    if configuration.suffix == ".json":
        import json

        settings: dict[str, Any] = json.loads(configuration.read_text())
        return settings
    import tomllib

    return tomllib.loads(configuration.read_text())
