"""Refusals of the operating system, as errors for users."""

from __future__ import annotations

import errno

from forkrun.base.regular_file import NotRegularError
from forkrun.errors import ForkrunError, InputError, JobError, OutputError

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_NO_DISK = (errno.EIO, errno.ESTALE, errno.EINTR)
_NO_MORE = {
    errno.ENOMEM: "out of memory; use fewer children, or free memory",
    errno.EAGAIN: "no more threads or processes may be started (ulimit -u, or pids.max of the"
    " container); use fewer children or threads (forking.children, threads.per_child)",
    errno.EMFILE: "this process may not open more files (ulimit -n)",
    errno.ENFILE: "this machine cannot open more files",
}
_NO_THREAD = "can't start new thread"
"""Python's text."""


def refusal(error: BaseException) -> ForkrunError | None:
    """Error for users about a disk, or a lack of memory, processes or descriptors; None for other
    errors."""
    if isinstance(error, MemoryError):
        return JobError(_NO_MORE[errno.ENOMEM])
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return JobError(_NO_MORE[errno.EAGAIN])
    if not isinstance(error, OSError):
        return None
    if isinstance(error, NotRegularError):
        return OutputError(f"{error.filename}: {error.strerror}")
    has_place = error.filename and error.filename != error.strerror  # C++ names the place
    where = f"{error.filename}: " if has_place else ""
    if error.errno in _NO_SPACE:
        remedy = "free space, or choose another place with -o"
        return OutputError(f"{where}cannot write: {error.strerror}; {remedy}")
    if error.errno in _NO_DISK:
        remedy = "the disk or its server failed; try again"
        return InputError(f"{where}cannot be read or written: {error.strerror}; {remedy}")
    if error.errno in _NO_MORE:
        return JobError(f"{where}{error.strerror}: {_NO_MORE[error.errno]}")
    return None
