"""Functions and classes that a running program gives to its job, by the type in the configuration:
"given:FILE:NAME".

A clean parent process gets them from the program that started it, through an anonymous file; never
from a file on disk, which somebody else could have written."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from forkrun.errors import ConfigError

DESCRIPTOR = "FORKRUN_GIVEN"
"""Environment variable: the descriptor of the anonymous file."""


class Given(Struct, frozen=True):
    """`function`: or a class, or an expression; `histograms`: what an analyzer fills; `weight`: a
    function, of a histogram."""

    function: Any
    histograms: Mapping[str, Any] = {}
    weight: Any = None

    @property
    def functions(self) -> list[Any]:
        """All that is called."""
        return [self.function, self.weight]


_given: dict[str, Given] = {}


@contextlib.contextmanager
def giving(given: Mapping[str, Given]) -> Iterator[None]:
    """Gives them to a job in this process."""
    _given.update(given)
    try:
        yield
    finally:
        for name in given:
            _given.pop(name, None)


def find_given(kind: str, where: str) -> Given:
    """What is given under a type. Raises ConfigError."""
    if kind not in _given and (descriptor := os.environ.pop(DESCRIPTOR, "")):
        _given.update(_received(int(descriptor)))
    if kind not in _given:
        _, home, name = kind.split(":")
        raise ConfigError(
            f"{where}: {name} is a function of the program {home} that runs this job; run that"
            " program again"
        )
    return _given[kind]


def is_given(kind: str) -> bool:
    """Whether this process's own program gives it."""
    return kind in _given


def _received(descriptor: int) -> dict[str, Given]:
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        given: dict[str, Given] = pickle.load(file)
    return given
