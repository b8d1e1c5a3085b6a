"""Commands that take the job of a program in Python: `forkrun submit analysis.py`. The program runs
up to the first call that would run, check or submit a job; this call ends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct, field


class Offer(Struct):
    """Jobs offered by a program. `made`: its jobs, in order; `job`: the one that it would run
    first, with the arguments of that `call`."""

    made: list[Any] = field(default_factory=list)
    job: Any = None
    call: Mapping[str, Any] = {}


class Taken(BaseException):
    """Ends the program when its job is taken. Not caught by `except Exception`."""


_offer: Offer | None = None


@contextmanager
def taking() -> Iterator[Offer]:
    """Runs a program for its job."""
    global _offer
    _offer = Offer()
    try:
        yield _offer
    finally:
        _offer = None


def note_job(job: Any) -> None:
    """Notes that the program has made a job."""
    if _offer:
        _offer.made.append(job)


def offer(job: Any, **call: Any) -> None:
    """Ends the program if a command takes its job. `call`: given arguments."""
    if _offer:
        if _offer.job is None:
            _offer.job = job
            _offer.call = {key: value for key, value in call.items() if value is not None}
        raise Taken
