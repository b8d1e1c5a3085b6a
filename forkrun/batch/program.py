"""Functions and values of modules of the Python program that submitted a job on many nodes, kept in
a file among the copies of code, which nodes run."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

import msgspec

from forkrun.base.durable import write_bytes
from forkrun.base.received import GIVEN, STATE, keep_contents, received
from forkrun.base.regular_file import open_regular
from forkrun.errors import OutputError
from forkrun.modules.program.state import receive_state


def keep_program(copies: Path) -> str:
    """Keeps the functions and values of the program in a file that only its user can read or write,
    named by its SHA-256; returns this, or "" if there are none."""
    kept = {name: content for name in (STATE, GIVEN) if (content := received(name))}
    if not kept:
        return ""
    data = msgspec.msgpack.encode(kept)
    digest = hashlib.sha256(data).hexdigest()
    write_bytes(copies / digest, data, mode=0o600)
    return digest


def take_program(copies: Path, digest: str) -> None:
    """Loads the functions and values kept under this SHA-256 into this process. Raises OutputError
    for a file of another user, one that others may write, and other content."""
    place = copies / digest
    try:
        with os.fdopen(open_regular(place), "rb") as file:
            found, data = os.fstat(file.fileno()), file.read()
    except OSError as error:
        raise OutputError(f"{place}: cannot be read: {error}; submit to another folder") from None
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise OutputError(
            f"{place}: it holds functions to be run, but users other than the one running this "
            "node own it or may write it; submit to another folder"
        )
    if hashlib.sha256(data).hexdigest() != digest:
        raise OutputError(
            f"{place}: these are not the functions with which the job was submitted; submit to"
            " another folder"
        )
    keep_contents(msgspec.msgpack.decode(data, type=dict[str, bytes]))
    own = list(sys.path)
    receive_state()
    sys.path += [path for path in own if path not in sys.path]  # possibly of another environment
