"""What a command does at the same time while it starts."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator

from forkrun.base.lasting import lasting_objects

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
    with lasting_objects():
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
