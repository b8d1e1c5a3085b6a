"""The job of a Python program, which is executed up to the call that would run its job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from forkrun.api import LoadedJob
from forkrun.base.user_code import lines_in_user_code
from forkrun.errors import ConfigError, ForkrunError
from forkrun.modules.program.given import Offer, Taken, taking


def job_of_script(
    file: str, arguments: Sequence[str] = (), wanted: str | None = None
) -> tuple[LoadedJob, dict[str, Any]]:
    """The job that `python FILE …` would run, check or submit first, with the arguments of that
    call; else its only job. `wanted`: name of the job. Turns this process into that of the program.
    Raises ConfigError if there is no such job, or if the program fails."""
    with taking() as offer:
        _run(file, arguments, offer)
    if offer.job is not None and wanted in (None, offer.job.config.job.name):
        return offer.job, dict(offer.call)
    names = [job.job_name for job in offer.made]
    found = [job for job in offer.made if wanted in (None, job.job_name)]
    if len(found) == 1:
        return found[0]._loaded(), {}
    until = " up to its first job.run()" if offer.job is not None else ""
    if not names:
        raise ConfigError(f"{file}: this program makes no forkrun.Job")
    if wanted is None:
        raise ConfigError(f"{file}: this program makes several jobs; name one: {_named(names)}")
    what = "several jobs of this name" if found else f"no job of this name{until}"
    raise ConfigError(f"{file}: --job {wanted}: this program makes {what}: {_named(names)}")


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"--job {name}" for name in names)


def _run(file: str, arguments: Sequence[str], offer: Offer) -> None:
    """Functions of the program are of the module `__main__`, which stays."""
    try:
        code = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except OSError as error:
        raise ConfigError(f"{file}: cannot read the program: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{file}: {type(error).__name__}: {error}") from None
    main = ModuleType("__main__")
    main.__file__ = file
    sys.modules["__main__"] = main
    sys.argv[:] = [file, *arguments]
    sys.path[0] = str(Path(file).resolve().parent)
    try:
        exec(code, vars(main))
    except Taken:
        pass
    except ForkrunError:
        raise
    except SystemExit as error:
        if error.code or not offer.made:
            raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}{lines_in_user_code(error)}"
        raise ConfigError(f"{file}: {text}") from error
