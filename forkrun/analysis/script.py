"""The job of a program in Python, which is run as far as the call that would run its job."""

from __future__ import annotations

import runpy
import sys
from typing import NoReturn

from forkrun.analysis.job import Job, reached
from forkrun.base.user_code import lines_in_user_code
from forkrun.errors import ConfigError, ForkrunError


def job_of_script(file: str) -> Job:
    """The first job that the program runs, checks or submits, else the last that it makes. Raises
    ConfigError if there is none, or if the program fails before."""
    token, arguments = reached.set(_stop), sys.argv
    sys.argv = [file]
    try:
        made = runpy.run_path(file, run_name="__main__").values()
    except _ReachedError as found:
        return found.job
    except ForkrunError:
        raise
    except (Exception, SystemExit) as error:
        text = f"{type(error).__name__}: {error}{lines_in_user_code(error)}"
        raise ConfigError(f"{file}: {text}") from None
    finally:
        sys.argv = arguments
        reached.reset(token)
    jobs = [each for each in made if isinstance(each, Job)]
    if not jobs:
        raise ConfigError(f"{file}: this program makes no forkrun.Job")
    return jobs[-1]


class _ReachedError(BaseException):
    """No error, and nothing that a program would catch."""

    def __init__(self, job: Job) -> None:
        self.job = job


def _stop(job: Job) -> NoReturn:
    raise _ReachedError(job)
