"""First and last bytes of remote files, which describe the content: one process of a job reads them
for all, from the index to the merge. The reader (`remote_ends.cpp`) keeps them in an anonymous
file, which ends with the process that made it."""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import tempfile
from typing import IO

_ENDS = "FORKRUN_ENDS"
"""Environment variable with the first bytes of the file, a space, and its name."""
_N_END_BYTES = 8
"""Bytes after those: the position of the next record."""
_file: IO[bytes] | None = None


def share_ends() -> None:
    """Makes this process and those that it starts share the ends that they read from now on; older
    ones may be outdated. Where no file can be made, each process reads for itself."""
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
