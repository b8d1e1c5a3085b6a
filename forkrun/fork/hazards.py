"""Hazards of a fork: other threads, connections to other machines, GPU contexts."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc/self")
_ESTABLISHED = "01"
_PATIENCE_S = 5.0
_PATIENCE_ASLEEP_S = 0.5
"""An ending thread may sleep, too, until another one has Python's lock."""
_EXITING = 0x4
"""Flag of a thread (PF_EXITING), in field 9 of its `stat`."""
# 127.x.x.x, ::1 and ::ffff:127.x.x.x as /proc/net writes them.
_LOOPBACK = re.compile(r"^([0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F):")
_GPU = re.compile(r"^/dev/(nvidia\w*|kfd|dri/render\w*)$")


class Hazard(Struct, frozen=True):
    """`kind`: "thread", "connection" or "gpu". `id`: what distinguishes it from others of its kind:
    the number of the thread, the inode of the socket, the device."""

    kind: str
    name: str
    id: str


def find_hazards(proc: Path = _PROC) -> list[Hazard]:
    """Hazards of this process; `proc` is its folder in /proc, in tests a recorded one."""
    files = dict(_open_files(proc))
    return [*_threads(proc), *_connections(proc, files), *_gpus(files)]


def _threads(proc: Path) -> Iterator[Hazard]:
    """All threads but the first; one that was joined may be seen for a moment."""
    python = {str(thread.native_id): thread.name for thread in threading.enumerate()}
    for task in sorted(os.listdir(proc / "task"), key=int):
        if task != str(os.getpid()) and not _is_ending(proc / "task" / task):
            yield Hazard("thread", python.get(task) or _comm(proc, task), task)


def lasting_hazards(proc: Path = _PROC) -> list[Hazard]:
    """Hazards that stay: a thread that Python has joined may still be on its way to its end."""
    start_s = time.monotonic()
    while True:
        found = find_hazards(proc)
        threads = [each.id for each in found if each.kind == "thread"]
        # One that lasts sleeps most of the time.
        is_running = any(_stat(proc / "task" / thread)[:1] == ["R"] for thread in threads)
        patience_s = _PATIENCE_S if is_running else _PATIENCE_ASLEEP_S
        if not threads or time.monotonic() > start_s + patience_s:
            return found
        time.sleep(0.001)


def _is_ending(task: Path) -> bool:
    """Whether the kernel is about to remove a thread, which runs no code any more."""
    fields = _stat(task)
    return bool(int(fields[6]) & _EXITING) if fields else not task.exists()


def _stat(task: Path) -> list[str]:
    """Fields from the third on; none if the thread is gone."""
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def is_of_python(thread: Hazard) -> bool:
    """Whether Python's threading module started it, rather than a library."""
    return any(str(known.native_id) == thread.id for known in threading.enumerate())


def _comm(proc: Path, task: str) -> str:
    try:
        return (proc / "task" / task / "comm").read_text().strip()
    except OSError:
        return "(ended)"


def _connections(proc: Path, files: dict[str, str]) -> Iterator[Hazard]:
    """Established TCP connections to other machines; those of stdin, stdout and stderr are the
    caller's."""
    own = {
        target[8:-1]
        for descriptor, target in files.items()
        if target.startswith("socket:[") and (proc != _PROC or _may_be_far(int(descriptor)))
    }
    if not own:
        return
    for table in ("net/tcp", "net/tcp6"):
        for line in _lines(proc / table)[1:]:
            fields = line.split()
            if fields[9] in own and fields[3] == _ESTABLISHED and not _LOOPBACK.match(fields[2]):
                yield Hazard("connection", _address(fields[2]), fields[9])


def _may_be_far(descriptor: int) -> bool:
    """Whether a socket of this process may have a peer on another machine. Asking it takes 5 µs,
    reading the table of all connections some ms."""
    import socket  # few processes have one

    if socket.getdefaulttimeout() is not None:  # which an object in Python would give to the socket
        return True
    copy = -1
    try:
        copy = os.dup(descriptor)
        one = socket.socket(fileno=copy)
    except OSError:  # it has been closed
        if copy >= 0:
            os.close(copy)
        return False
    is_of_internet = one.family in (socket.AF_INET, socket.AF_INET6)
    with one, contextlib.suppress(OSError):  # there is no peer
        return is_of_internet and not _is_here(one.getpeername()[0])
    return False


def _is_here(address: str) -> bool:
    return address == "::1" or address.removeprefix("::ffff:").startswith("127.")


def _gpus(files: dict[str, str]) -> Iterator[Hazard]:
    """GPUs that a driver has opened: its context does not survive a fork."""
    for device in sorted(set(files.values())):
        if _GPU.match(device):
            yield Hazard("gpu", device, device)


def _open_files(proc: Path) -> Iterator[tuple[str, str]]:
    """Descriptors from 3 on, and what each is."""
    for fd in os.listdir(proc / "fd"):
        if int(fd) > 2:
            try:
                yield fd, os.readlink(proc / "fd" / fd)
            except OSError:  # closed meanwhile: the descriptor of this very listing
                continue


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


# --- origins of hazards ---------------------------------------------------------------------------

_FILES = "/proc/self/fd"
_origins: dict[Hazard, str] = {}


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """A step of the parent's preparation: hazards that appear meanwhile came with it, or with a
    step within it, as the check before the fork tells users. Takes some 300 µs, and a hundredth of
    that if the numbers of threads and files are unchanged: a job may have ten thousand modules."""
    steps = StepsInARow()
    try:
        yield
    finally:
        steps.end(name)


class StepsInARow:
    """Consecutive steps, each begun where the previous one ended, with one check per step."""

    def __init__(self) -> None:
        self._before = _find()

    def end(self, name: str) -> None:
        """Ends the step `name`: hazards that have appeared since the last call came with it."""
        after = _find()
        if after is not self._before:
            for hazard in after - self._before:
                _origins.setdefault(hazard, name)
        self._before = after


_last_found: tuple[object, bool, frozenset[Hazard]] = (None, False, frozenset())


def _find() -> frozenset[Hazard]:
    """Hazards now. A socket may be connected without a visible change: then it is read again."""
    global _last_found
    shown, has_sockets, found = _last_found
    now = _threads_and_files()
    if now != shown or has_sockets:
        found = frozenset(find_hazards())
        _last_found = (now, any(map(_is_socket, os.listdir(_FILES))), found)
    return found


def _threads_and_files() -> tuple[object, ...]:
    """Values that change if a thread starts or a file is opened: their numbers, which the kernel
    keeps; before Linux 6.2 the files themselves."""
    n_files = os.stat(_FILES).st_size
    files = n_files or tuple(os.listdir(_FILES))
    return os.getpid(), os.stat("/proc/self/task").st_nlink, files


def _is_socket(descriptor: str) -> bool:
    with contextlib.suppress(OSError):  # the descriptor of that very listing
        return os.readlink(f"{_FILES}/{descriptor}").startswith("socket:")
    return False


def origin_of(hazard: Hazard) -> str | None:
    """Innermost step that a hazard came with; None: the program's start."""
    return _origins.get(hazard)
