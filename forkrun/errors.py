"""Errors for users: what was wrong, where, what to do. The class carries the exit code."""

from __future__ import annotations

from collections.abc import Sequence

EXIT_CODES = {
    "0": "done and verified",
    "1": "internal error (please report it), or a condition of compare --fail-if holds",
    "2": "the configuration or the command line is wrong",
    "3": "an input file is missing, damaged or of another form than expected",
    "4": "an output or the run directory cannot be written",
    "5": "a module raised an error, or a child died",
    "6": "what was written is not what was processed",
    "7": "the parent cannot fork safely",
    "8": "done without events that crash a child, or without files that cannot be read",
    "9": "out of time: running the same command again resumes the job",
    "10": "the batch system refused a job or cannot be reached, or a node could not be set up",
    "11": "collected in part: something is missing",
    "12": "measured on a busy machine: figures without conclusions",
    "128+n": "stopped by signal n: running the same command again resumes the job",
}

EVENTS_LEFT_OUT = 8
"""Exit code of a job that was done, but without events that crash the child, or without files that
cannot be read."""

COLLECTED_IN_PART = 11
"""Exit code of `collect --partial` where something is missing."""

NOT_CONCLUSIVE = 12
"""Exit code of `measure` where other programs used the machine: figures without conclusions."""


class ForkrunError(Exception):
    """Root of every error that forkrun raises on purpose; shown without a traceback."""

    exit_code = 1


class ConfigError(ForkrunError):
    """The job's description is wrong. Carries every problem of it."""

    exit_code = 2

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class InputError(ForkrunError):
    """An input file is missing, truncated, changed, or of a form that cannot be read."""

    exit_code = 3


class OutputError(ForkrunError):
    """An output, or the run directory, cannot be written."""

    exit_code = 4


class AlreadySubmittedError(OutputError):
    """The same job, unchanged, was submitted to the run directory and collected."""


class LockedError(OutputError):
    """Another parent works in the run directory."""


class JobError(ForkrunError):
    """Processing failed: a module raised, or a child died."""

    exit_code = 5


class ModuleError(JobError):
    """A module raised an exception: it is to blame, or an event that it cannot process."""


class VerificationError(ForkrunError):
    """The written events are not the processed ones."""

    exit_code = 6


class DamagedFilesError(VerificationError):
    """Temporary outputs are not as they were written, or cannot be read. Their units have been
    revoked: they are not committed any more."""


class ForkSafetyError(ForkrunError):
    """The parent cannot fork safely: it has other threads or open remote connections."""

    exit_code = 7


class FilesLeftOutError(ForkrunError):
    """The job was done without files that cannot be read; running the same command again takes them
    up."""

    exit_code = EVENTS_LEFT_OUT


class OutOfTimeError(ForkrunError):
    """The job ended early because its time was over; running the same command again resumes it."""

    exit_code = 9


class BatchError(ForkrunError):
    """The batch system refused a job, cannot be reached, or a node could not be set up."""

    exit_code = 10


class StoppedError(ForkrunError):
    """The job was asked to stop by a signal; what was committed is kept."""

    def __init__(self, message: str, signal_number: int = 15) -> None:
        super().__init__(message)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number
