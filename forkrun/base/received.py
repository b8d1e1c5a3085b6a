"""Functions and values of the Python program whose job this process runs, as bytes until needed. A
clean parent process gets them through anonymous files, which nobody else can open; a node reads
them from the run directory, where the submitting process has kept them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from forkrun.base.streams import open_standard_descriptors

STATE, GIVEN, CONFIG = "FORKRUN_PROGRAM", "FORKRUN_GIVEN", "FORKRUN_CONFIG"
"""State of the program, its functions, and the job's configuration: for each the environment
variable with the descriptor of its anonymous file."""

_contents: dict[str, bytes] = {}


def received(name: str) -> bytes:
    """One of the contents; b"" if there is none."""
    if descriptor := os.environ.pop(name, ""):
        with os.fdopen(int(descriptor), "rb") as file:
            file.seek(0)
            _contents[name] = file.read()
    return _contents.get(name, b"")


def keep_contents(contents: Mapping[str, bytes]) -> None:
    """Keeps these contents."""
    _contents.update(contents)


@contextmanager
def anonymous_files(contents: Mapping[str, bytes]) -> Iterator[dict[str, int]]:
    """Descriptors of anonymous files by name, for a process that is started in the body."""
    with ExitStack() as opened:
        yield {name: _anonymous_file(content, opened) for name, content in contents.items()}


def _anonymous_file(content: bytes, opened: ExitStack) -> int:
    open_standard_descriptors()  # must not be a standard stream
    descriptor = os.memfd_create("forkrun-program", 0)
    opened.callback(os.close, descriptor)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    return descriptor


@contextmanager
def passed_on() -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """Environment and descriptors that pass the contents of this process to another."""
    contents = {name: content for name in (STATE, GIVEN) if (content := received(name))}
    with anonymous_files(contents) as files:
        yield {name: str(file) for name, file in files.items()}, tuple(files.values())
