"""What a command does at the same time while it starts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from forkrun.base.importing import importing


@contextlib.contextmanager
def starting(*, needs_root: bool) -> Iterator[None]:
    """Surrounds the imports of a command. ROOT's interpreter is loaded meanwhile, in a thread that
    has ended afterwards: it takes a third of a second, and none of Python's lock."""
    with importing():
        thread = threading.Thread(target=_load_root, name="loading ROOT") if needs_root else None
        if thread:
            thread.start()
        try:
            yield
        finally:
            if thread:
                thread.join()


def _load_root() -> None:
    from forkrun import _core

    _core.warm_up()
