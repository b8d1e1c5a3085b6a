"""Hands functions of the running program over to the clean parent process of its job.

`cloudpickle` takes a function by what it is: its code, what it closes over and the globals that it
uses, if these belong to the program itself, a notebook, or another function; by its name if it is
of a module that can be imported. The anonymous file has no name that anybody else could open."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from forkrun.base.dataclass import dataclass
from forkrun.errors import ConfigError
from forkrun.modules.given import DESCRIPTOR, Given, code_in_file

_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")


@dataclass(frozen=True)
class HandedOver:
    """What the process is started with."""

    environment: Mapping[str, str]
    descriptors: tuple[int, ...]


@contextlib.contextmanager
def handing_over(given: Mapping[str, Given]) -> Iterator[HandedOver]:
    """Keeps the anonymous file while the process runs. Raises ConfigError for what cannot be handed
    over."""
    environment = {"PYTHONPATH": _import_path()}
    if not given:
        yield HandedOver(environment, ())
        return
    descriptor = os.memfd_create("forkrun-given", 0)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(_pickled(given))
        yield HandedOver({**environment, DESCRIPTOR: str(descriptor)}, (descriptor,))
    finally:
        os.close(descriptor)


def _import_path() -> str:
    """Where this program finds modules, which the other process may not: its own folder, and what
    it has added."""
    installed = {sysconfig.get_path(name) for name in _INSTALLED}
    own = [path for path in sys.path if path and path not in installed and ".zip" not in path]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(filter(None, [*own, *given])))


def _pickled(given: Mapping[str, Given]) -> bytes:
    try:
        return _dumped(dict(given))
    except Exception:
        raise ConfigError(
            [why for kind, each in given.items() if (why := _why(kind, each))]
        ) from None


def _dumped(value: Any) -> bytes:
    """Code keeps the name of its file, which messages show lines of: since version 3.1.3
    `cloudpickle` leaves it out."""
    import cloudpickle

    as_usual = cloudpickle.Pickler.dispatch_table[CodeType]

    def with_file(code: CodeType) -> tuple[Any, ...]:
        make, values = as_usual(code)
        return code_in_file, (code.co_filename, make, *values)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table = cloudpickle.Pickler.dispatch_table.new_child({CodeType: with_file})

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def _why(kind: str, given: Given) -> str:
    """Why it cannot be handed over, "" if it can."""
    try:
        _dumped(given)
    except Exception as error:
        code: Any = getattr(given.function, "__code__", None)
        place = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
        return (
            f"{kind.rpartition(':')[2]}{place}: it uses what cannot be handed to another process"
            f" ({type(error).__name__}: {error}); make that within the function, or take"
            " job.run(children=0)"
        )
    return ""
