"""Functions and classes that a running program passes to its job, by the type in the configuration:
"given:FILE:NAME", and their transfer to the clean parent process.

Other processes receive them from that program (`received.py`). Commands may take the job of a
program: `forkrun submit analysis.py`. The program runs up to the first call that would run, check
or submit a job; this call ends it.

`cloudpickle` stores a function as code, closure and used globals if it belongs to the program
itself, to a notebook or to another function, and by name if its module can be imported. Values of
such modules are transferred as set by the program. The files are anonymous, so nobody else can open
them."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct, field

from forkrun.base.received import GIVEN, STATE, anonymous_files, received
from forkrun.base.user_code.installed import environment_folders
from forkrun.errors import ConfigError
from forkrun.modules.program.encoded import pickled
from forkrun.modules.program.state import ProgramState


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


class HandedOver(Struct, frozen=True):
    """Environment and descriptors with which the process is started."""

    environment: Mapping[str, str]
    descriptors: tuple[int, ...]


def contents_for(given: Mapping[str, Given]) -> dict[str, bytes]:
    """Data that another process needs from this program. Raises ConfigError for functions that
    cannot be transferred."""
    contents = {STATE: pickle.dumps(ProgramState.taken())}
    return contents | {GIVEN: _pickled(given)} if given else contents


@contextlib.contextmanager
def handing_over(given: Mapping[str, Given]) -> Iterator[HandedOver]:
    """Keeps the anonymous files open while the process runs. Raises ConfigError."""
    with anonymous_files(contents_for(given)) as descriptors:
        numbers = {name: str(descriptor) for name, descriptor in descriptors.items()}
        environment = {"PYTHONPATH": import_path(), **numbers}
        yield HandedOver(environment, tuple(descriptors.values()))


def import_path() -> str:
    """Folders where only this program finds modules: its own, and those that it has added."""
    installed = environment_folders()
    here = (path or os.getcwd() for path in sys.path)
    own = [path for path in here if path not in installed and ".zip" not in path]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(filter(None, [*own, *given])))


def _pickled(given: Mapping[str, Given]) -> bytes:
    try:
        return pickled(dict(given))
    except Exception:
        raise ConfigError(
            [why for kind, each in given.items() if (why := _why(kind, each))]
        ) from None


def _why(kind: str, given: Given) -> str:
    """Reason why it cannot be transferred; "" if it can."""
    try:
        pickled(given)
    except Exception as error:
        code: Any = getattr(given.function, "__code__", None)
        place = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
        return (
            f"{kind.rpartition(':')[2]}{place}: it uses a value that no other process can have"
            f" ({type(error).__name__}: {error}); make that within the function, or take"
            " job.run(children=0)"
        )
    return ""
