"""Whether this process may fork: it has one thread and no connection to another machine."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

from forkrun.errors import ForkSafetyError

_PROC = Path("/proc/self")
_ESTABLISHED = "01"
# 127.x.x.x, ::1 and ::ffff:127.x.x.x as /proc/net writes them.
_LOOPBACK = re.compile(r"^([0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F):")


def check_safe_to_fork(proc: Path = _PROC) -> None:
    """Raises ForkSafetyError naming the culprits. A lock that another thread holds would stay
    locked in the child for ever; a connection would be used by parent and children at once."""
    threads = other_threads()
    if threads:
        raise ForkSafetyError(
            f"cannot fork: the parent has {len(threads)} other thread(s): {', '.join(threads)};"
            " find the module, condition or library that starts them and start them in"
            " post_fork(child) or begin_job() instead"
        )
    peers = sorted(remote_peers(proc))
    if peers:
        raise ForkSafetyError(
            f"cannot fork: the parent has open connections to {', '.join(peers)}; find the module,"
            " condition or library that opens them and open them in post_fork(child) instead"
        )


def other_threads() -> list[str]:
    """Names of all threads of this process but the first."""
    tasks = [task for task in os.listdir(_PROC / "task") if int(task) != os.getpid()]
    python = {str(thread.native_id): thread.name for thread in threading.enumerate()}
    return sorted(python.get(task) or _comm(task) for task in tasks)


def _comm(task: str) -> str:
    try:
        name = (_PROC / "task" / task / "comm").read_text().strip()
    except OSError:
        return "(ended)"
    return f"{name} (a thread of a library)"


def remote_peers(proc: Path = _PROC) -> Iterator[str]:
    """Addresses of established TCP connections that this
    process holds to other machines; those of stdin, stdout and stderr are the caller's."""
    own = set(_socket_inodes(proc))
    if not own:
        return
    for table in ("net/tcp", "net/tcp6"):
        for line in _lines(proc / table)[1:]:
            fields = line.split()
            if fields[9] in own and fields[3] == _ESTABLISHED and not _LOOPBACK.match(fields[2]):
                yield _address(fields[2])


def _socket_inodes(proc: Path) -> Iterator[str]:
    for fd in os.listdir(proc / "fd"):
        if int(fd) > 2:
            try:
                match = re.match(r"socket:\[(\d+)\]", os.readlink(proc / "fd" / fd))
            except OSError:  # closed meanwhile: the descriptor of this very listing
                continue
            if match:
                yield match[1]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _address(field: str) -> str:
    """`0100A8C0:0035` is 192.168.0.1:53. IPv6 addresses stay as they are."""
    host, port = field.split(":")
    if len(host) == 8:
        host = ".".join(str(byte) for byte in reversed(bytes.fromhex(host)))
    return f"{host}:{int(port, 16)}"
