"""Functions and classes that a running program passes to its job, by the type in the configuration:
"given:FILE:NAME".

Other processes receive them from that program (`received.py`)."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from forkrun.base.received import GIVEN, received
from forkrun.errors import ConfigError


class Given(Struct, frozen=True):
    """Code passed to a job. `function`: a function, class or expression; `histograms`: those an
    analyzer fills; `weight`: function for the weights of a histogram."""

    function: Any
    histograms: Mapping[str, Any] = {}
    weight: Any = None

    @property
    def functions(self) -> list[Any]:
        """All functions that are called."""
        return [self.function, self.weight]


_given: dict[str, Given] = {}


@contextlib.contextmanager
def giving(given: Mapping[str, Given]) -> Iterator[None]:
    """Passes functions to a job in this process."""
    _given.update(given)
    try:
        yield
    finally:
        for name in given:
            _given.pop(name, None)


def find_given(kind: str, where: str) -> Given:
    """Function for a type. Raises ConfigError."""
    if kind not in _given and (content := received(GIVEN)):
        _given.update(_loaded(content, where))
    if kind not in _given:
        _, home, name = kind.split(":")
        raise ConfigError(
            f"{where}: {name} is a function of the program {home} that runs this job; run that"
            " program again"
        )
    return _given[kind]


def _loaded(content: bytes, where: str) -> dict[str, Given]:
    try:
        found: dict[str, Given] = pickle.loads(content)
    except Exception as error:  # from a class's own methods, or a missing name
        raise ConfigError(
            f"{where}: a value that the program passes to the job cannot be recreated"
            f" ({type(error).__name__}: {error}); move it to a module that the program imports, or"
            " take job.run(children=0)"
        ) from None
    return found


def is_given(kind: str) -> bool:
    """Whether this process's own program has passed it."""
    return kind in _given
