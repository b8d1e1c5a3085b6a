"""What this process has of the program in Python whose job it runs, as bytes until it is needed.

A clean parent process is given it through anonymous files, which nobody else can open; a node of a
job on many nodes reads what the process that submitted it has kept in the run directory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from forkrun.base.streams import open_standard_descriptors

STATE, GIVEN, CONFIG = "FORKRUN_PROGRAM", "FORKRUN_GIVEN", "FORKRUN_CONFIG"
"""State of the program, the functions that it gives, and the job's configuration; of each,
the environment variable with the descriptor of its anonymous file."""

_contents: dict[str, bytes] = {}


def received(name: str) -> bytes:
    """One of them; b"" if there is none."""
    if descriptor := os.environ.pop(name, ""):
        with os.fdopen(int(descriptor), "rb") as file:
            file.seek(0)
            _contents[name] = file.read()
    return _contents.get(name, b"")


def have(contents: Mapping[str, bytes]) -> None:
    """Has these from now on."""
    _contents.update(contents)


@contextmanager
def in_anonymous_files(contents: Mapping[str, bytes]) -> Iterator[dict[str, int]]:
    """Their descriptors by name, for a process that is started meanwhile and takes them over."""
    with ExitStack() as opened:
        yield {name: _anonymous_file(content, opened) for name, content in contents.items()}


def _anonymous_file(content: bytes, opened: ExitStack) -> int:
    open_standard_descriptors()  # it must not be one of them
    descriptor = os.memfd_create("forkrun-program", 0)
    opened.callback(os.close, descriptor)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    return descriptor


@contextmanager
def handing_on() -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """Environment and descriptors of a process that gets what this one has of the program."""
    contents = {name: content for name in (STATE, GIVEN) if (content := received(name))}
    with in_anonymous_files(contents) as files:
        yield {name: str(file) for name, file in files.items()}, tuple(files.values())
