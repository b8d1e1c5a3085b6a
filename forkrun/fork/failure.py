"""Passes an error from one process to another."""

from __future__ import annotations

import json
import mmap
from typing import Any

from forkrun import errors
from forkrun.base.refusals import refusal
from forkrun.errors import ForkrunError, JobError, StoppedError

_END = b"\0"  # is in no JSON text


def as_forkrun_error(error: BaseException) -> ForkrunError:
    """An exception of the user's module, input or disk as an error with the right exit code."""
    if isinstance(error, ForkrunError):
        return error
    return refusal(error) or JobError(f"{type(error).__name__}: {error}")


def to_record(error: ForkrunError) -> dict[str, Any]:
    """The error as a value for JSON."""
    return {
        "error": type(error).__name__,
        "message": str(error),
        "signal": getattr(error, "signal_number", None),
    }


def from_record(record: dict[str, Any]) -> ForkrunError:
    """The same class with the same text."""
    if record["error"] == StoppedError.__name__:
        return StoppedError(record["message"], record["signal"])
    kind = getattr(errors, record["error"], ForkrunError)
    error: ForkrunError = kind(record["message"])
    return error


class FailureNote:
    """Memory shared with a forked process, for the error it ends by: a disk may be full. Make it
    before the fork."""

    SIZE_BYTES = 1 << 16

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self.SIZE_BYTES)

    def write(self, error: ForkrunError) -> None:
        """Writes the error, in the process that fails. A very long text is cut."""
        record = to_record(error)
        record["message"] = record["message"][: self.SIZE_BYTES // 16]
        text = json.dumps(record).encode() + _END
        self._memory[: len(text)] = text

    def clear(self) -> None:
        """Clears the note, for the next process."""
        self._memory[:1] = _END

    def read(self) -> ForkrunError | None:
        """Reads the error, in the process that waits; None if the other one wrote none."""
        text = self._memory[: self._memory.find(_END)]
        return from_record(json.loads(text)) if text else None
