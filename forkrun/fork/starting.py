"""Concurrent start of a command: ROOT's interpreter is loaded while it does the imports where the
job will need it. That is guessed from the job's configuration and its first file before anything
large is imported; a wrong guess costs time and nothing else."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from forkrun.base.importing import (
    collector_paused,
    import_awkward_lightly,
    import_numpy_lightly,
)
from forkrun.base.regular_file import read_regular

_WITH_ROOT = ("run", "resume", "node", "check")
"""Commands that use it in this process, if the job has outputs of input that is not plain."""
_SET_BY_IMPORTS = {
    "OPENBLAS_MAIN_FREE": "1",  # NumPy sets and removes these two while it is imported
    "GOTOBLAS_MAIN_FREE": "1",
    "CLING_PREBUILT_MODULE_PATH": "",  # ROOT adds to it
}


@contextlib.contextmanager
def starting(needs_root: Callable[[], bool] | None) -> Iterator[None]:
    """Surrounds the imports of a command. ROOT's interpreter is loaded meanwhile if `needs_root`
    says so, both in a thread that has ended afterwards: it takes a third of a second, and none of
    Python's lock. A variable of the environment that one thread adds moves all of them, while ROOT
    starts a program with them and crashes if that fails: those that imports would add are there
    before."""
    for name, value in _SET_BY_IMPORTS.items():
        os.environ.setdefault(name, value)
    if os.path.expanduser("~") == "~":  # of a user that nobody knows; ROOT sets it, too
        os.environ["HOME"] = "/"
    import_numpy_lightly()
    import_awkward_lightly()
    with collector_paused():
        thread = None
        if needs_root:
            thread = threading.Thread(target=_load_root, args=(needs_root,), name="loading ROOT")
            try:
                thread.start()
            except RuntimeError:  # no further thread may be started
                thread = None
        try:
            yield
        finally:
            if thread:
                thread.join()


def _load_root(needs_root: Callable[[], bool]) -> None:
    from forkrun import _core

    if needs_root():
        _core.warm_up()


def need_of_root(arguments: Sequence[str]) -> Callable[[], bool] | None:
    """Look at the job's first file, in a thread; None if the command needs no ROOT."""
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
    from forkrun.errors import ForkrunError
    from forkrun.formats import format_of

    try:
        first = _first_file(configuration)
        return first is not None and format_of(first).needs_root(first, "", for_outputs=True)
    except (ForkrunError, OSError, ValueError, TypeError, LookupError, AttributeError):
        return False  # the command will say what is wrong


def _first_file(configuration: Path) -> str | None:
    settings = _settings(configuration)
    datasets = settings.get("datasets") or [settings.get("source", {})]
    files = datasets[0].get("files") or []
    pattern = files if isinstance(files, str) else files[0] if files else ""
    if "://" in pattern:
        return str(pattern)
    return min(glob.glob(str(configuration.parent / pattern)), default=None) if pattern else None


def _settings(configuration: Path) -> dict[str, Any]:
    import tomllib  # most commands need none of it

    read = json.loads if configuration.suffix == ".json" else tomllib.loads
    settings: dict[str, Any] = read(configuration.read_text())
    return settings
