"""Begins and ends of remote files, where these say what they hold: one process of a job reads them
for all, from the index to the merge. Where bytes are read (`remote_ends.cpp`), they are kept in
a file without a name, which ends with the process that has made it."""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import tempfile
from typing import IO

_ENDS = "FORKRUN_ENDS"
"""Variable with what the file begins with, a space, and its name."""
_N_END_BYTES = 8
"""Behind that: the place where the next record will be."""
_file: IO[bytes] | None = None


def share_ends() -> None:
    """From now on this process and those that it starts share what they read, and nothing that was
    read before: files may have become others. Where no file can be made, each reads for itself."""
    global _file
    os.environ.pop(_ENDS, None)
    if _file is not None:
        _file.close()
    with contextlib.suppress(OSError):
        _file = tempfile.TemporaryFile(prefix="forkrun-ends-")  # noqa: SIM115
        begin = secrets.token_hex(8)
        _file.write(begin.encode() + struct.pack("=q", len(begin) + _N_END_BYTES))
        _file.flush()
        os.environ[_ENDS] = f"{begin} /proc/{os.getpid()}/fd/{_file.fileno()}"
