"""Hands what a job needs of the running program over to its clean parent process.

`cloudpickle` takes a function by what it is: its code, what it closes over and the globals that it
uses, if these belong to the program itself, a notebook, or another function; by its name if it is
of a module that can be imported. Values of such modules come as the program has set them. The
anonymous files have no name that anybody else could open."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from forkrun.base.received import GIVEN, STATE, anonymous_files
from forkrun.base.user_code.installed import environment_folders
from forkrun.errors import ConfigError
from forkrun.modules.program.encoded import pickled
from forkrun.modules.program.given import Given
from forkrun.modules.program.state import ProgramState


class HandedOver(Struct, frozen=True):
    """What the process is started with."""

    environment: Mapping[str, str]
    descriptors: tuple[int, ...]


def contents_for(given: Mapping[str, Given]) -> dict[str, bytes]:
    """What another process needs of this program. Raises ConfigError for what cannot be handed
    over."""
    contents = {STATE: pickle.dumps(ProgramState.taken())}
    return contents | {GIVEN: _pickled(given)} if given else contents


@contextlib.contextmanager
def handing_over(given: Mapping[str, Given]) -> Iterator[HandedOver]:
    """Keeps the anonymous files while the process runs. Raises ConfigError."""
    with anonymous_files(contents_for(given)) as descriptors:
        numbers = {name: str(descriptor) for name, descriptor in descriptors.items()}
        environment = {"PYTHONPATH": import_path(), **numbers}
        yield HandedOver(environment, tuple(descriptors.values()))


def import_path() -> str:
    """Where this program finds modules, which the other process may not: its own folder, and what
    it has added."""
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
    """Why it cannot be handed over, "" if it can."""
    try:
        pickled(given)
    except Exception as error:
        code: Any = getattr(given.function, "__code__", None)
        place = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
        return (
            f"{kind.rpartition(':')[2]}{place}: it uses what cannot be handed to another process"
            f" ({type(error).__name__}: {error}); make that within the function, or take"
            " job.run(children=0)"
        )
    return ""
