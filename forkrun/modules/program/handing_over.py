"""Transfers the parts of a running program that its job needs to the clean parent process.

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
from typing import Any

from msgspec import Struct

from forkrun.base.received import GIVEN, STATE, anonymous_files
from forkrun.base.user_code.installed import environment_folders
from forkrun.errors import ConfigError
from forkrun.modules.program.encoded import pickled
from forkrun.modules.program.given import Given
from forkrun.modules.program.state import ProgramState


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
